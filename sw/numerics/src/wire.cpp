// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/numerics/wire.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "ubl/numerics/fp32.hpp"
#include "ubl/numerics/random.hpp"

namespace ubl::numerics {
namespace {

constexpr uint32_t kMagnitude = 0x7FFFFFFF;
constexpr uint32_t kInfinity = kFp32.infinity();

// int4: a superblock of four blocks; their nibbles, then their scale codes.
constexpr size_t kInt4Block = 32;
constexpr size_t kInt4Scales = 64;  // offset
// sparse8: nibbles, masks, scale code, reserved.
constexpr size_t kSparseMasks = 16;
constexpr size_t kSparseScale = 24;
// A group of four keeps its first two elements, if nothing is larger.
constexpr uint8_t kSparseMaskOfZeros = 0x3;
// topk: mask, elements.
constexpr size_t kTopkMask = 8;

struct Shape {
  const char* name;
  size_t elements;  // of a block
  size_t bytes;     // of a block, at most
  const Format* cast;
};

const Shape& shape_of(WireFormat format) {
  static const Shape kShapes[] = {
      {"none", 1, 4, nullptr},      {"fp16", 1, 2, &kFp16},
      {"bf16", 1, 2, &kBf16},       {"e4m3", 1, 1, &kE4m3},
      {"e5m2", 1, 1, &kE5m2},       {"int4", 128, 68, nullptr},
      {"sparse8", 64, 32, nullptr}, {"topk", 64, kTopkMask + 64 * 4, nullptr}};
  const auto i = static_cast<size_t>(format);
  if (i >= std::size(kShapes)) throw std::invalid_argument("no such wire format");
  return kShapes[i];
}

size_t blocks(size_t n, size_t per_block) { return n / per_block + (n % per_block != 0 ? 1 : 0); }

uint64_t load_le(const uint8_t* p, size_t bytes) {
  uint64_t x = 0;
  for (size_t k = 0; k < bytes; ++k) x |= static_cast<uint64_t>(p[k]) << (8 * k);
  return x;
}

void append_le(std::vector<uint8_t>& out, uint64_t x, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k) out.push_back(static_cast<uint8_t>(x >> (8 * k)));
}

unsigned nibble_of(const uint8_t* bytes, size_t i) { return bytes[i / 2] >> (i % 2 * 4) & 0xFu; }
void set_nibble(uint8_t* bytes, size_t i, unsigned value) {
  bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | value << (i % 2 * 4));
}

uint32_t largest_magnitude(const uint32_t* x, size_t n) {
  uint32_t max = 0;
  for (size_t i = 0; i < n; ++i) max = std::max(max, x[i] & kMagnitude);
  return max;
}

// Rounding of the elements of one message.
class Roundings {
 public:
  explicit Roundings(const WireOptions& options)
      : stochastic_(options.stochastic), bits_(options.seed) {}
  Rounding of(uint32_t index) const {
    return stochastic_ ? stochastic(bits_(index)) : kNearestEven;
  }
  bool stochastic_rounding() const { return stochastic_; }

 private:
  bool stochastic_;
  RoundingBits bits_;
};

// Each of these appends one whole block.

void encode_int4(std::vector<uint8_t>& out, const uint32_t* x, const Roundings& roundings,
                 uint32_t first) {
  uint8_t bytes[68] = {};
  for (size_t begin = 0; begin < 128; begin += kInt4Block) {
    const uint32_t max = largest_magnitude(x + begin, kInt4Block);
    const uint8_t code = scale_code(max, roundings.stochastic_rounding());
    bytes[kInt4Scales + begin / kInt4Block] = code;
    for (size_t i = begin; i < begin + kInt4Block; ++i) {
      const Rounding rounding = roundings.of(first + static_cast<uint32_t>(i));
      set_nibble(bytes, i, quantise(x[i], code, rounding));
    }
  }
  out.insert(out.end(), std::begin(bytes), std::end(bytes));
}

