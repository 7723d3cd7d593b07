// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "ubl/comm/communicator.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ubl/test/baton.hpp"
#include "ubl/test/comm_mock.hpp"
#include "ubl/test/seed.hpp"
#include "ubl/train/math.hpp"
#include "ubl/train/rng.hpp"
#include "ubl/train/trainer.hpp"

namespace ubl::train {
namespace {

using testing::HasSubstr;

const Dataset& digits() {
  static const Dataset data = Dataset::load(UBL_TRAIN_DATA);
  return data;
}

/// The run of ublsim's defaults.
const RunResult& default_reference() {
  static const RunResult r = run_reference(digits(), Config{});
  return r;
}

// ---- data ----------------------------------------------------------------------------------

TEST(Digits, TheShippedFile) {
  ASSERT_EQ(digits().samples.size(), 1797u);
  std::vector<unsigned> per_class(kClasses);
  double sum = 0;
  for (const Sample& s : digits().samples) {
    ++per_class[s.label];
    for (const float p : s.pixel) sum += static_cast<double>(p);
  }
  EXPECT_EQ(per_class, (std::vector<unsigned>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
  EXPECT_EQ(16 * sum, 561718);
}

std::string line(const std::string& first = "0", const std::string& label = "7") {
  std::string s = first;
  for (int i = 1; i < 64; ++i) s += "," + std::to_string(i % 17);
  return s + "," + label + "\n";
}

std::string parse_error(const std::string& text, size_t rows = 0) {
  std::istringstream in(text);
  try {
    Dataset::parse(in, "d.csv", rows);
  } catch (const DataError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Digits, GoodFiles) {
  EXPECT_EQ(parse_error(line() + line("16", "9")), "accepted");
  EXPECT_EQ(parse_error(line() + line(), 2), "accepted");
  std::string crlf = line();
  crlf.insert(crlf.size() - 1, "\r");
  EXPECT_EQ(parse_error(crlf + crlf), "accepted");
}

TEST(Digits, BadFilesAreRefusedWithTheLine) {
  EXPECT_EQ(parse_error(line() + line("17")), "d.csv:2: column 1: pixel 17 is not in 0..16");
  EXPECT_EQ(parse_error(line("-1")), "d.csv:1: column 1: '-1' is not a whole number");
  EXPECT_EQ(parse_error(line("1.5")), "d.csv:1: column 1: '1.5' is not a whole number");
  EXPECT_EQ(parse_error(line("")), "d.csv:1: column 1: '' is not a whole number");
  EXPECT_EQ(parse_error(line("99999999999999999999")),
            "d.csv:1: column 1: '99999999999999999999' is not a whole number");
  EXPECT_EQ(parse_error(line() + line() + line("0", "10")),
            "d.csv:3: column 65: label 10 is not in 0..9");
  EXPECT_EQ(parse_error(line("0", "x\x01")), "d.csv:1: column 65: 'x?' is not a whole number");
  EXPECT_EQ(parse_error(line("0", "7,8")), "d.csv:1: 66 columns, expected 64 pixels and a label");
  EXPECT_EQ(parse_error("1,2,3\n"), "d.csv:1: 3 columns, expected 64 pixels and a label");
  EXPECT_EQ(parse_error(line() + "\n" + line()), "d.csv:2: empty line");
  EXPECT_EQ(parse_error(""), "d.csv:1: no data");
  EXPECT_THAT(parse_error(line() + line().substr(0, 100)), HasSubstr("d.csv:2: "));
  EXPECT_THAT(parse_error(line().substr(0, line().size() - 1)),
              HasSubstr("d.csv:1: the last line"));
  EXPECT_EQ(parse_error(line() + line(), 3),
            "d.csv:2: ends after 2 lines, expected 3: file truncated?");
  EXPECT_EQ(parse_error(line() + line() + line(), 2), "d.csv:3: more than the expected 2 lines");
}

// Whatever is cut off the end of the file is noticed.
TEST(Digits, EveryTruncationIsNoticed) {
  const std::string whole = line() + line("3", "1");
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(parse_error(whole.substr(0, n), 2), "accepted") << n;
}

TEST(Digits, MissingFile) {
  try {
    Dataset::load("/nonexistent/digits.csv");
    FAIL();
  } catch (const DataError& e) {
    EXPECT_STREQ(e.what(), "/nonexistent/digits.csv: cannot open: No such file or directory");
  }
  EXPECT_THROW(Dataset::load("/"), DataError);
}

// ---- arithmetic ----------------------------------------------------------------------------

TEST(Math, AgreesWithTheSystemLibrary) {
  auto rng = test::rng(1);
  std::uniform_real_distribution<double> wide(-60, 60), small(-0.2, 0.2), positive(1e-6, 1e6);
  const auto close = [](double a, double b) { return std::fabs(a - b) <= 1e-14 * std::fabs(b); };
  for (int i = 0; i < 100'000; ++i) {
    const double x = wide(rng), s = small(rng), p = positive(rng);
    ASSERT_TRUE(close(math::exp(x), std::exp(x))) << x;
    ASSERT_TRUE(close(math::exp(s), std::exp(s))) << s;
    ASSERT_NEAR(math::tanh(x), std::tanh(x), 1e-14) << x;
    ASSERT_NEAR(math::tanh(s), std::tanh(s), 1e-9 * std::fabs(s)) << s;
    ASSERT_NEAR(math::log(p), std::log(p), 1e-14) << p;
    ASSERT_TRUE(close(math::sqrt(p), std::sqrt(p))) << p;
  }
  EXPECT_EQ(math::exp(0), 1.0);
  EXPECT_EQ(math::exp(-1e9), 0.0);
  EXPECT_EQ(math::log(1), 0.0);
  EXPECT_EQ(math::tanh(0), 0.0);
  EXPECT_EQ(math::tanh(-100), -1.0);
  EXPECT_EQ(math::sqrt(4), 2.0);
}

TEST(Rng, KnownValuesAndRanges) {
  SplitMix64 r(1234567);  // published test vector of splitmix64
  EXPECT_EQ(r.next(), 6457827717110365317ull);
  EXPECT_EQ(r.next(), 3203168211198807973ull);
  SplitMix64 u(5);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(u.below(7));
    const float f = u.unit();
    EXPECT_GE(f, 0.0f);
    EXPECT_LT(f, 1.0f);
  }
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_NE(stream(1, 1, 0).next(), stream(1, 1, 1).next());
  EXPECT_NE(stream(1, 1, 0).next(), stream(1, 2, 0).next());
  EXPECT_NE(stream(1, 1, 0).next(), stream(2, 1, 0).next());
}

TEST(Digest, KnownValues) {
  EXPECT_EQ(digest({}), 0xCBF29CE484222325ull);
  EXPECT_NE(digest({0.0f}), digest({-0.0f}));
  EXPECT_NE(digest({1.0f, 2.0f}), digest({2.0f, 1.0f}));
}

// ---- the model -----------------------------------------------------------------------------

// The gradient agrees with differences of the loss.
TEST(Trainer, GradientIsTheDerivativeOfTheLoss) {
  Config c;
  c.ranks = 1;
  c.steps = 1;
  c.hidden = 7;
  Trainer t(digits(), c, 0);
  std::vector<float> g(c.vector_size()), other(c.vector_size());
  t.compute_gradient(0, g.data());
  const double rate = static_cast<double>(c.learning_rate);
  auto rng = test::rng(2);
  for (int k = 0; k < 60; ++k) {
    const size_t i = rng() % c.parameters();
    // A step along one axis, through apply(): w[i] -= rate * v.
    std::array<double, 2> loss;
    for (int side = 0; side < 2; ++side) {
      Trainer moved(digits(), c, 0);
      std::vector<float> v(c.vector_size(), 0.0f);
      v[i] = side == 0 ? 0.01f : -0.01f;
      moved.apply(0, v.data());
      moved.compute_gradient(0, other.data());
      loss[side] = static_cast<double>(other.back());
    }
    const double slope = (loss[1] - loss[0]) / (2 * 0.01 * rate);
    EXPECT_NEAR(slope, static_cast<double>(g[i]), 2e-4) << "parameter " << i;
  }
}

TEST(Trainer, RanksShareTheBatch) {
  Config one;
  one.ranks = 1;
  Trainer whole(digits(), one, 0);
  std::vector<float> g(one.vector_size());
  for (const unsigned step : {0u, 3u, 25u}) {
    whole.compute_gradient(step, g.data());
    for (const unsigned ranks : {2u, 3u, 4u, 16u, 140u, 150u}) {
      Config c;
      c.ranks = ranks;
      std::vector<double> sum(c.vector_size(), 0.0);
      std::vector<float> part(c.vector_size());
      for (unsigned r = 0; r < ranks; ++r) {
        Trainer t(digits(), c, r);
        t.compute_gradient(step, part.data());
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(part[i]);
      }
      for (size_t i = 0; i < sum.size(); ++i)
        ASSERT_NEAR(sum[i], static_cast<double>(g[i]), 1e-5) << ranks << " ranks, element " << i;
    }
  }
}

TEST(Trainer, ConfigurationIsChecked) {
  const auto refused = [](const std::function<void(Config&)>& change) {
    Config c;
    change(c);
    try {
      Trainer t(digits(), c, 0);
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused([](Config&) {}), "accepted");
  EXPECT_THAT(refused([](Config& c) { c.ranks = 0; }), HasSubstr("ranks"));
  EXPECT_THAT(refused([](Config& c) { c.steps = 0; }), HasSubstr("steps"));
  EXPECT_THAT(refused([](Config& c) { c.batch = 0; }), HasSubstr("batch"));
  EXPECT_THAT(refused([](Config& c) { c.batch = 1438; }), HasSubstr("batch"));
  EXPECT_THAT(refused([](Config& c) { c.hidden = 0; }), HasSubstr("hidden"));
  EXPECT_THAT(refused([](Config& c) { c.test_samples = 1797; }), HasSubstr("test_samples"));
  EXPECT_THAT(refused([](Config& c) { c.learning_rate = 0; }), HasSubstr("learning_rate"));
  EXPECT_THAT(refused([](Config& c) { c.final_rate = std::nanf(""); }), HasSubstr("final_rate"));
  EXPECT_THAT(refused([](Config& c) { c.momentum = 1; }), HasSubstr("momentum"));
  EXPECT_THROW(Trainer(digits(), Config{}, 4), ConfigError);
}

TEST(RingSum, OrderAndChunks) {
  EXPECT_EQ(ring_chunk_begin(10, 4, 0), 0u);
  EXPECT_EQ(ring_chunk_begin(10, 4, 1), 3u);
  EXPECT_EQ(ring_chunk_begin(10, 4, 2), 6u);
  EXPECT_EQ(ring_chunk_begin(10, 4, 3), 8u);
  EXPECT_EQ(ring_chunk_begin(10, 4, 4), 10u);
  EXPECT_EQ(ring_chunk_begin(2, 4, 3), 2u);
  // 2^24 + 1 + 1: the order decides. Chunk 0 adds ranks 0 1 2, chunk 1: 1 2 0, chunk 2: 2 0 1.
  const std::vector<std::vector<float>> x{{16777216, 16777216, 16777216}, {1, 1, 1}, {1, 1, 1}};
  const std::vector<float> sum = ring_sum(x, &numerics::add_f32);
  EXPECT_EQ(sum, (std::vector<float>{16777216, 16777218, 16777216}));
}

// ---- training ------------------------------------------------------------------------------

class Accuracy : public testing::TestWithParam<uint64_t> {};

TEST_P(Accuracy, AtLeast95Percent) {
  Config c;
  c.seed = GetParam();
  ASSERT_LE(c.steps, 200u);
  const RunResult r = c.seed == 1 ? default_reference() : run_reference(digits(), c);
  EXPECT_GE(r.accuracy, 0.95);
  EXPECT_EQ(r.loss.size(), c.steps);
  EXPECT_EQ(r.epoch_loss.size(), 20u);
  EXPECT_EQ(r.epoch_accuracy.size(), 20u);
  EXPECT_EQ(r.epoch_accuracy.back(), r.accuracy);
  EXPECT_LT(r.epoch_loss.back(), 0.1f);
  EXPECT_NEAR(r.loss[0], 2.4, 0.5);  // log 10 and a bit
  RecordProperty("accuracy_percent", std::to_string(100 * r.accuracy));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Accuracy, testing::Values(1, 2, 3, 4, 5, 1000, ~0ull));

// Pinned: the same on every machine and with every compiler.
TEST(Training, KnownDigest) {
  const RunResult& r = default_reference();
  EXPECT_EQ(r.digest, 0xc20194a014ca5fe3ull);
  EXPECT_EQ(digest(r.weights), r.digest);
}

Config small() {
  Config c;
  c.steps = 12;
  c.hidden = 9;
  return c;
}

TEST(Training, Deterministic) {
  const RunResult a = run_reference(digits(), small());
  const RunResult b = run_reference(digits(), small());
  EXPECT_EQ(first_difference(a, b), "");
  Config other = small();
  other.seed = 2;
  EXPECT_THAT(first_difference(run_reference(digits(), other), a), HasSubstr("sum of step 0"));
  EXPECT_EQ(a.epoch_loss.size(), 2u);  // 10 + 2 steps
}

/// Runs all ranks over the mock fabric with the real collectives; `spoil` may change what a rank
/// contributes or receives.
struct Spoil {
  std::function<void(unsigned rank, unsigned call, float*v)> before, after;
};
std::vector<RunResult> distributed(const Config& c, unsigned stripes, const Spoil& spoil = {}) {
  test::MockConfig mc;
  mc.ranks = c.ranks;
  mc.stripes = stripes;
  mc.memory = 1 << 16;
  mc.seed = test::seed();
  test::World world(mc);
  test::Baton baton(mc.seed);
  comm::LocalBootstrap bootstrap(c.ranks);
  comm::CommConfig cc;
  cc.memory_base = mc.base;
  cc.memory_bytes = mc.memory;
  cc.min_piece = 64;
  std::vector<RunResult> results(c.ranks);
  const auto thrown = baton.run(
      c.ranks,
      [&](unsigned rank) {
        auto fabric = world.fabric(rank);
        fabric->on_wait = [&, rank](uint64_t) { baton.yield(rank); };
        comm::Communicator comm(rank, c.ranks, std::move(fabric),
                                comm::Communicator::ring_peers(rank, c.ranks), cc);
        bootstrap.all_gather(rank, {}, [&] { baton.yield(rank); });
        unsigned call = 0;
        const auto reduce = [&](unsigned r, float* v, size_t count) {
          EXPECT_EQ(r, rank);
          if (spoil.before) spoil.before(rank, call, v);
          std::memcpy(world.at(rank, mc.base, count * 4), v, count * 4);
          comm.all_reduce(mc.base, mc.base, count);
          std::memcpy(v, world.at(rank, mc.base, count * 4), count * 4);
          if (spoil.after) spoil.after(rank, call, v);
          ++call;
        };
        results[rank] = run_rank(digits(), c, rank, reduce);
      },
      [&] {
        while (world.rng() % 8 != 0 && world.step()) {
        }
      });
  for (const auto& t : thrown) EXPECT_EQ(t, nullptr);
  EXPECT_THAT(world.violations, testing::IsEmpty());
  return results;
}

TEST(Training, DistributedEqualsReferenceBitForBit) {
  for (const unsigned ranks : {1u, 2u, 3u, 4u, 7u}) {
    Config c = small();
    c.ranks = ranks;
    const RunResult want = run_reference(digits(), c);
    const auto got = distributed(c, ranks == 4 ? 8 : 1);
    for (unsigned r = 0; r < ranks; ++r)
      EXPECT_EQ(first_difference(got[r], want), "") << ranks << " ranks, rank " << r;
  }
}

TEST(Training, FullRunEqualsReferenceBitForBit) {
  const Config c;
  const auto got = distributed(c, 1);
  for (const RunResult& r : got) EXPECT_EQ(first_difference(r, default_reference()), "");
}

TEST(Training, ADroppedGradientTurnsTheVerdict) {
  const Config c = small();
  const RunResult want = run_reference(digits(), c);
  Spoil s;
  s.before = [&](unsigned rank, unsigned call, float* v) {
    if (rank == 2 && call == 5) std::fill(v, v + c.vector_size(), 0.0f);
  };
  for (const RunResult& r : distributed(c, 1, s))
    EXPECT_THAT(first_difference(r, want), HasSubstr("sum of step 5"));
}

TEST(Training, OneBitOfOneElementTurnsTheVerdict) {
  const Config c = small();
  const RunResult want = run_reference(digits(), c);
  Spoil s;
  s.after = [&](unsigned rank, unsigned call, float* v) {
    if (rank == 1 && call == 7) {
      uint32_t u;
      std::memcpy(&u, &v[100], 4);
      u ^= 1;
      std::memcpy(&v[100], &u, 4);
    }
  };
  const auto got = distributed(c, 1, s);
  EXPECT_THAT(first_difference(got[1], want), HasSubstr("sum of step 7"));
  EXPECT_EQ(first_difference(got[0], want), "");
}

uint32_t add_with_wrong_rounding(uint32_t a, uint32_t b) {
  // One sum in 2^12 is one unit in the last place too large.
  const uint32_t s = numerics::add_f32(a, b);
  return (s & 0xFFF) == 0x123 ? s + 1 : s;
}

TEST(Training, AFlippedRoundingTurnsTheVerdict) {
  const Config c = small();
  const RunResult want = run_reference(digits(), c);
  const RunResult wrong = run_reference(digits(), c, &add_with_wrong_rounding);
  EXPECT_THAT(first_difference(wrong, want), HasSubstr("sum of step"));
}

TEST(Training, AnotherOrderOfAdditionsTurnsTheVerdict) {
  const Config c = small();
  const RunResult want = run_reference(digits(), c);
  std::vector<Trainer> trainers;
  for (unsigned r = 0; r < c.ranks; ++r) trainers.emplace_back(digits(), c, r);
  std::vector<float> last;
  for (unsigned step = 0; step < c.steps; ++step) {
    std::vector<std::vector<float>> v(c.ranks, std::vector<float>(c.vector_size()));
    for (unsigned r = 0; r < c.ranks; ++r) trainers[r].compute_gradient(step, v[r].data());
    std::swap(v[0], v[1]);  // rank order 1 0 2 3
    const auto sum = ring_sum(v, &numerics::add_f32);
    for (Trainer& t : trainers) t.apply(step, sum.data());
  }
  EXPECT_NE(digest(trainers[0].weights()), want.digest);
}

TEST(Training, DifferencesAreDescribed) {
  const RunResult a = run_reference(digits(), small());
  const auto changed = [&](const std::function<void(RunResult&)>& f) {
    RunResult b = a;
    f(b);
    return first_difference(b, a);
  };
  EXPECT_EQ(changed([](RunResult& r) { r.loss.pop_back(); }),
            "loss of step: 11 values, reference 12");
  EXPECT_EQ(changed([](RunResult& r) { r.sums.pop_back(); }), "11 steps, reference 12");
  EXPECT_THAT(changed([](RunResult& r) { r.sums[4] ^= 1; }), HasSubstr("sum of step 4: "));
  EXPECT_THAT(changed([](RunResult& r) { r.loss[3] += 1; }), HasSubstr("loss of step 3: "));
  EXPECT_THAT(changed([](RunResult& r) { r.epoch_loss[1] += 1; }), HasSubstr("loss of epoch 1: "));
  EXPECT_THAT(changed([](RunResult& r) { r.weights[7] = -0.0f; }), HasSubstr("weight 7: 80000000"));
  EXPECT_THAT(changed([](RunResult& r) { r.epoch_accuracy[0] = 0; }), HasSubstr("accuracy"));
  EXPECT_THAT(changed([](RunResult& r) { r.accuracy = 0; }), HasSubstr("accuracy 0.000000"));
  EXPECT_THAT(changed([](RunResult& r) { r.digest ^= 1; }), HasSubstr("digest"));
}

}  // namespace
}  // namespace ubl::train
