// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/train/trainer.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "ubl/numerics/fp32.hpp"
#include "ubl/train/math.hpp"
#include "ubl/train/rng.hpp"

namespace ubl::train {
namespace {

enum Purpose : uint64_t { kSplit = 1, kInit = 2, kOrder = 3 };

uint32_t bits(float f) {
  uint32_t u;
  std::memcpy(&u, &f, sizeof u);
  return u;
}
float from_bits(uint32_t u) {
  float f;
  std::memcpy(&f, &u, sizeof f);
  return f;
}

}  // namespace

void Config::check(size_t samples) const {
  const auto fail = [](const std::string& why) { throw ConfigError("train: " + why); };
  if (ranks == 0 || ranks > 65535) fail(fmt::format("ranks {} is not in 1..65535", ranks));
  if (steps == 0) fail("steps is 0");
  if (hidden == 0 || hidden > 65536) fail(fmt::format("hidden {} is not in 1..65536", hidden));
  if (test_samples == 0 || test_samples >= samples)
    fail(fmt::format("test_samples {} is not in 1..{}", test_samples, samples - 1));
  if (batch == 0 || batch > samples - test_samples)
    fail(fmt::format("batch {} is not in 1..{}", batch, samples - test_samples));
  if (!(learning_rate > 0 && learning_rate < 100)) fail("learning_rate is not in (0, 100)");
  if (!(final_rate > 0 && final_rate < 100)) fail("final_rate is not in (0, 100)");
  if (!(momentum >= 0 && momentum < 1)) fail("momentum is not in [0, 1)");
}

Trainer::Trainer(const Dataset& data, const Config& config, unsigned rank)
    : data_(data), config_(config), rank_(rank) {
  config.check(data.samples.size());
  if (rank >= config.ranks)
    throw ConfigError(fmt::format("train: rank {} is not in 0..{}", rank, config.ranks - 1));

  std::vector<uint32_t> all(data.samples.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  SplitMix64 split = stream(config.seed, kSplit);
  shuffle(all, split);
  const auto cut = all.begin() + static_cast<ptrdiff_t>(all.size() - config.test_samples);
  train_.assign(all.begin(), cut);
  test_.assign(cut, all.end());
  steps_per_epoch_ = config.steps_per_epoch(train_.size());

  weights_.assign(config.parameters(), 0.0f);
  velocity_.assign(config.parameters(), 0.0f);
  SplitMix64 init = stream(config.seed, kInit);
  const auto fill = [&](size_t begin, size_t in, size_t out) {
    const float limit = static_cast<float>(math::sqrt(6.0 / static_cast<double>(in + out)));
    for (size_t i = 0; i < in * out; ++i) weights_[begin + i] = (2.0f * init.unit() - 1.0f) * limit;
  };
  const size_t h = config.hidden;
  fill(0, kPixels, h);
  fill(h * kPixels + h, h, kClasses);
}

void Trainer::order_epoch(unsigned epoch) {
  if (order_of_ == epoch) return;
  order_ = train_;
  SplitMix64 rng = stream(config_.seed, kOrder, epoch);
  shuffle(order_, rng);
  order_of_ = epoch;
}

void Trainer::forward(const Sample& s, float* hidden, double* logits) const {
  const size_t h = config_.hidden;
  const float* w1 = weights_.data();
  const float* b1 = w1 + h * kPixels;
  const float* w2 = b1 + h;
  const float* b2 = w2 + kClasses * h;
  for (size_t j = 0; j < h; ++j) {
    float a = b1[j];
    for (size_t i = 0; i < kPixels; ++i) a += w1[j * kPixels + i] * s.pixel[i];
    hidden[j] = static_cast<float>(math::tanh(static_cast<double>(a)));
  }
  for (size_t k = 0; k < kClasses; ++k) {
    float a = b2[k];
    for (size_t j = 0; j < h; ++j) a += w2[k * h + j] * hidden[j];
    logits[k] = static_cast<double>(a);
  }
}

void Trainer::compute_gradient(unsigned step, float* grad) {
  const size_t h = config_.hidden;
  const size_t n = config_.parameters();
  std::memset(grad, 0, vector_size() * sizeof(float));
  float* g_w1 = grad;
  float* g_b1 = g_w1 + h * kPixels;
  float* g_w2 = g_b1 + h;
  float* g_b2 = g_w2 + kClasses * h;
  const float* w2 = weights_.data() + h * kPixels + h;

  order_epoch(step / steps_per_epoch_);
  const size_t base = size_t{step % steps_per_epoch_} * config_.batch;
  const size_t begin = base + size_t{config_.batch} * rank_ / config_.ranks;
  const size_t end = base + size_t{config_.batch} * (rank_ + 1) / config_.ranks;
  const double scale = 1.0 / config_.batch;

  std::vector<float> hidden(h), d_hidden(h);
  std::array<double, kClasses> logits;
  double loss = 0;
  for (size_t at = begin; at < end; ++at) {
    const Sample& s = data_.samples[order_[at]];
    forward(s, hidden.data(), logits.data());
    double top = logits[0];
    for (const double z : logits) top = z > top ? z : top;
    std::array<double, kClasses> e;
    double sum = 0;
    for (size_t k = 0; k < kClasses; ++k) sum += (e[k] = math::exp(logits[k] - top));
    loss += math::log(sum) - (logits[s.label] - top);

    for (size_t j = 0; j < h; ++j) d_hidden[j] = 0.0f;
    for (size_t k = 0; k < kClasses; ++k) {
      const double target = k == s.label ? 1.0 : 0.0;
      const float d = static_cast<float>((e[k] / sum - target) * scale);
      g_b2[k] += d;
      for (size_t j = 0; j < h; ++j) {
        g_w2[k * h + j] += d * hidden[j];
        d_hidden[j] += d * w2[k * h + j];
      }
    }
    for (size_t j = 0; j < h; ++j) {
      const float d = d_hidden[j] * (1.0f - hidden[j] * hidden[j]);
      g_b1[j] += d;
      for (size_t i = 0; i < kPixels; ++i) g_w1[j * kPixels + i] += d * s.pixel[i];
    }
  }
  grad[n] = static_cast<float>(loss * scale);
}

void Trainer::apply(unsigned step, const float* summed) {
  const float done =
      config_.steps > 1 ? static_cast<float>(step) / static_cast<float>(config_.steps - 1) : 0.0f;
  const float rate = config_.learning_rate + (config_.final_rate - config_.learning_rate) * done;
  const size_t n = config_.parameters();
  for (size_t i = 0; i < n; ++i) {
    velocity_[i] = config_.momentum * velocity_[i] + summed[i];
    weights_[i] = weights_[i] - rate * velocity_[i];
  }
  loss_ = summed[n];
}

double Trainer::accuracy() const {
  std::vector<float> hidden(config_.hidden);
  std::array<double, kClasses> logits;
  size_t right = 0;
  for (const uint32_t i : test_) {
    const Sample& s = data_.samples[i];
    forward(s, hidden.data(), logits.data());
    size_t best = 0;
    for (size_t k = 1; k < kClasses; ++k)
      if (logits[k] > logits[best]) best = k;
    right += best == s.label;
  }
  return static_cast<double>(right) / static_cast<double>(test_.size());
}

uint64_t digest(const float* v, size_t n) {
  uint64_t h = 0xCBF29CE484222325ull;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t u = bits(v[i]);
    for (unsigned b = 0; b < 4; ++b) h = (h ^ ((u >> (8 * b)) & 0xFF)) * 0x100000001B3ull;
  }
  return h;
}

namespace {

/// Collects the result of a run while `trainer` advances.
class Recorder {
 public:
  Recorder(const Trainer& trainer, const Config& config, const Progress& progress)
      : trainer_(trainer), config_(config), progress_(progress) {}

