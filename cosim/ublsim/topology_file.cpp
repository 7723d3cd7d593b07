// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ublsim/topology_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>

#include "ubl/spec/link.hpp"
#include "ublsim/options.hpp"
#include "ublsim/yaml_file.hpp"

namespace ubl::ublsim {

using cosim::Topology;

namespace {

constexpr uint32_t kMaxLatencyNs = 10000;  // 2 km; a link keeps a slot for every cycle of it

bool is_name(const std::string& s) {
  constexpr size_t kMax = 32;
  return !s.empty() && s.size() <= kMax && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

class Loader {
 public:
  explicit Loader(const std::string& path) : path_(path), root_(load_yaml(path)) {}

  Topology load() {
    if (root_.IsNull()) throw UsageError(fmt::format("{}:1: empty", path_));
    if (!root_.IsMap()) fail(root_, "must be a mapping with name, cards, planes, switches, links");
    const auto top =
        keys(root_, "topology", {"name", "cards", "planes", "switches", "links"}, {"routes"});
    t_.name = name(top.at("name"), "name");
    t_.cards = number(top.at("cards"), "cards", 1, cosim::compiled_radices().back());
    t_.planes = number(top.at("planes"), "planes", 1, spec::kLinkMaxPlanes);
    switches(top.at("switches"));
    links(top.at("links"));
    if (const auto it = top.find("routes"); it != top.end()) routes(it->second);
    return t_;
  }

 private:
  using Keys = std::map<std::string, YAML::Node>;

  [[noreturn]] void fail(const YAML::Node& n, const std::string& what) const {
    throw UsageError(fmt::format("{}: {}", at(path_, n), what));
  }

  Keys keys(const YAML::Node& map, const char* what, std::initializer_list<const char*> wanted,
            std::initializer_list<const char*> optional) const {
    if (!map.IsMap()) fail(map, fmt::format("a {} must be a mapping", what));
    Keys found;
    each_key(path_, map,
             [&](const std::string& key, const YAML::Node& value, const YAML::Node& where) {
               const auto is = [&](const char* k) { return key == k; };
               if (std::none_of(wanted.begin(), wanted.end(), is) &&
                   std::none_of(optional.begin(), optional.end(), is)) {
                 std::string known;
                 for (const auto& list : {wanted, optional})
                   for (const char* k : list) known += (known.empty() ? "" : ", ") + std::string(k);
                 fail(where,
                      fmt::format("unknown key '{}' of a {} (known: {})", shown(key), what, known));
               }
               found.emplace(key, value);
             });
    for (const char* k : wanted)
      if (found.count(k) == 0) fail(map, fmt::format("the {} has no '{}'", what, k));
    return found;
  }

  unsigned number(const YAML::Node& n, const std::string& key, uint64_t min, uint64_t max) const {
    return static_cast<unsigned>(get_number(path_, n, key, min, max));
  }

  std::string name(const YAML::Node& n, const std::string& key) const {
    if (!n.IsScalar() || !is_name(n.Scalar()))
      fail(n, fmt::format("{} must be 1 to 32 letters, digits, '_', '-' or '.'", key));
    return n.Scalar();
  }

  void list(const YAML::Node& n, const char* key) const {
    if (!n.IsSequence()) fail(n, fmt::format("{} must be a list", key));
  }

  void switches(const YAML::Node& all) {
    list(all, "switches");
    t_.switches.resize(t_.planes);
    for (const auto& n : all) {
      const Keys k = keys(n, "switch", {"name", "plane", "radix"}, {});
      const std::string id = name(k.at("name"), "name");
      if (plane_of_.count(id) != 0)
        fail(k.at("name"), fmt::format("a second switch named '{}'", id));
      const unsigned plane = number(k.at("plane"), "plane", 0, t_.planes - 1);
      Topology::Switch& s = t_.switches[plane];
      if (!s.name.empty())
        fail(n,
             fmt::format("a second switch on plane {} (the first is '{}'): not supported by this "
                         "platform yet",
                         plane, s.name));
      const auto& radices = cosim::compiled_radices();
      const unsigned radix = number(k.at("radix"), "radix", 1, 65535);
      if (std::find(radices.begin(), radices.end(), radix) == radices.end())
        fail(k.at("radix"), fmt::format("no switch with radix {} was compiled (there is: {})",
                                        radix, fmt::join(radices, ", ")));
      if (radix < t_.cards)
        fail(k.at("radix"),
             fmt::format("radix {} of switch '{}' is too small for {} cards", radix, id, t_.cards));
      s = {id, radix};
      plane_of_[id] = plane;
    }
    for (unsigned p = 0; p < t_.planes; ++p)
      if (t_.switches[p].name.empty()) fail(all, fmt::format("plane {} has no switch", p));
  }

  /// Plane of a switch.
  unsigned find_switch(const YAML::Node& n) const {
    const auto it = n.IsScalar() ? plane_of_.find(n.Scalar()) : plane_of_.end();
    if (it == plane_of_.end())
      fail(n, fmt::format("no switch '{}'", n.IsScalar() ? shown(n.Scalar()) : "?"));
    return it->second;
  }
  unsigned find_card(const YAML::Node& n) const {
    const unsigned c = number(n, "card", 0, 65535);
    if (c >= t_.cards) fail(n, fmt::format("no card {} (there are {}, from 0)", c, t_.cards));
    return c;
  }
  unsigned find_port(const YAML::Node& n, unsigned plane) const {
    const Topology::Switch& s = t_.switches[plane];
    const unsigned port = number(n, "port", 0, 65535);
    if (port >= s.radix)
      fail(n, fmt::format("switch '{}' has no port {} (radix {})", s.name, port, s.radix));
    return port;
  }

  void links(const YAML::Node& all) {
    list(all, "links");
    t_.links.resize(size_t{t_.cards} * t_.planes);
    std::vector<bool> there(t_.links.size());
    std::map<std::pair<unsigned, unsigned>, unsigned> card_at;  // of (plane, port)
    for (const auto& n : all) {
      const Keys k = keys(n, "link", {"card", "plane", "switch", "port"}, {"latency_ns"});
      const unsigned card = find_card(k.at("card"));
      const unsigned plane = number(k.at("plane"), "plane", 0, t_.planes - 1);
      const Topology::Switch& s = t_.switches[find_switch(k.at("switch"))];
      if (&s != &t_.switches[plane])
        fail(k.at("switch"), fmt::format("switch '{}' is not on plane {}", s.name, plane));
      const unsigned port = find_port(k.at("port"), plane);
      if (there[card * t_.planes + plane])
        fail(n, fmt::format("a second link of card {} on plane {}", card, plane));
      there[card * t_.planes + plane] = true;
      const auto [at, fresh] = card_at.emplace(std::make_pair(plane, port), card);
      if (!fresh)
        fail(k.at("port"),
             fmt::format("port {} of switch '{}' is taken by card {}", port, s.name, at->second));
      Topology::Link& link = t_.link(card, plane);
      link.port = port;
      if (const auto it = k.find("latency_ns"); it != k.end())
        link.latency_ns = number(it->second, "latency_ns", 1, kMaxLatencyNs);
    }
    for (unsigned c = 0; c < t_.cards; ++c)
      for (unsigned p = 0; p < t_.planes; ++p)
        if (!there[c * t_.planes + p])
          fail(all, fmt::format("card {} has no link on plane {}", c, p));
  }

  // With one switch per plane there is one right way to every card; it can be said, not changed.
  void routes(const YAML::Node& all) const {
    list(all, "routes");
    std::map<std::pair<unsigned, unsigned>, bool> seen;  // of (plane, card)
    for (const auto& n : all) {
      const Keys k = keys(n, "route", {"switch", "card", "port"}, {});
      const unsigned plane = find_switch(k.at("switch"));
      const unsigned card = find_card(k.at("card"));
      const unsigned port = find_port(k.at("port"), plane);
      if (!seen.emplace(std::make_pair(plane, card), true).second)
        fail(n, fmt::format("a second route to card {} in switch '{}'", card,
                            t_.switches[plane].name));
      if (port != t_.link(card, plane).port)
        fail(k.at("port"),
             fmt::format("this route does not lead to card {}, which is on port {} of switch '{}'",
                         card, t_.link(card, plane).port, t_.switches[plane].name));
    }
  }

  const std::string& path_;
  YAML::Node root_;
  Topology t_;
  std::map<std::string, unsigned> plane_of_;
};

}  // namespace

Topology load_topology(const std::string& path) { return Loader(path).load(); }

std::string to_yaml(const Topology& t) {
  // Numbers are no names to YAML's typed readers; quoted they are.
  std::string s =
      fmt::format("name: \"{}\"\ncards: {}\nplanes: {}\nswitches:\n", t.name, t.cards, t.planes);
  for (unsigned p = 0; p < t.planes; ++p)
    s += fmt::format("  - {{name: \"{}\", plane: {}, radix: {}}}\n", t.switches[p].name, p,
                     t.switches[p].radix);
  s += "links:\n";
  for (unsigned p = 0; p < t.planes; ++p)
    for (unsigned c = 0; c < t.cards; ++c) {
      const Topology::Link& l = t.link(c, p);
      s += fmt::format("  - {{card: {}, plane: {}, switch: \"{}\", port: {}{}}}\n", c, p,
                       t.switches[p].name, l.port,
                       l.latency_ns == 0 ? "" : fmt::format(", latency_ns: {}", l.latency_ns));
    }
  return s;
}

}  // namespace ubl::ublsim
