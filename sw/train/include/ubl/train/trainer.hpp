// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Data-parallel training of a small multi-layer perceptron, the same bits on every machine.
//
// Every rank holds all weights and computes the gradient of its share of the global batch. The
// vectors of all ranks are summed (all-reduce, plain FP32 sum: the 1/batch of the mean is already
// in the loss) and every rank applies the same sum. The vector is
//   [w1 (hidden x 64) | b1 | w2 (10 x hidden) | b2 | loss share]
// so the global loss travels the same way as the gradient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ubl/train/dataset.hpp"

namespace ubl::train {

/// A configuration that makes no sense. `what()` names the field.
class ConfigError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct Config {
  unsigned ranks = 4;
  unsigned steps = 200;
  unsigned batch = 140;  ///< global batch, split over the ranks as evenly as possible
  unsigned hidden = 48;  ///< hidden units (tanh)
  unsigned test_samples = 360;
  float learning_rate = 0.7f;
  float final_rate = 0.1f;  ///< falls linearly from learning_rate over all steps
  float momentum = 0.9f;
  uint64_t seed = 1;  ///< initial weights, train/test split, order of samples

  /// ConfigError unless it fits a data set of `samples`.
  void check(size_t samples) const;
  size_t parameters() const {
    return (kPixels + 1) * size_t{hidden} + (size_t{hidden} + 1) * kClasses;
  }
  /// Elements of the vector that is all-reduced: parameters and the loss.
  size_t vector_size() const { return parameters() + 1; }
  /// Full batches in one pass over `train_samples`; what is left over waits for the next shuffle.
  unsigned steps_per_epoch(size_t train_samples) const {
    return static_cast<unsigned>(train_samples / batch);
  }
};

/// One rank.
class Trainer {
 public:
  /// `data` must outlive the trainer.
  Trainer(const Dataset& data, const Config& config, unsigned rank);

  size_t vector_size() const { return config_.vector_size(); }
  unsigned steps_per_epoch() const { return steps_per_epoch_; }

  /// This rank's share for `step` with the current weights; writes vector_size() floats.
  void compute_gradient(unsigned step, float* grad);
  /// Momentum SGD with the sum over all ranks.
  void apply(unsigned step, const float* summed);

  /// Mean loss over the global batch of the last applied step.
  float loss() const { return loss_; }
  /// Share of the test samples classified correctly, with the current weights.
  double accuracy() const;
  const std::vector<float>& weights() const { return weights_; }

 private:
  void order_epoch(unsigned epoch);
  void forward(const Sample& s, float* hidden, double* logits) const;

  const Dataset& data_;
  Config config_;
  unsigned rank_;
  unsigned steps_per_epoch_;
  std::vector<uint32_t> train_, test_;  // sample numbers
  std::vector<uint32_t> order_;         // of the current epoch
  unsigned order_of_ = UINT32_MAX;
  std::vector<float> weights_, velocity_;
  float loss_ = 0;
};

/// What a run leaves behind; equal runs are equal byte by byte.
struct RunResult {
  std::vector<uint64_t> sums;          ///< digest of the summed vector of each step
  std::vector<float> loss;             ///< per step
  std::vector<float> epoch_loss;       ///< mean over the steps of each (also a last partial) epoch
  std::vector<double> epoch_accuracy;  ///< on the test samples, at the end of each epoch
  double accuracy = 0;                 ///< at the end
  std::vector<float> weights;
  uint64_t digest = 0;  ///< FNV-1a of the weights' little-endian bytes
};

/// FNV-1a (64 bit) over the floats' IEEE bits, least significant byte first.
uint64_t digest(const float* v, size_t n);
inline uint64_t digest(const std::vector<float>& v) { return digest(v.data(), v.size()); }

/// Replaces `data[0..count)` by the sum over all ranks. Blocks until it is there.
using Reduce = std::function<void(unsigned rank, float* data, size_t count)>;

/// Called after each applied step: step, loss, and the test accuracy if an epoch ended (else < 0).
using Progress = std::function<void(unsigned step, float loss, double accuracy)>;

/// The training loop of one rank.
RunResult run_rank(const Dataset& data, const Config& config, unsigned rank, const Reduce& reduce,
                   const Progress& progress = {});

/// FP32 addition on bit patterns.
using AddF32 = uint32_t (*)(uint32_t a, uint32_t b);

/// First element of chunk `chunk` when `count` elements are cut over `ranks`; chunk `ranks` gives
/// `count`. The first count % ranks chunks have one element more. (Contract of sw/comm/README.md.)
size_t ring_chunk_begin(size_t count, unsigned ranks, unsigned chunk);

/// Sum in ring order: an element of chunk c is ((x[c] + x[c+1]) + x[c+2]) + ..., ranks modulo n.
/// `vectors[r]` is rank r's; all have the same size.
std::vector<float> ring_sum(const std::vector<std::vector<float>>& vectors, AddF32 add);

/// Trains in one process, without any communication: the gradients of all ranks are added in ring
/// order by the golden addition of sw/numerics (or `add`).
RunResult run_reference(const Dataset& data, const Config& config, AddF32 add = nullptr,
                        const Progress& progress = {});

/// Bit-for-bit comparison; empty when equal, otherwise the first difference in words. The sums are
/// compared too: an error of one unit in the last place of a gradient can vanish in the weight.
std::string first_difference(const RunResult& run, const RunResult& reference);

}  // namespace ubl::train
