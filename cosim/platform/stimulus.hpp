// SPDX-License-Identifier: Apache-2.0
// Recording of what goes into the Verilated boxes, and its replay into bare ones: how fast the
// models would be without the platform around them (tests/perf).
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "platform/ports.hpp"
#include "platform/shadow.hpp"
#include "ubl/systemc/hash.hpp"

namespace ubl::cosim {

template <typename Model>
constexpr BoxKind box_kind() {
  if constexpr (std::is_same_v<Model, Vhost_if>) return BoxKind::kHostIf;
  if constexpr (std::is_same_v<Model, Vnic_core>) return BoxKind::kNicCore;
  if constexpr (std::is_same_v<Model, Vnic_port>) return BoxKind::kNicPort;
  if constexpr (std::is_same_v<Model, Vubl_switch16>) return BoxKind::kSwitch16;
  return BoxKind::kSwitch128;
}

/// One clock cycle; inputs were set while the clock was low.
template <typename Model>
inline void clock_model(Model& m) {
  m.clk_i = 1;
  m.eval();
  m.clk_i = 0;
  m.eval();
}

/// Hash of all outputs, for comparison of two runs of a box.
template <typename Model>
void hash_outputs(Model& m, systemc::Hash& h) {
  each_output(m, [&h](auto& port) { h.add_bytes(&port, sizeof(port)); });
}

/// Inputs of every evaluated cycle of every box, in the order of evaluation. An entry is
/// {box, mask of changed wide pieces, all narrow ports, the changed pieces}. Wide ports are cut
/// into pieces of one flit, and a piece that did not change is neither kept nor copied in the
/// replay.
class Stimulus {
 public:
  static constexpr size_t kPiece = 64;
  static constexpr unsigned kMaskWords = 3;  // up to 192 pieces: a switch of radix 128 has 149

  struct Box {
    BoxKind kind;
    systemc::Hash outputs;  ///< after each evaluation
    uint64_t evals = 0;
    std::vector<uint8_t> last;  // wide ports as of the last entry
  };

  unsigned add_box(BoxKind kind) {
    boxes_.push_back({kind, {}, 0, {}});
    return static_cast<unsigned>(boxes_.size() - 1);
  }
  const std::vector<Box>& boxes() const { return boxes_; }
  uint64_t entries() const { return entries_; }
  uint64_t bytes() const;
  const std::vector<std::vector<uint8_t>>& chunks() const { return chunks_; }
  size_t chunk_used(size_t i) const { return i + 1 == chunks_.size() ? used_ : chunks_[i].size(); }

  /// Before an evaluation.
  template <typename Model>
  void inputs(unsigned box, Model& m) {
    uint8_t* p = room();
    Box& b = boxes_[box];
    const auto id = static_cast<uint32_t>(box);
    std::memcpy(p, &id, sizeof(id));
    p += sizeof(id);
    uint64_t mask[kMaskWords] = {};
    uint8_t* mask_at = p;
    p += mask_bytes<Model>();
    each_input(m, [&p](auto& port) {
      if constexpr (sizeof(port) <= 8) {
        std::memcpy(p, &port, sizeof(port));
        p += sizeof(port);
      }
    });
    const bool first = b.last.empty();
    if (first) b.last.resize(wide_bytes(m));
    unsigned piece = 0;
    uint8_t* old = b.last.data();
    each_input(m, [&](auto& port) {
      if constexpr (sizeof(port) > 8) {
        const auto* src = reinterpret_cast<const uint8_t*>(&port);
        for (size_t at = 0; at < sizeof(port); at += kPiece, ++piece) {
          const size_t n = sizeof(port) - at < kPiece ? sizeof(port) - at : kPiece;
          if (first || std::memcmp(old, src + at, n) != 0) {
            mask[piece / 64] |= uint64_t{1} << (piece % 64);
            std::memcpy(old, src + at, n);
            std::memcpy(p, src + at, n);
            p += n;
          }
          old += n;
        }
      }
    });
    std::memcpy(mask_at, mask, mask_bytes<Model>());
    commit(p);
    ++b.evals;
    ++entries_;
  }
  /// After it.
  template <typename Model>
  void outputs(unsigned box, Model& m) {
    hash_outputs(m, boxes_[box].outputs);
  }

