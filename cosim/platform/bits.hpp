// SPDX-License-Identifier: Apache-2.0
// Views and bit copies on Verilator ports. CData..QData and VlWide are little-endian words in
// memory on every host this runs on, so a port can be seen as 32-bit words.
#pragma once

#include <cstdint>
#include <cstring>

namespace ubl::cosim {

template <typename Port>
uint32_t* words(Port& port) {
  static_assert(sizeof(Port) >= 4, "a port of up to 16 bits is a plain number");
  return reinterpret_cast<uint32_t*>(&port);
}

/// Copies bits [lsb, lsb+bits) of `src` to the bottom of `dst`, whose last word is zero-padded.
inline void extract_bits(uint32_t* dst, const uint32_t* src, unsigned lsb, unsigned bits) {
  const unsigned shift = lsb % 32;
  src += lsb / 32;
  const unsigned n = (bits + 31) / 32;
  if (shift == 0) {
    std::memcpy(dst, src, n * 4);
  } else {
    // The last word of the source exists only if the field reaches into it.
    const unsigned src_words = (shift + bits + 31) / 32;
    for (unsigned i = 0; i < n; ++i) {
      uint32_t v = src[i] >> shift;
      if (i + 1 < src_words) v |= src[i + 1] << (32 - shift);
      dst[i] = v;
    }
  }
  if (bits % 32 != 0) dst[n - 1] &= (1u << (bits % 32)) - 1;
}

/// Copies the bottom `bits` of `src` to bits [lsb, lsb+bits) of `dst`; other bits stay.
inline void insert_bits(uint32_t* dst, const uint32_t* src, unsigned lsb, unsigned bits) {
  unsigned done = 0;
  while (done < bits) {
    const unsigned at = lsb + done;
    const unsigned off = at % 32;
    const unsigned n = bits - done < 32 - off ? bits - done : 32 - off;
    const unsigned s = done % 32;
    uint64_t v = src[done / 32];
    if (s + n > 32) v |= static_cast<uint64_t>(src[done / 32 + 1]) << 32;
    const uint32_t mask = n == 32 ? ~0u : ((1u << n) - 1) << off;
    dst[at / 32] = (dst[at / 32] & ~mask) | ((static_cast<uint32_t>(v >> s) << off) & mask);
    done += n;
  }
}

}  // namespace ubl::cosim
