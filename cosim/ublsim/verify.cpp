// SPDX-License-Identifier: Apache-2.0
#include "ublsim/verify.hpp"

#include <fmt/format.h>

#include "ublsim/yaml_file.hpp"

namespace ubl::ublsim {

unsigned fault_card(Session& s, const Fault& f) {
  for (unsigned card = 0; card < s.ranks(); ++card)
    if (f.where == fmt::format("card{}", card)) return card;
  throw UsageError(
      fmt::format("{}: no card '{}' (cards are named card0, card1, ...)", f.place, shown(f.where)));
}

void compare(Session& s, unsigned card, uint64_t addr, const void* want, uint64_t bytes,
             Result& r) {
  const uint8_t* got = s.platform().card(card).hbm().data() + addr;
  const auto* w = static_cast<const uint8_t*>(want);
  for (uint64_t i = 0; i < bytes; ++i) {
    if (got[i] == w[i]) continue;
    if (r.mismatches++ == 0)
      r.errors.push_back(
          fmt::format("card {}: byte {} is {:#04x}, must be {:#04x}", card, i, got[i], w[i]));
  }
}

void compare_result(Session& s, unsigned card, uint64_t addr, const void* want, uint64_t bytes,
                    Result& r) {
  for (const Fault* f : s.take_flips(card, bytes))
    s.platform().card(card).hbm().data()[addr + f->byte] ^= static_cast<uint8_t>(1u << f->bit);
  compare(s, card, addr, want, bytes, r);
}

void conclude(Session& s, Result& r) {
  if (s.ok() && !s.flips().empty())
    throw UsageError(fmt::format("{}: flip_result: {} has no result in this run",
                                 s.flips().front()->place, s.flips().front()->where));
  for (const auto& f : s.failures()) {
    if (r.code == kExitOk) r.code = f.code;
    r.errors.push_back(f.message);
  }
  if (r.code == kExitOk && r.mismatches != 0) r.code = kExitWrongData;
  if (r.code == kExitNoProgress) {
    const auto busy = s.platform().busy_report();
    r.errors.push_back("no progress; boxes that are not idle:\n" +
                       (busy.empty() ? std::string("  none") : busy));
  }
  r.verified = r.code == kExitOk;
}

}  // namespace ubl::ublsim
