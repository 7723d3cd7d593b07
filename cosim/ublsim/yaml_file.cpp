// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ublsim/yaml_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "ublsim/options.hpp"

namespace ubl::ublsim {

namespace {

constexpr size_t kMaxBytes = 1u << 20;
constexpr unsigned kMaxDepth = 16;

std::string at(const std::string& path, const YAML::Mark& mark) {
  return mark.is_null() ? path : fmt::format("{}:{}", path, mark.line + 1);
}

std::string read_text(const std::string& path) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0)
    throw UsageError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  if (S_ISDIR(st.st_mode)) throw UsageError(fmt::format("{}: is a directory", path));
  errno = 0;
  std::ifstream f(path, std::ios::binary);
  if (!f) throw UsageError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  // Not more than can be taken: a device may be endless.
  std::string text(kMaxBytes + 1, '\0');
  f.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (f.bad()) throw UsageError(fmt::format("{}: cannot be read", path));
  text.resize(static_cast<size_t>(f.gcount()));
  if (text.size() > kMaxBytes)
    throw UsageError(fmt::format("{}: larger than {} KiB", path, kMaxBytes / 1024));
  return text;
}

/// Length of the UTF-8 sequence at s[i]; 0 if there is none (overlong, surrogate, cut ...).
size_t utf8_length(const std::string& s, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<uint8_t>(k < s.size() ? s[k] : 0); };
  const uint8_t b = byte(i);
  if (b < 0x80) return 1;
  const size_t n = b >= 0xF0 ? 4 : b >= 0xE0 ? 3 : 2;
  if (b < 0xC2 || b > 0xF4) return 0;
  for (size_t k = 1; k < n; ++k)
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  const uint8_t second = byte(i + 1);
  if ((b == 0xE0 && second < 0xA0) || (b == 0xED && second > 0x9F) ||
      (b == 0xF0 && second < 0x90) || (b == 0xF4 && second > 0x8F))
    return 0;
  return n;
}

void check_text(const std::string& path, const std::string& text) {
  size_t line = 1;
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<uint8_t>(text[i]);
    const size_t n = utf8_length(text, i);
    if (n == 0) throw UsageError(fmt::format("{}:{}: not UTF-8 text", path, line));
    if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F)
      throw UsageError(fmt::format("{}:{}: control character {:#04x}", path, line, c));
    if (c == '\n') ++line;
    i += n;
  }
}

/// Looks at the stream of events before anything is built from it: what is refused here costs
/// neither memory nor stack.
class Guard : public YAML::EventHandler {
 public:
  explicit Guard(const std::string& path) : path_(path) {}
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "a second document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { check(mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "aliases are not allowed here");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    check(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnMapEnd() override { --depth_; }

 private:
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const {
    throw UsageError(fmt::format("{}: {}", at(path_, mark), what));
  }
  void check(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) fail(mark, "anchors are not allowed here");
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    check(mark, anchor);
    if (++depth_ > kMaxDepth) fail(mark, fmt::format("nested more than {} deep", kMaxDepth));
  }
  const std::string& path_;
  unsigned documents_ = 0, depth_ = 0;
};

}  // namespace

std::string at(const std::string& path, const YAML::Node& n) { return at(path, n.Mark()); }

std::string shown(const std::string& text) {
  constexpr size_t kMax = 60;
  std::string s = text.substr(0, kMax);
  for (char& c : s)
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) c = '?';
  return text.size() > kMax ? s + "..." : s;
}

YAML::Node load_yaml(const std::string& path) {
  const std::string text = read_text(path);
  check_text(path, text);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Guard guard(path);
    while (parser.HandleNextDocument(guard)) {
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& e) {
    throw UsageError(fmt::format("{}: not valid YAML: {}", at(path, e.mark), shown(e.msg)));
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& e) {
    throw UsageError(fmt::format("{}: not valid YAML: {}", path, e.what()));
  }
}

uint64_t get_number(const std::string& path, const YAML::Node& n, const std::string& key,
                    uint64_t min, uint64_t max) {
  uint64_t v = 0;
  bool ok = n.IsScalar();
  if (ok) {
    const std::string& s = n.Scalar();
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
    ok = ec == std::errc() && end == s.data() + s.size() && !s.empty() && v >= min && v <= max;
  }
  if (!ok)
    throw UsageError(
        fmt::format("{}: {} must be a number from {} to {}", at(path, n), key, min, max));
  return v;
}

double get_probability(const std::string& path, const YAML::Node& n, const std::string& key) {
  double v = 0;
  bool ok = n.IsScalar();
  if (ok) {
    const std::string& s = n.Scalar();
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
    ok = ec == std::errc() && end == s.data() + s.size() && v >= 0 && v <= 1;
  }
  if (!ok) throw UsageError(fmt::format("{}: {} must be a number from 0 to 1", at(path, n), key));
  return v;
}

void each_key(
    const std::string& path, const YAML::Node& map,
    const std::function<void(const std::string&, const YAML::Node&, const YAML::Node&)>& f) {
  std::set<std::string> seen;
  for (const auto& kv : map) {
    if (!kv.first.IsScalar())
      throw UsageError(fmt::format("{}: a key must be a name", at(path, kv.first)));
    const std::string& key = kv.first.Scalar();
    if (!seen.insert(key).second)
      throw UsageError(fmt::format("{}: '{}' is given twice", at(path, kv.first), shown(key)));
    f(key, kv.second, kv.first);
  }
}

}  // namespace ubl::ublsim