// The two elements of a group of four that have the largest magnitudes, as a mask; of equal ones
// those of the lower indices.
uint8_t two_largest(const uint32_t* x) {
  unsigned mask = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned ahead = 0;  // elements that are preferred to i
    for (unsigned k = 0; k < 4; ++k) {
      const uint32_t a = x[k] & kMagnitude;
      const uint32_t b = x[i] & kMagnitude;
      if (a > b || (a == b && k < i)) ++ahead;
    }
    if (ahead < 2) mask |= 1u << i;
  }
  return static_cast<uint8_t>(mask);
}

void encode_sparse8(std::vector<uint8_t>& out, const uint32_t* x, const Roundings& roundings,
                    uint32_t first) {
  uint8_t bytes[32] = {};
  // The largest of all is among the kept ones.
  const uint8_t code = scale_code(largest_magnitude(x, 64), roundings.stochastic_rounding());
  bytes[kSparseScale] = code;
  for (size_t group = 0; group < 16; ++group) {
    const uint8_t mask = code == kScaleNan ? kSparseMaskOfZeros : two_largest(x + 4 * group);
    set_nibble(bytes + kSparseMasks, group, mask);
    size_t slot = 2 * group;
    for (size_t i = 4 * group; i < 4 * group + 4; ++i) {
      if ((mask >> (i % 4) & 1) == 0) continue;
      const Rounding rounding = roundings.of(first + static_cast<uint32_t>(i));
      set_nibble(bytes, slot++, quantise(x[i], code, rounding));
    }
  }
  out.insert(out.end(), std::begin(bytes), std::end(bytes));
}

void encode_topk(std::vector<uint8_t>& out, const uint32_t* x, uint32_t threshold) {
  uint64_t mask = 0;
  for (size_t i = 0; i < 64; ++i) {
    if ((x[i] & kMagnitude) >= threshold) mask |= uint64_t{1} << i;  // a NaN is above infinity
  }
  append_le(out, mask, kTopkMask);
  for (size_t i = 0; i < 64; ++i) {
    if ((mask >> i & 1) != 0) append_le(out, canonicalise_f32(x[i]), 4);
  }
}

// Decoders of one block. They write its first n elements and note what is wrong.

void note(Decoded& result, Malformed malformed, size_t offset) {
  if (result.malformed == Malformed::kNo) {
    result.malformed = malformed;
    result.offset = offset;
  }
}

void decode_int4(uint32_t* x, size_t n, const uint8_t* bytes) {
  for (size_t i = 0; i < n; ++i) {
    const uint8_t code = bytes[kInt4Scales + i / kInt4Block];
    x[i] = dequantise(static_cast<uint8_t>(nibble_of(bytes, i)), code);
  }
}

void decode_sparse8(Decoded& result, size_t begin, size_t n, const uint8_t* bytes, size_t offset) {
  uint32_t x[64] = {};
  const uint8_t code = bytes[kSparseScale];
  if (code == kScaleNan) std::fill(std::begin(x), std::end(x), kFp32.canonical_nan);
  for (size_t group = 0; group < 16; ++group) {
    const unsigned mask = nibble_of(bytes + kSparseMasks, group);
    size_t ones = 0;
    for (size_t i = 0; i < 4; ++i) {
      if ((mask >> i & 1) == 0) continue;
      if (ones < 2) {
        const unsigned nibble = nibble_of(bytes, 2 * group + ones);
        x[4 * group + i] = dequantise(static_cast<uint8_t>(nibble), code);
      }
      ++ones;
    }
    if (ones != 2) note(result, Malformed::kMask, offset + kSparseMasks + group / 2);
  }
  for (size_t k = kSparseScale + 1; k < 32; ++k) {
    if (bytes[k] != 0) note(result, Malformed::kReserved, offset + k);
  }
  std::copy_n(x, n, result.elements.data() + begin);
}

