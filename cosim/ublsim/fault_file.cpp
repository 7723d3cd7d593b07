// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "ublsim/options.hpp"
#include "ublsim/yaml_file.hpp"

namespace ubl::ublsim {

namespace {

using LinkKind = systemc::LinkFault::Kind;

constexpr uint64_t kMaxNs = 1'000'000'000'000'000;
constexpr uint64_t kMaxFrameBytes = uint64_t{spec::kLinkMaxFrameFlits} * spec::kLinkFlitBytes;

struct Kind {
  const char* name;
  Fault::What what;
  LinkKind link;
  std::vector<const char*> keys;  // besides what and where
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"corrupt",
       Fault::What::kLink,
       LinkKind::kCorrupt,
       {"at", "frame", "rate", "from_ns", "to_ns", "vc", "seed", "byte", "bit"}},
      {"drop",
       Fault::What::kLink,
       LinkKind::kDrop,
       {"at", "frame", "rate", "from_ns", "to_ns", "vc", "seed"}},
      {"duplicate",
       Fault::What::kLink,
       LinkKind::kDuplicate,
       {"at", "frame", "rate", "from_ns", "to_ns", "vc", "seed"}},
      {"reorder",
       Fault::What::kLink,
       LinkKind::kReorder,
       {"at", "frame", "rate", "from_ns", "to_ns", "vc", "seed", "by", "within_ns"}},
      {"cut", Fault::What::kLink, LinkKind::kCut, {"at", "until"}},
      {"flip_result", Fault::What::kFlipResult, {}, {"byte", "bit"}},
      {"no_receive", Fault::What::kNoReceive, {}, {}},
      {"short_receive", Fault::What::kShortReceive, {}, {}}};
  return all;
}

class Entry {
 public:
  Entry(const std::string& path, const YAML::Node& n) : path_(path), node_(n) {
    if (!n.IsMap()) fail(n, "a fault must be a mapping");
    each_key(path, n, [&](const std::string& key, const YAML::Node& value, const YAML::Node& name) {
      values_.emplace(key, value);
      names_.emplace(key, name);
    });
  }

  Fault read() {
    const Kind& kind = find_kind();
    check_keys(kind);
    Fault f;
    f.what = kind.what;
    f.place = at(path_, node_);
    const YAML::Node& where = required("where");
    if (!where.IsScalar() || where.Scalar().empty()) fail(where, "where must be a name");
    f.place = at(path_, where);
    f.where = where.Scalar();
    if (f.what == Fault::What::kFlipResult) {
      f.byte = number("byte", 0, 0, uint64_t{4} << 30);
      f.bit = static_cast<unsigned>(number("bit", 0, 0, 7));
    }
    if (f.what == Fault::What::kLink) read_link(f, kind);
    return f;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& n, const std::string& text) const {
    throw UsageError(fmt::format("{}: {}", at(path_, n), text));
  }
  bool has(const char* key) const { return values_.count(key) != 0; }
  const YAML::Node& required(const char* key) const {
    if (!has(key)) fail(node_, fmt::format("the fault has no '{}'", key));
    return values_.at(key);
  }
  uint64_t number(const char* key, uint64_t otherwise, uint64_t min, uint64_t max) const {
    return has(key) ? get_number(path_, values_.at(key), key, min, max) : otherwise;
  }

  const Kind& find_kind() const {
    const YAML::Node& what = required("what");
    const std::string name = what.IsScalar() ? what.Scalar() : "";
    std::string known;
    for (const Kind& k : kinds()) {
      if (name == k.name) return k;
      known += (known.empty() ? "" : ", ") + std::string(k.name);
    }
    fail(what, fmt::format("unknown fault '{}' (known: {})", shown(name), known));
  }

