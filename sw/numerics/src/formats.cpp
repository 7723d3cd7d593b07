// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/numerics/formats.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

namespace ubl::numerics {

void detail::bad_pattern(const Format& format, uint32_t x) {
  char text[80];
  std::snprintf(text, sizeof text, "%s: 0x%X is not a pattern of this format", format.name, x);
  throw std::invalid_argument(text);
}

void convert_buffer(const Format& to, uint8_t* out, const Format& from, const uint8_t* in, size_t n,
                    Overflow overflow) {
  const int in_bytes = from.bytes();
  const int out_bytes = to.bytes();
  for (size_t i = 0; i < n; ++i) {
    uint32_t x = 0;
    for (int k = 0; k < in_bytes; ++k) x |= static_cast<uint32_t>(*in++) << (8 * k);
    x = convert(to, from, x, overflow);
    for (int k = 0; k < out_bytes; ++k) *out++ = static_cast<uint8_t>(x >> (8 * k));
  }
}

std::vector<uint8_t> convert_buffer(const Format& to, const Format& from,
                                    const std::vector<uint8_t>& in, Overflow overflow) {
  const auto in_bytes = static_cast<size_t>(from.bytes());
  if (in.size() % in_bytes != 0) {
    throw std::invalid_argument("convert_buffer: " + std::to_string(in.size()) +
                                " bytes are not whole elements of " + from.name);
  }
  const size_t n = in.size() / in_bytes;
  std::vector<uint8_t> out(n * static_cast<size_t>(to.bytes()));
  convert_buffer(to, out.data(), from, in.data(), n, overflow);
  return out;
}

}  // namespace ubl::numerics