  /// Sets the inputs of one entry, which starts behind its box number; returns its end.
  template <typename Model>
  static const uint8_t* apply(Model& m, const uint8_t* p) {
    uint64_t mask[kMaskWords] = {};
    std::memcpy(mask, p, mask_bytes<Model>());
    p += mask_bytes<Model>();
    each_input(m, [&p](auto& port) {
      if constexpr (sizeof(port) <= 8) {
        std::memcpy(&port, p, sizeof(port));
        p += sizeof(port);
      }
    });
    unsigned piece = 0;
    each_input(m, [&](auto& port) {
      if constexpr (sizeof(port) > 8) {
        auto* dst = reinterpret_cast<uint8_t*>(&port);
        constexpr size_t kWhole = sizeof(port) / kPiece, kRest = sizeof(port) % kPiece;
        for (size_t i = 0; i < kWhole; ++i, ++piece) {
          if (((mask[piece / 64] >> (piece % 64)) & 1u) == 0) continue;
          std::memcpy(dst + i * kPiece, p, kPiece);
          p += kPiece;
        }
        if constexpr (kRest != 0) {
          if (((mask[piece / 64] >> (piece % 64)) & 1u) != 0) {
            std::memcpy(dst + kWhole * kPiece, p, kRest);
            p += kRest;
          }
          ++piece;
        }
      }
    });
    return p;
  }

 private:
  static constexpr size_t kChunk = size_t{32} << 20;
  static constexpr size_t kLargest = size_t{32} << 10;  // bytes of an entry

  template <typename Model>
  static constexpr size_t mask_bytes() {
    return box_kind<Model>() == BoxKind::kSwitch128 ? 24 : 8;
  }
  template <typename Model>
  static size_t wide_bytes(Model& m) {
    size_t n = 0;
    each_input(m, [&n](auto& port) {
      if constexpr (sizeof(port) > 8) n += sizeof(port);
    });
    return n;
  }
  uint8_t* room();
  void commit(const uint8_t* end);

  std::vector<Box> boxes_;
  std::vector<std::vector<uint8_t>> chunks_;  // an entry is whole in one of them
  size_t used_ = 0;                           // of the last chunk
  uint64_t entries_ = 0;
};

/// A box of the platform: one clock cycle, recorded and followed if somebody wants it.
class Recording {
 public:
  template <typename Model>
  void begin(Stimulus* to, const ShadowFactory* shadows, const std::string& name) {
    stimulus_ = to;
    if (to != nullptr) box_ = to->add_box(box_kind<Model>());
    if (shadows != nullptr && *shadows) shadow_ = (*shadows)(box_kind<Model>(), name);
    watched_ = stimulus_ != nullptr || shadow_ != nullptr;
  }
  template <typename Model>
  void clock(Model& m, Cycle now) const {
    if (__builtin_expect(!watched_, 1)) {
      clock_model(m);
      return;
    }
    if (stimulus_ != nullptr) stimulus_->inputs(box_, m);
    clock_model(m);
    if (stimulus_ != nullptr) stimulus_->outputs(box_, m);
    if (shadow_ != nullptr) shadow_->follow(&m, now);
  }

 private:
  bool watched_ = false;
  Stimulus* stimulus_ = nullptr;
  unsigned box_ = 0;
  std::unique_ptr<Shadow> shadow_;
};

/// Fresh models, fed with a recording.
class Replay {
 public:
  explicit Replay(const Stimulus& stimulus);
  ~Replay();
  /// Evaluates everything once. `check`: hashes outputs, too (slower).
  void run(bool check);
  /// After run(true): number of the first box whose outputs differ from the recording's; -1 if all
  /// are equal.
  int mismatch() const;

 private:
  struct Models;
  const Stimulus& stimulus_;
  std::unique_ptr<Models> models_;
};

}  // namespace ubl::cosim