  void applied(unsigned step, const std::vector<float>& summed) {
    result_.sums.push_back(digest(summed));
    result_.loss.push_back(trainer_.loss());
    const unsigned per = trainer_.steps_per_epoch();
    double accuracy = -1;
    if ((step + 1) % per == 0 || step + 1 == config_.steps) {
      const size_t in_epoch = step % per + 1;
      double sum = 0;
      for (size_t i = result_.loss.size() - in_epoch; i < result_.loss.size(); ++i)
        sum += static_cast<double>(result_.loss[i]);
      result_.epoch_loss.push_back(static_cast<float>(sum / static_cast<double>(in_epoch)));
      accuracy = trainer_.accuracy();
      result_.epoch_accuracy.push_back(accuracy);
    }
    if (progress_) progress_(step, trainer_.loss(), accuracy);
  }

  RunResult take() {
    result_.accuracy = trainer_.accuracy();
    result_.weights = trainer_.weights();
    result_.digest = digest(result_.weights);
    return std::move(result_);
  }

 private:
  const Trainer& trainer_;
  const Config& config_;
  const Progress& progress_;
  RunResult result_;
};

}  // namespace

RunResult run_rank(const Dataset& data, const Config& config, unsigned rank, const Reduce& reduce,
                   const Progress& progress) {
  Trainer trainer(data, config, rank);
  Recorder recorder(trainer, config, progress);
  std::vector<float> vector(trainer.vector_size());
  for (unsigned step = 0; step < config.steps; ++step) {
    trainer.compute_gradient(step, vector.data());
    reduce(rank, vector.data(), vector.size());
    trainer.apply(step, vector.data());
    recorder.applied(step, vector);
  }
  return recorder.take();
}

size_t ring_chunk_begin(size_t count, unsigned ranks, unsigned chunk) {
  const size_t extra = count % ranks;
  return chunk * (count / ranks) + (chunk < extra ? chunk : extra);
}

std::vector<float> ring_sum(const std::vector<std::vector<float>>& vectors, AddF32 add) {
  const unsigned n = static_cast<unsigned>(vectors.size());
  const size_t count = vectors.at(0).size();
  std::vector<float> sum(count);
  for (unsigned c = 0; c < n; ++c) {
    const size_t end = ring_chunk_begin(count, n, c + 1);
    for (size_t i = ring_chunk_begin(count, n, c); i < end; ++i) {
      uint32_t s = bits(vectors[c].at(i));
      for (unsigned k = 1; k < n; ++k) s = add(s, bits(vectors[(c + k) % n].at(i)));
      sum[i] = from_bits(s);
    }
  }
  return sum;
}

RunResult run_reference(const Dataset& data, const Config& config, AddF32 add,
                        const Progress& progress) {
  if (add == nullptr) add = &numerics::add_f32;
  // One trainer per rank, all kept in step by applying the same sum.
  std::vector<Trainer> trainers;
  for (unsigned r = 0; r < config.ranks; ++r) trainers.emplace_back(data, config, r);
  if (trainers.empty()) throw ConfigError("train: ranks is 0");
  Recorder recorder(trainers[0], config, progress);
  std::vector<std::vector<float>> vectors(config.ranks, std::vector<float>(config.vector_size()));
  for (unsigned step = 0; step < config.steps; ++step) {
    for (unsigned r = 0; r < config.ranks; ++r)
      trainers[r].compute_gradient(step, vectors[r].data());
    const std::vector<float> sum = ring_sum(vectors, add);
    for (Trainer& t : trainers) t.apply(step, sum.data());
    recorder.applied(step, sum);
  }
  return recorder.take();
}

std::string first_difference(const RunResult& run, const RunResult& reference) {
  const auto floats = [](const char* what, const std::vector<float>& a,
                         const std::vector<float>& b) -> std::string {
    if (a.size() != b.size())
      return fmt::format("{}: {} values, reference {}", what, a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      if (bits(a[i]) != bits(b[i]))
        return fmt::format("{} {}: {:08x} ({:.9g}), reference {:08x} ({:.9g})", what, i, bits(a[i]),
                           a[i], bits(b[i]), b[i]);
    return {};
  };
  if (run.sums.size() != reference.sums.size())
    return fmt::format("{} steps, reference {}", run.sums.size(), reference.sums.size());
  for (size_t i = 0; i < run.sums.size(); ++i)
    if (run.sums[i] != reference.sums[i])
      return fmt::format("sum of step {}: digest {:016x} (loss {:.9g}), reference {:016x} ({:.9g})",
                         i, run.sums[i], run.loss.at(i), reference.sums[i], reference.loss.at(i));
  std::string d = floats("loss of step", run.loss, reference.loss);
  if (d.empty()) d = floats("loss of epoch", run.epoch_loss, reference.epoch_loss);
  if (d.empty()) d = floats("weight", run.weights, reference.weights);
  if (d.empty() && run.epoch_accuracy != reference.epoch_accuracy)
    d = "accuracy of an epoch differs";
  if (d.empty() && math::to_bits(run.accuracy) != math::to_bits(reference.accuracy))
    d = fmt::format("accuracy {:.6f}, reference {:.6f}", run.accuracy, reference.accuracy);
  if (d.empty() && run.digest != reference.digest)
    d = fmt::format("digest {:016x}, reference {:016x}", run.digest, reference.digest);
  return d;
}

}  // namespace ubl::train