  void check_keys(const Kind& kind) const {
    // In the order of the file, so that the first mistake is the one that is named.
    for (const auto& kv : node_) {
      const std::string& key = kv.first.Scalar();
      std::string known = "what, where";
      bool ok = key == "what" || key == "where";
      for (const char* k : kind.keys) {
        ok = ok || key == k;
        known += std::string(", ") + k;
      }
      if (!ok)
        fail(kv.first,
             fmt::format("unknown key '{}' of {} (known: {})", shown(key), kind.name, known));
    }
  }

  /// Nothing: left to chance.
  std::optional<uint64_t> position(const char* key, uint64_t max) const {
    if (!has(key)) return has("rate") ? std::nullopt : std::optional<uint64_t>(0);
    const YAML::Node& n = values_.at(key);
    if (n.IsScalar() && n.Scalar() == "random") return std::nullopt;
    return number(key, 0, 0, max);
  }

  void read_link(Fault& f, const Kind& kind) const {
    systemc::LinkFault& x = f.link;
    x.kind = kind.link;
    if (x.kind == LinkKind::kCut) {
      required("at");
      window(x, "at", "until");
      return;
    }
    if (has("rate")) {
      for (const char* key : {"at", "frame"})
        if (has(key)) fail(names_.at(key), fmt::format("{} does not go with rate", key));
      x.rate = get_probability(path_, values_.at("rate"), "rate");
      window(x, "from_ns", "to_ns");
    } else {
      for (const char* key : {"from_ns", "to_ns"})
        if (has(key)) fail(names_.at(key), fmt::format("{} needs rate", key));
      // As it always was: without anything it is frame 0 that is corrupt.
      if (!has("at") && !has("frame") && x.kind != LinkKind::kCorrupt)
        fail(node_, "the fault has neither 'at' nor 'frame' nor 'rate'");
      x.from = systemc::cycles_from_ns(number("at", 0, 0, kMaxNs));
      x.frame = number("frame", 0, 0, ~uint64_t{0} >> 1);
    }
    if (has("vc")) x.vc = channel(values_.at("vc"));
    if (has("seed")) f.seed = number("seed", 0, 0, ~uint64_t{0});
    x.byte = position("byte", kMaxFrameBytes - 1);
    if (const auto bit = position("bit", 7))
      x.bit = static_cast<unsigned>(*bit);
    else
      x.bit = std::nullopt;
    // A byte that is left to chance has no special bit.
    if (!x.byte && !has("bit")) x.bit = std::nullopt;
    x.by = number("by", 1, 1, 1'000'000);
    x.within = systemc::cycles_from_ns(number("within_ns", 10'000, 1, kMaxNs));
  }

  void window(systemc::LinkFault& x, const char* from, const char* to) const {
    const uint64_t begin = number(from, 0, 0, kMaxNs);
    x.from = systemc::cycles_from_ns(begin);
    if (!has(to)) return;
    const uint64_t end = number(to, 0, 0, kMaxNs);
    if (end <= begin) fail(values_.at(to), fmt::format("{} must be more than {}", to, from));
    x.to = systemc::cycles_from_ns(end);
  }

  unsigned channel(const YAML::Node& n) const {
    std::string known;
    for (unsigned v = 0; v < spec::kLinkNumVc; ++v) {
      const char* name = to_string(static_cast<spec::Vc>(v));
      if (n.IsScalar() && n.Scalar() == name) return v;
      known += (v == 0 ? "" : ", ") + std::string(name);
    }
    fail(n, "vc must be one of " + known);
  }

  const std::string& path_;
  YAML::Node node_;
  std::map<std::string, YAML::Node> values_, names_;
};

}  // namespace

std::vector<Fault> load_faults(const std::string& path) {
  const YAML::Node root = load_yaml(path);
  if (!root.IsSequence()) throw UsageError(fmt::format("{}: must be a list of faults", path));
  std::vector<Fault> out;
  for (const auto& n : root) out.push_back(Entry(path, n).read());
  return out;
}

}  // namespace ubl::ublsim