Decoded decode_topk(const uint8_t* bytes, size_t size, size_t count) {
  Decoded result = {std::vector<uint32_t>(count), Malformed::kNo, 0};
  size_t at = 0;
  for (size_t begin = 0; begin < count; begin += 64) {
    if (size - at < kTopkMask) {
      note(result, Malformed::kLength, size);
      return result;
    }
    const uint64_t mask = load_le(bytes + at, kTopkMask);
    const size_t n = std::min<size_t>(64, count - begin);
    if (n < 64 && mask >> n != 0) note(result, Malformed::kReserved, at + n / 8);
    at += kTopkMask;
    const auto sent = static_cast<size_t>(__builtin_popcountll(mask));
    if (size - at < 4 * sent) {
      note(result, Malformed::kLength, size);
      return result;
    }
    for (size_t i = 0; i < 64; ++i) {
      if ((mask >> i & 1) == 0) continue;
      const auto value = static_cast<uint32_t>(load_le(bytes + at, 4));
      if (i < n) result.elements[begin + i] = canonicalise_f32(value);
      at += 4;
    }
  }
  if (at != size) note(result, Malformed::kLength, at);
  return result;
}

}  // namespace

const char* wire_name(WireFormat format) { return shape_of(format).name; }
size_t wire_block_elements(WireFormat format) { return shape_of(format).elements; }
size_t wire_block_bytes(WireFormat format) { return shape_of(format).bytes; }

size_t wire_bytes(WireFormat format, size_t n) {
  const Shape& shape = shape_of(format);
  return blocks(n, shape.elements) * shape.bytes;
}

size_t wire_elements_that_fit(WireFormat format, size_t payload_bytes) {
  const Shape& shape = shape_of(format);
  return payload_bytes / shape.bytes * shape.elements;
}

std::vector<uint8_t> encode_wire(const WireOptions& options, const uint32_t* x, size_t n,
                                 uint32_t first) {
  const Shape& shape = shape_of(options.format);
  if (first % shape.elements != 0) {
    throw std::invalid_argument(std::string(shape.name) + ": element " + std::to_string(first) +
                                " is inside a block");
  }
  if (options.format == WireFormat::kTopk &&
      (options.threshold == 0 || options.threshold > kInfinity)) {
    throw std::invalid_argument("topk: the threshold must be a number above zero");
  }
  const Roundings roundings(options);
  std::vector<uint8_t> out;
  if (options.format != WireFormat::kTopk) out.reserve(wire_bytes(options.format, n));
  if (shape.elements == 1) {
    for (size_t i = 0; i < n; ++i) {
      uint32_t y = x[i];
      if (shape.cast != nullptr) {
        const Rounding rounding = roundings.of(first + static_cast<uint32_t>(i));
        y = convert(*shape.cast, kFp32, y, options.overflow, rounding);
      }
      append_le(out, y, shape.bytes);
    }
    return out;
  }
  for (size_t begin = 0; begin < n; begin += shape.elements) {
    uint32_t block[128] = {};
    std::copy_n(x + begin, std::min(shape.elements, n - begin), block);
    const uint32_t index = first + static_cast<uint32_t>(begin);
    if (options.format == WireFormat::kInt4) {
      encode_int4(out, block, roundings, index);
    } else if (options.format == WireFormat::kSparse8) {
      encode_sparse8(out, block, roundings, index);
    } else {
      encode_topk(out, block, options.threshold);
    }
  }
  return out;
}

std::vector<uint8_t> encode_wire(const WireOptions& options, const std::vector<uint32_t>& x,
                                 uint32_t first) {
  return encode_wire(options, x.data(), x.size(), first);
}

Decoded decode_wire_any(WireFormat format, const uint8_t* bytes, size_t size, size_t count) {
  const Shape& shape = shape_of(format);
  if (format == WireFormat::kTopk) return decode_topk(bytes, size, count);
  Decoded result = {std::vector<uint32_t>(count), Malformed::kNo, 0};
  const size_t wanted = wire_bytes(format, count);
  if (size != wanted) {
    note(result, Malformed::kLength, std::min(size, wanted));
    return result;
  }
  for (size_t begin = 0; begin < count; begin += shape.elements) {
    const size_t offset = begin / shape.elements * shape.bytes;
    const uint8_t* block = bytes + offset;
    const size_t n = std::min(shape.elements, count - begin);
    if (format == WireFormat::kInt4) {
      decode_int4(result.elements.data() + begin, n, block);
    } else if (format == WireFormat::kSparse8) {
      decode_sparse8(result, begin, n, block, offset);
    } else {
      const auto x = static_cast<uint32_t>(load_le(block, shape.bytes));
      result.elements[begin] =
          shape.cast != nullptr ? convert(kFp32, *shape.cast, x, Overflow::kNonFinite) : x;
    }
  }
  return result;
}

std::vector<uint32_t> decode_wire(WireFormat format, const uint8_t* bytes, size_t size,
                                  size_t count) {
  Decoded result = decode_wire_any(format, bytes, size, count);
  if (result.malformed == Malformed::kNo) return std::move(result.elements);
  std::string text = std::string(wire_name(format)) + ": ";
  if (result.malformed == Malformed::kLength) {
    text += std::to_string(size) + " bytes are not those of " + std::to_string(count) + " elements";
  } else {
    text += "byte " + std::to_string(result.offset) +
            (result.malformed == Malformed::kReserved ? ": a reserved bit is set"
                                                      : ": a mask without exactly two ones");
  }
  throw std::invalid_argument(text);
}

std::vector<uint32_t> decode_wire(WireFormat format, const std::vector<uint8_t>& bytes,
                                  size_t count) {
  return decode_wire(format, bytes.data(), bytes.size(), count);
}

// Why x' - d is an FP32 number, d being what x' decodes to. Let x' be finite, |x'| = s x 2^t with
// s < 2^24 and t >= -149, and U = 2^(t + drop) the unit to which it was rounded: one of the target
// format's significand, or the block's scale. d is a multiple of U, and of 2^t.
//   drop <= 0, or kept as it is (none, topk):  d = x', the difference is 0.
//   not sent (topk, sparse8):                  d = 0, the difference is x'.
//   drop <= 24:  the difference is a multiple of 2^t and less than U <= 2^24 x 2^t, so it is less
//                than 2^24 units of 2^t: an FP32 number.
//   drop > 24:   |x'| < 2^24 x 2^t <= U / 2, less than half a unit. To nearest, d = 0 and the
//                difference is x'. Stochastic, d may be U instead, and U - |x'| may need more bits
//                than 24: it is rounded, by at most 2^-25 U.
// A block's number from 2^128 on decodes to the largest FP32 number m instead (d = 4 x 2^126); then
// |x'| >= 3.5 x 2^126 > m / 2, and a difference of two numbers within a factor of two is exact
// (Sterbenz). A cast that saturates has no such bound: the difference is rounded.
std::vector<uint8_t> encode_wire_feedback(const WireOptions& options, const uint32_t* x,
                                          uint32_t* residual, size_t n, uint32_t first) {
  std::vector<uint32_t> sum(n);
  sum_f32(sum.data(), x, residual, n);
  std::vector<uint8_t> bytes = encode_wire(options, sum, first);
  const std::vector<uint32_t> decoded = decode_wire(options.format, bytes, n);
  const auto finite = [](uint32_t f) { return (f & kMagnitude) < kInfinity; };
  for (size_t i = 0; i < n; ++i) {
    const bool known = finite(sum[i]) && finite(decoded[i]);
    residual[i] = known ? add_f32(sum[i], decoded[i] ^ kFp32.sign_bit()) : 0;
  }
  return bytes;
}

std::vector<uint8_t> encode_wire_feedback(const WireOptions& options,
                                          const std::vector<uint32_t>& x,
                                          std::vector<uint32_t>& residual, uint32_t first) {
  if (x.size() != residual.size()) {
    throw std::invalid_argument("encode_wire_feedback: " + std::to_string(x.size()) + " and " +
                                std::to_string(residual.size()) + " elements");
  }
  return encode_wire_feedback(options, x.data(), residual.data(), x.size(), first);
}

}  // namespace ubl::numerics
