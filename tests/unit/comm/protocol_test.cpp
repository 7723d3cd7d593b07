// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Schedules and their engine over a software fabric, all ranks in one thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ubl/comm/protocol/engine.hpp"
#include "ubl/comm/protocol/schedule.hpp"
#include "ubl/test/comm_mock.hpp"
#include "ubl/test/seed.hpp"

namespace ubl::comm::protocol {
namespace {

using hal::SendRequest;
using test::MockConfig;
using test::World;
using testing::HasSubstr;

std::vector<unsigned> neighbours(unsigned rank, unsigned n) {
  const std::set<unsigned> s{rank, (rank + 1) % n, (rank + n - 1) % n};
  return {s.begin(), s.end()};
}

std::vector<unsigned> everybody(unsigned n) {
  std::vector<unsigned> all(n);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

struct Call {
  uint64_t count = 0;
  bool in_place = true;
};

/// All ranks of a group, each with its engine, advanced in seeded order.
class Group {
 public:
  Group(const MockConfig& mc, Limits limits, EngineConfig ec = {}, bool all_peers = false)
      : world(mc), rng(mc.seed ^ 0x5DEECE66D) {
    limits.stripes = mc.stripes;
    for (unsigned r = 0; r < mc.ranks; ++r) {
      fabrics.push_back(world.fabric(r));
      engines.push_back(std::make_unique<Engine>(
          *fabrics[r], r, mc.ranks, all_peers ? everybody(mc.ranks) : neighbours(r, mc.ranks),
          limits, ec));
    }
    limits.receives = engines[0]->receive_limit();
    this->limits = limits;
    for (auto& e : engines) e->open();
  }

  unsigned ranks() const { return world.config.ranks; }

  /// Every rank runs its list of schedules, each at its own pace. False: stuck.
  bool run(const std::vector<std::vector<Schedule>>& programs) {
    std::vector<size_t> next(ranks(), 0);
    unsigned quiet = 0;
    while (true) {
      bool all = true;
      for (unsigned r = 0; r < ranks(); ++r)
        all &= engines[r]->done() && next[r] == programs[r].size();
      if (all) return true;
      bool moved = false;
      if (rng() % 2 == 0) {
        moved = world.step();
      } else {
        const auto r = static_cast<unsigned>(rng() % ranks());
        if (engines[r]->done() && next[r] < programs[r].size()) {
          engines[r]->start(programs[r][next[r]++]);
          moved = true;
        }
        moved |= engines[r]->progress();
      }
      quiet = moved ? 0 : quiet + 1;
      if (quiet > 200 * (ranks() + 1)) return false;
    }
  }

  std::string waiting() const {
    std::string s;
    for (auto& e : engines) s += e->waiting() + "\n";
    return s;
  }

  World world;
  std::mt19937_64 rng;
  Limits limits;
  std::vector<std::unique_ptr<World::Fabric>> fabrics;
  std::vector<std::unique_ptr<Engine>> engines;
};

/// Runs the calls on a fresh group, all buffers at addresses of their own, and checks every byte.
void check_all_reduce(const MockConfig& config, const Limits& limits,
                      const std::vector<Call>& calls) {
  MockConfig mc = config;
  uint64_t need = 0;
  for (const Call& c : calls) need += 2 * (c.count * 4 + 64);
  mc.memory = need + 4096;
  Group g(mc, limits);
  const unsigned n = mc.ranks;
  std::vector<std::vector<Schedule>> programs(n);
  std::vector<uint64_t> at(n);
  std::vector<std::vector<std::vector<uint32_t>>> inputs;           // call, rank
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> buffers;  // call, rank: send, recv
  for (unsigned r = 0; r < n; ++r) at[r] = mc.base + 4 * (g.rng() % 512);
  for (const Call& c : calls) {
    inputs.emplace_back();
    buffers.emplace_back();
    for (unsigned r = 0; r < n; ++r) {
      inputs.back().push_back(test::random_floats(g.rng, c.count));
      const uint64_t send = at[r];
      const uint64_t recv = c.in_place ? send : send + c.count * 4 + 16;
      at[r] = recv + c.count * 4 + 16;
      g.world.write(r, send, inputs.back()[r]);
      buffers.back().emplace_back(send, recv);
      programs[r].push_back(ring_all_reduce(r, n, send, recv, c.count, g.limits));
    }
  }
  const bool finished = g.run(programs);
  ASSERT_TRUE(finished) << g.waiting();
  EXPECT_THAT(g.world.violations, testing::IsEmpty());
  for (size_t k = 0; k < calls.size(); ++k) {
    const std::vector<uint32_t> want = test::ring_expected(inputs[k]);
    for (unsigned r = 0; r < n; ++r) {
      const auto [send, recv] = buffers[k][r];
      ASSERT_EQ(g.world.read(r, recv, calls[k].count), want)
          << "call " << k << " of " << calls[k].count << ", rank " << r;
      if (!calls[k].in_place) {
        ASSERT_EQ(g.world.read(r, send, calls[k].count), inputs[k][r]);
      }
      const uint64_t end = recv + calls[k].count * 4;
      ASSERT_EQ(g.world.read(r, end, 4), std::vector<uint32_t>(4, 0xA5A5A5A5)) << "after the end";
    }
  }
}

/// Data of every collective that only moves bytes, on a group where all are connected.
void check_moves(unsigned n, unsigned stripes, uint64_t block_words, uint64_t seed) {
  MockConfig mc;
  mc.ranks = n;
  mc.stripes = stripes;
  mc.seed = seed;
  const uint64_t block = block_words * 4;
  const uint64_t room = n * block + 64;
  mc.memory = 11 * room + 4096;
  Group g(mc, Limits{}, {}, true);
  const unsigned root = static_cast<unsigned>(seed % n);
  std::vector<std::vector<Schedule>> programs(n);
  std::vector<std::vector<uint32_t>> in(n);
  const auto at = [&](unsigned area) { return mc.base + area * room; };
  for (unsigned r = 0; r < n; ++r) {
    in[r] = test::random_floats(g.rng, n * block_words);
    g.world.write(r, at(0), in[r]);
    // In place: the own block of area 3, 5 and, at the root, 7 is the input.
    const std::vector<uint32_t> own(in[r].begin(), in[r].begin() + block_words);
    g.world.write(r, at(3) + r * block, own);
    programs[r] = {all_to_all(r, n, at(0), at(1), block),
                   all_gather(r, n, at(0), at(2), block),
                   all_gather(r, n, at(3) + r * block, at(3), block),
                   gather(r, n, root, at(0), at(4), block),
                   scatter(r, n, root, at(0), at(5), block),
                   broadcast(r, n, root, at(0), at(6), n * block, g.limits),
                   all_to_all(r, n, at(1), at(7), block)};
  }
  ASSERT_TRUE(g.run(programs)) << g.waiting();
  EXPECT_THAT(g.world.violations, testing::IsEmpty());
  std::vector<uint32_t> gathered;
  for (unsigned r = 0; r < n; ++r)
    gathered.insert(gathered.end(), in[r].begin(), in[r].begin() + block_words);
  for (unsigned r = 0; r < n; ++r) {
    std::vector<uint32_t> exchanged;
    for (unsigned p = 0; p < n; ++p)
      exchanged.insert(exchanged.end(), in[p].begin() + r * block_words,
                       in[p].begin() + (r + 1) * block_words);
    const std::vector<uint32_t> scattered(in[root].begin() + r * block_words,
                                          in[root].begin() + (r + 1) * block_words);
    ASSERT_EQ(g.world.read(r, at(1), n * block_words), exchanged) << "all_to_all, rank " << r;
    ASSERT_EQ(g.world.read(r, at(2), n * block_words), gathered) << "all_gather, rank " << r;
    ASSERT_EQ(g.world.read(r, at(3), n * block_words), gathered) << "in place, rank " << r;
    if (r == root) {
      ASSERT_EQ(g.world.read(r, at(4), n * block_words), gathered) << "gather";
    }
    ASSERT_EQ(g.world.read(r, at(5), block_words), scattered) << "scatter, rank " << r;
    ASSERT_EQ(g.world.read(r, at(6), n * block_words), in[root]) << "broadcast, rank " << r;
    ASSERT_EQ(g.world.read(r, at(7), n * block_words), in[r]) << "there and back, rank " << r;
    ASSERT_EQ(g.world.read(r, at(0), n * block_words), in[r]) << "input, rank " << r;
  }
}

TEST(Moves, EveryCollectiveOfAnySize) {
  for (const unsigned n : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 16u})
    for (const unsigned stripes : {1u, 8u})
      for (const uint64_t words : {0u, 1u, 3u, 129u, 1237u})
        check_moves(n, stripes, words, test::seed() + n * 100 + stripes + words);
}

/// What reductions promise for elements of block `j`, from the inputs alone.
uint32_t block_sum(const std::vector<std::vector<uint32_t>>& in, unsigned j, size_t i) {
  const size_t n = in.size();
  uint32_t v = in[j][i];
  for (size_t k = 1; k < n; ++k) v = numerics::add_f32(v, in[(j + k) % n][i]);
  return v;
}

/// All direct reductions, in place and not, one after the other.
void check_direct(unsigned n, unsigned stripes, uint64_t count, Direct how, uint64_t slice,
                  uint64_t seed) {
  SCOPED_TRACE(testing::Message() << n << " ranks, " << stripes << " stripes, " << count
                                  << " elements, " << (how == Direct::kSlots ? "slots" : "chained")
                                  << ", slice " << slice);
  MockConfig mc;
  mc.ranks = n;
  mc.stripes = stripes;
  mc.seed = seed;
  mc.cq = 4096;
  const uint64_t total = n * count;
  const uint64_t room = total * 4 + 128;
  const uint64_t scratch_bytes = direct_slots_bytes(n, (count + 1) * 4, true);
  mc.memory = 8 * room + scratch_bytes + 4096;
  Limits limits;
  limits.min_piece = 64 << seed % 3;
  limits.part_bytes = 64 << seed % 7;
  Group g(mc, limits, {}, true);
  const unsigned root = static_cast<unsigned>(seed % n);
  const auto at = [&](unsigned area) { return mc.base + area * room; };
  const Scratch scratch{(at(8) + 63) / 64 * 64, scratch_bytes};
  std::vector<std::vector<Schedule>> programs(n);
  std::vector<std::vector<uint32_t>> in(n);
  for (unsigned r = 0; r < n; ++r) {
    g.engines[r]->set_scratch(std::vector<uint64_t>(n, scratch.base));
    in[r] = test::random_floats(g.rng, total);
    for (const unsigned area : {0, 1, 2, 3}) g.world.write(r, at(area), in[r]);
    programs[r] = {
        reduce_scatter(r, n, at(0), at(4), count, g.limits, how, scratch),
        reduce_scatter(r, n, at(1), at(1) + r * count * 4, count, g.limits, how, scratch),
        direct_all_reduce(r, n, at(0), at(5), total, g.limits, how, scratch),
        direct_all_reduce(r, n, at(2), at(2), total, g.limits, how, scratch)};
    // A vector that does not divide evenly: one element less, if there is one.
    const uint64_t odd = total - std::min<uint64_t>(total, 1);
    for (const bool in_place : {false, true}) {
      const uint64_t from = in_place && r == root ? at(3) : at(0);
      const uint64_t to = in_place ? at(3) : at(6);
      for (uint64_t first = 0; first == 0 || first < count; first += slice)
        programs[r].push_back(
            reduce(r, n, root, from, to, odd, {first, slice}, g.limits, how, scratch));
    }
  }
  ASSERT_TRUE(g.run(programs)) << g.waiting();
  EXPECT_THAT(g.world.violations, testing::IsEmpty());
  std::vector<uint32_t> sums(total);
  for (uint64_t i = 0; i < total; ++i) sums[i] = block_sum(in, static_cast<unsigned>(i / count), i);
  std::vector<std::vector<uint32_t>> odd_in = in;
  for (auto& v : odd_in) v.resize(total - std::min<uint64_t>(total, 1));
  for (unsigned r = 0; r < n; ++r) {
    const std::vector<uint32_t> mine(sums.begin() + r * count, sums.begin() + (r + 1) * count);
    ASSERT_EQ(g.world.read(r, at(4), count), mine) << "reduce_scatter, rank " << r;
    ASSERT_EQ(g.world.read(r, at(1) + r * count * 4, count), mine) << "in place, rank " << r;
    std::vector<uint32_t> rest = in[r];  // of the send buffer
    std::copy(mine.begin(), mine.end(), rest.begin() + r * count);
    ASSERT_EQ(g.world.read(r, at(1), total), rest) << "the other blocks, rank " << r;
    ASSERT_EQ(g.world.read(r, at(5), total), sums) << "all_reduce, rank " << r;
    ASSERT_EQ(g.world.read(r, at(2), total), sums) << "all_reduce in place, rank " << r;
    ASSERT_EQ(g.world.read(r, at(0), total), in[r]) << "input, rank " << r;
    if (r == root) {
      ASSERT_EQ(g.world.read(r, at(6), odd_in[0].size()), test::ring_expected(odd_in));
      ASSERT_EQ(g.world.read(r, at(3), odd_in[0].size()), test::ring_expected(odd_in));
    } else {
      ASSERT_EQ(g.world.read(r, at(3), total), in[r]) << "reduce, rank " << r;
    }
    for (const unsigned area : {4, 5, 6})
      ASSERT_EQ(g.world.read(r, at(area) + total * 4, 4), std::vector<uint32_t>(4, 0xA5A5A5A5));
  }
}

TEST(Direct, EveryReductionOfAnySize) {
  for (const unsigned n : {1u, 2u, 3u, 4u, 5u, 8u, 13u})
    for (const unsigned stripes : {1u, 8u})
      for (const uint64_t count : {0u, 1u, 3u, 157u})
        for (const Direct how : {Direct::kSlots, Direct::kChained})
          check_direct(n, stripes, count, how, count / 2 + 1,
                       test::seed() * 31 + n * 100 + stripes + count);
}

// Scratch that is too small, too many ranks for the completion queue, bad roots.
TEST(Direct, BadArguments) {
  EXPECT_THROW(reduce(0, 4, 4, 0, 0, 4, {}, {}, Direct::kChained, {0, 64}), CommError);
  EXPECT_THROW(reduce(0, 4, 0, 0, 0, 400, {}, {}, Direct::kChained, {0, 64}), CommError);
  EXPECT_NO_THROW(reduce(0, 4, 0, 0, 0, 400, {0, 16}, {}, Direct::kChained, {0, 64}));
  EXPECT_THROW(reduce_scatter(0, 4, 0, 0, 16, {}, Direct::kSlots, {0, 128}), CommError);
  EXPECT_NO_THROW(reduce_scatter(0, 4, 0, 0, 16, {}, Direct::kSlots, {0, 192}));
  EXPECT_THROW(reduce_scatter(4, 4, 0, 0, 16, {}, Direct::kChained, {}), CommError);
  Limits few;
  few.receives = 5;
  EXPECT_THROW(direct_all_reduce(0, 4, 0, 0, 100, few, Direct::kChained, {}), CommError);
}

TEST(Direct, RequestsNameTheScratchOnlyIfThereIsOne) {
  MockConfig mc;
  mc.ranks = 2;
  Group g(mc, {});
  const Schedule s =
      reduce_scatter(0, 2, mc.base, mc.base + 64, 4, {}, Direct::kSlots, {mc.base, 64});
  EXPECT_THROW(g.engines[0]->start(s), CommError);
}

/// Groups of messages drawn at random; every rank appends its own in the order of the draw.
TEST(SendRecv, RandomGroups) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    auto rng = test::rng(seed);
    MockConfig mc;
    mc.ranks = 1 + static_cast<unsigned>(rng() % 6);
    mc.stripes = 1 + static_cast<unsigned>(rng() % 4);
    mc.seed = seed;
    mc.memory = 1 << 20;
    Limits limits;
    limits.min_piece = 64;
    Group g(mc, limits, {}, true);
    const unsigned n = mc.ranks;
    struct Moved {
      unsigned from, to;
      uint64_t source, target, bytes;
    };
    std::vector<Moved> moves;
    std::vector<uint64_t> at(n, mc.base);
    std::vector<std::vector<Schedule>> programs(n);
    for (unsigned group = 0; group < 4; ++group) {
      std::vector<std::vector<Message>> messages(n);
      for (unsigned m = rng() % 12; m > 0; --m) {
        Moved v;
        v.from = static_cast<unsigned>(rng() % n);
        v.to = static_cast<unsigned>(rng() % n);
        v.bytes = rng() % 4 == 0 ? rng() % 3 : rng() % 2000;  // odd, one and no bytes, too
        v.source = at[v.from];
        at[v.from] += v.bytes + rng() % 5;
        v.target = at[v.to];
        at[v.to] += v.bytes + 1;
        messages[v.from].push_back({v.to, true, v.source, v.bytes});
        messages[v.to].push_back({v.from, false, v.target, v.bytes});
        moves.push_back(v);
      }
      for (unsigned r = 0; r < n; ++r) {
        for (Schedule& s : send_recv(r, n, messages[r])) programs[r].push_back(std::move(s));
        // A collective in between: pairs and all of them count together.
        if (group == 1)
          programs[r].push_back(ring_all_reduce(r, n, mc.base + mc.memory - 64,
                                                mc.base + mc.memory - 64, 16, g.limits));
      }
    }
    for (unsigned r = 0; r < n; ++r)
      for (uint64_t a = mc.base; a < at[r]; ++a) *g.world.at(r, a, 1) = static_cast<uint8_t>(rng());
    std::vector<std::vector<uint8_t>> want;
    for (const Moved& v : moves) {
      want.emplace_back(v.bytes);
      for (uint64_t i = 0; i < v.bytes; ++i) want.back()[i] = *g.world.at(v.from, v.source + i, 1);
    }
    ASSERT_TRUE(g.run(programs)) << g.waiting();
    EXPECT_THAT(g.world.violations, testing::IsEmpty());
    for (size_t k = 0; k < moves.size(); ++k)
      for (uint64_t i = 0; i < moves[k].bytes; ++i)
        ASSERT_EQ(*g.world.at(moves[k].to, moves[k].target + i, 1), want[k][i])
            << "message " << k << " byte " << i;
  }
}

TEST(SendRecv, BadArguments) {
  EXPECT_THROW(send_recv(0, 2, {{2, true, 0, 4}}), CommError);
  EXPECT_THROW(send_recv(0, 2, {{0, true, 0, 4}}), CommError);
  EXPECT_THROW(send_recv(0, 2, {{0, true, 0, 4}, {0, false, 64, 8}}), CommError);
  EXPECT_THROW(send_recv(0, 2, {{1, true, 0, (uint64_t{1} << 30) + 1}}), CommError);
  EXPECT_TRUE(send_recv(0, 2, {}).empty());
}

TEST(Moves, BadArguments) {
  EXPECT_THROW(gather(0, 4, 4, 0, 0, 4), CommError);
  EXPECT_THROW(scatter(0, 4, 9, 0, 0, 4), CommError);
  EXPECT_THROW(broadcast(0, 1, 1, 0, 0, 4, Limits{}), CommError);
  EXPECT_THROW(all_to_all(0, 4, 0, 0, (uint64_t{1} << 30) + 1), CommError);
}

std::vector<uint64_t> odd_counts(unsigned n) { return {0, 1, 2, 3, n - 1, n, n + 1, 1000, 1237}; }

class AllReduce : public testing::TestWithParam<std::tuple<unsigned, unsigned>> {};

TEST_P(AllReduce, AnyCountInPlaceOrNot) {
  const auto [ranks, stripes] = GetParam();
  for (const bool in_place : {true, false})
    for (const uint64_t count : odd_counts(ranks)) {
      SCOPED_TRACE(testing::Message() << "count " << count << " in place " << in_place);
      MockConfig mc;
      mc.ranks = ranks;
      mc.stripes = stripes;
      mc.seed = test::seed() * 1000 + count;
      Limits limits;
      limits.min_piece = 64;
      check_all_reduce(mc, limits, {{count, in_place}});
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, AllReduce,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 16),
                                          testing::Values(1, 8)));

// Ranks run ahead of each other through many calls; events between lanes come in any order.
TEST(AllReduceSequence, ManyCallsBackToBack) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    auto rng = test::rng(seed);
    MockConfig mc;
    mc.ranks = 1 + static_cast<unsigned>(rng() % 6);
    mc.stripes = 1 + static_cast<unsigned>(rng() % 4);
    mc.ring = 4u << rng() % 3;
    mc.cq = 512;
    mc.seed = seed;
    Limits limits;
    limits.min_piece = 64 << rng() % 3;
    limits.part_bytes = 64 << rng() % 5;
    limits.max_parts = 1 + static_cast<unsigned>(rng() % 5);
    std::vector<Call> calls;
    for (int k = 0; k < 12; ++k) calls.push_back({rng() % 500, rng() % 2 == 0});
    check_all_reduce(mc, limits, calls);
  }
}

// The handshake repeats the address only when it changes; receives are posted ahead.
TEST(AllReduceSequence, RepeatedCallsAreLean) {
  MockConfig mc;
  mc.ranks = 4;
  mc.stripes = 2;
  mc.cq = 4096;
  Group g(mc, {});
  std::vector<std::vector<Schedule>> programs(mc.ranks);
  constexpr int kCalls = 50;
  for (unsigned r = 0; r < mc.ranks; ++r)
    for (int k = 0; k < kCalls; ++k)
      programs[r].push_back(ring_all_reduce(r, mc.ranks, 0x1000, 0x1000, 64, g.limits));
  ASSERT_TRUE(g.run(programs)) << g.waiting();
  EXPECT_THAT(g.world.violations, testing::IsEmpty());
  for (auto& e : g.engines) {
    EXPECT_EQ(e->stats().handshake_words, kCalls + 1u);
    EXPECT_EQ(e->stats().schedules, static_cast<unsigned>(kCalls));
    EXPECT_EQ(e->sequence(), kCalls);
  }
  EXPECT_LT(g.world.receive_doorbells, mc.ranks * kCalls / 2u);
}

TEST(AllReduceSequence, AddressesBeyond16GiBAndSequenceWrap) {
  MockConfig mc;
  mc.ranks = 2;
  mc.base = (uint64_t{5} << 34) + 4;
  Group g(mc, {});
  std::vector<std::vector<Schedule>> programs(2);
  std::vector<std::vector<uint32_t>> in;
  for (unsigned r = 0; r < 2; ++r) {
    for (int k = 0; k < 0xFFFE; ++k) programs[r].push_back(ring_all_reduce(r, 2, 0, 0, 0, {}));
    for (int k = 0; k < 4; ++k)
      programs[r].push_back(ring_all_reduce(r, 2, mc.base + 64 * r, mc.base + 64 * r, 5, g.limits));
    in.push_back(test::random_floats(g.rng, 5));
    g.world.write(r, mc.base + 64 * r, in[r]);
  }
  ASSERT_TRUE(g.run(programs)) << g.waiting();
  EXPECT_EQ(g.engines[0]->sequence(), 2);
  std::vector<uint32_t> want = test::ring_expected(in);
  for (int k = 1; k < 4; ++k) want = test::ring_expected({want, want});
  EXPECT_EQ(g.world.read(0, mc.base, 5), want);
  EXPECT_EQ(g.world.read(1, mc.base + 64, 5), want);
}

// Long handshakes whose acknowledgements lag behind, in a ring with room for one of them.
TEST(AllReduceSequence, HandshakesWaitForRingSpace) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    MockConfig mc;
    mc.ranks = 3;
    mc.ring = 4;
    mc.seed = seed;
    mc.base = uint64_t{1} << 40;
    Group g(mc, {});
    std::vector<std::vector<Schedule>> programs(3);
    for (unsigned r = 0; r < 3; ++r)
      for (unsigned k = 0; k < 30; ++k)
        programs[r].push_back(
            ring_all_reduce(r, 3, mc.base + 64 * (k % 2), mc.base + 64 * (k % 2), 3, g.limits));
    ASSERT_TRUE(g.run(programs)) << g.waiting();
    ASSERT_THAT(g.world.violations, testing::IsEmpty());
  }
}

// Any step may be waited for, not only the last one on its lane.
TEST(Schedules, StepsMayWaitForCopiesAndSends) {
  MockConfig mc;
  mc.ranks = 2;
  mc.ring = 64;
  Group g(mc, {});
  const uint64_t a = mc.base, b = a + 256, c = b + 256;
  std::vector<std::vector<Schedule>> programs(2);
  Step copy;
  copy.bytes = 256;
  copy.local = a;
  copy.target = b;
  Step again = copy;  // of the copy
  again.local = b;
  again.target = c;
  again.after = {0};
  Step send;
  send.kind = Step::Kind::kSend;
  send.peer = 1;
  send.bytes = 256;
  send.local = c;
  send.after = {1};
  Step last = send;
  last.tag = 1;
  last.local = a;
  last.target = 256;
  last.after = {2};
  programs[0].resize(1);
  programs[0][0].steps = {copy, again, send, last};
  Step receive = send;
  receive.kind = Step::Kind::kReceive;
  receive.peer = 0;
  receive.after.clear();
  Step receive_last = receive;
  receive_last.tag = 1;
  programs[1].resize(1);
  programs[1][0].window = b;
  programs[1][0].steps = {receive, receive_last};
  const auto data = test::random_floats(g.rng, 64);
  g.world.write(0, a, data);
  ASSERT_TRUE(g.run(programs)) << g.waiting();
  EXPECT_EQ(g.world.read(1, b, 64), data);
  EXPECT_EQ(g.world.read(1, c, 64), data);
  EXPECT_EQ(g.engines[0]->stats().bytes_copied, 512u);
  EXPECT_EQ(g.engines[0]->stats().bytes_sent, 512u);
}

TEST(AllReduceSequence, ShortMessagesUseAllStripes) {
  MockConfig mc;
  mc.ranks = 4;
  mc.stripes = 8;
  Group g(mc, {});
  std::vector<std::vector<Schedule>> programs(4);
  for (unsigned r = 0; r < 4; ++r)
    for (int k = 0; k < 8; ++k)
      programs[r].push_back(ring_all_reduce(r, 4, mc.base, mc.base, 4 * 16, g.limits));
  ASSERT_TRUE(g.run(programs)) << g.waiting();
  for (unsigned s = 0; s < 6; ++s) EXPECT_EQ((g.world.bytes_by_stripe[{0, s}]), 8 * 64u);
}

TEST(AllReduceSequence, StripesCarryTheSame) {
  MockConfig mc;
  mc.ranks = 4;
  mc.stripes = 8;
  mc.mtu = 4096;
  mc.memory = 1 << 20;
  Group g(mc, {});
  std::vector<std::vector<Schedule>> programs(4);
  for (unsigned r = 0; r < 4; ++r)
    programs[r].push_back(ring_all_reduce(r, 4, mc.base, mc.base, 200'003, g.limits));
  ASSERT_TRUE(g.run(programs)) << g.waiting();
  for (unsigned r = 0; r < 4; ++r) {
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned s = 0; s < 8; ++s) {
      least = std::min(least, g.world.bytes_by_stripe[{r, s}]);
      most = std::max(most, g.world.bytes_by_stripe[{r, s}]);
    }
    EXPECT_LT(static_cast<double>(most - least), 0.02 * static_cast<double>(most));
  }
}

/// Runs one call; the rank whose code finds an error ends with it.
struct Failure {
  unsigned rank;
  ErrorKind kind;
  std::string message;
};
std::optional<Failure> first_failure(Group& g, const std::vector<std::vector<Schedule>>& programs) {
  for (unsigned r = 0; r < g.ranks(); ++r) g.engines[r]->start(programs[r][0]);
  for (int i = 0; i < 20000; ++i) {
    g.world.step();
    const auto r = static_cast<unsigned>(g.rng() % g.ranks());
    try {
      g.engines[r]->progress();
    } catch (const CommError& e) {
      return Failure{r, e.kind(), e.message()};
    }
  }
  return std::nullopt;
}

std::vector<std::vector<Schedule>> same_call(const Group& g, uint64_t count) {
  std::vector<std::vector<Schedule>> p(g.ranks());
  for (unsigned r = 0; r < g.ranks(); ++r)
    p[r].push_back(ring_all_reduce(r, g.ranks(), 0x1000, 0x1000, count, g.limits));
  return p;
}

TEST(Errors, AFailedCompletionReachesTheCaller) {
  MockConfig mc;
  mc.ranks = 4;
  Group g(mc, {});
  g.world.inject = [](unsigned from, const SendRequest& r) {
    return from == 2 && r.op == SendRequest::Op::kReduceAddF32 ? World::Fate::kFail
                                                               : World::Fate::kDeliver;
  };
  const auto f = first_failure(g, same_call(g, 100));
  ASSERT_TRUE(f.has_value());
  EXPECT_EQ(f->rank, 2u);
  EXPECT_EQ(f->kind, ErrorKind::kDeviceReported);
  EXPECT_THAT(f->message, HasSubstr("to rank 3 failed: timeout"));
}

TEST(Errors, AWrongImmediateIsFound) {
  MockConfig mc;
  mc.ranks = 3;
  Group g(mc, {});
  g.world.inject = [](unsigned from, const SendRequest& r) {
    return from == 0 && r.imm == 0x00010002 ? World::Fate::kWrongImm : World::Fate::kDeliver;
  };
  const auto f = first_failure(g, same_call(g, 100));
  ASSERT_TRUE(f.has_value());
  EXPECT_EQ(f->kind, ErrorKind::kProtocol);
  EXPECT_THAT(f->message, HasSubstr("rank 1, from rank 0 stripe 0"));
  EXPECT_THAT(f->message, HasSubstr("0x00010003 arrived, expected 0x00010002"));
}

TEST(Errors, RanksThatDisagreeOnTheCount) {
  MockConfig mc;
  mc.ranks = 2;
  Group g(mc, {});
  std::vector<std::vector<Schedule>> p(2);
  for (unsigned r = 0; r < 2; ++r)
    p[r].push_back(ring_all_reduce(r, 2, 0x1000, 0x1000, 100 + 10 * r, g.limits));
  const auto f = first_failure(g, p);
  ASSERT_TRUE(f.has_value());
  EXPECT_EQ(f->kind, ErrorKind::kProtocol);
  EXPECT_THAT(f->message, HasSubstr("do the ranks agree on the count?"));
}

TEST(Errors, RanksAtDifferentCollectives) {
  MockConfig mc;
  mc.ranks = 2;
  Group g(mc, {});
  g.engines[0]->start(ring_all_reduce(0, 2, 0x1000, 0x1000, 0, g.limits));
  ASSERT_TRUE(g.engines[0]->done());
  const auto f = first_failure(g, same_call(g, 10));
  ASSERT_TRUE(f.has_value());
  EXPECT_EQ(f->kind, ErrorKind::kProtocol);
  EXPECT_THAT(f->message, HasSubstr("ranks call different collectives"));
}

/// Rank 0 runs blocking, the others in between.
std::optional<Failure> run_blocking(Group& g, uint64_t count) {
  for (unsigned r = 1; r < g.ranks(); ++r) g.engines[r]->start(same_call(g, count)[r][0]);
  g.fabrics[0]->on_wait = [&](uint64_t deadline) {
    bool moved = g.world.step();
    for (unsigned r = 1; r < g.ranks(); ++r) moved |= g.engines[r]->progress();
    if (!moved) g.world.now = std::max(g.world.now, deadline);
  };
  try {
    g.engines[0]->run(same_call(g, count)[0][0]);
  } catch (const CommError& e) {
    return Failure{0, e.kind(), e.message()};
  }
  return std::nullopt;
}

TEST(Errors, NoProgressNamesWhoWaitsForWhom) {
  MockConfig mc;
  mc.ranks = 4;
  mc.stripes = 2;
  Group g(mc, {});
  // Rank 3's second reduce-scatter step never arrives at rank 0 on stripe 1.
  g.world.inject = [](unsigned from, const SendRequest& r) {
    return from == 3 && r.stripe == 1 && r.imm == 0x00010001 ? World::Fate::kLose
                                                             : World::Fate::kDeliver;
  };
  const auto f = run_blocking(g, 4000);
  ASSERT_TRUE(f.has_value());
  EXPECT_EQ(f->kind, ErrorKind::kTimeout);
  EXPECT_THAT(f->message, HasSubstr("rank 0: nothing moved for 20000000 ns"));
  EXPECT_THAT(f->message, HasSubstr("rank 0 of 4 in collective 1 (all_reduce of 4000 f32)"));
  EXPECT_THAT(f->message,
              HasSubstr("rank 3, stripe 1 (mock lane 3.1): immediate 0x00010001, reduce-scatter "
                        "step 1 part 0 (receive of 4000 bytes)"));
  // The others' reports lead to the same place.
  EXPECT_THAT(g.engines[1]->waiting(), HasSubstr("rank 0, stripe 0 (mock lane 0.0): immediate"));
  EXPECT_THAT(g.engines[3]->waiting(), HasSubstr("acknowledgement of request"));
}

TEST(Errors, ARankThatDoesNotCallIsNamed) {
  MockConfig mc;
  mc.ranks = 2;
  Group g(mc, {});
  g.fabrics[0]->on_wait = [&](uint64_t deadline) {
    if (!g.world.step()) g.world.now = std::max(g.world.now, deadline);
  };
  try {
    g.engines[0]->run(same_call(g, 10)[0][0]);
    FAIL() << "finished alone";
  } catch (const CommError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kTimeout);
    EXPECT_THAT(e.message(), HasSubstr("rank 1 to open its window"));
  }
}

TEST(Errors, TheErrorLogIsReadWhenNothingMoves) {
  MockConfig mc;
  mc.ranks = 3;
  Group g(mc, {});
  g.world.logs[0] = {"card 0: icrc on plane 0, QP 3, PSN 17"};
  g.world.inject = [](unsigned from, const SendRequest& r) {
    return from == 2 && r.imm == 0x00010000 ? World::Fate::kLose : World::Fate::kDeliver;
  };
  const auto f = run_blocking(g, 50);
  ASSERT_TRUE(f.has_value());
  EXPECT_EQ(f->kind, ErrorKind::kDeviceReported);
  EXPECT_THAT(f->message, HasSubstr("icrc on plane 0, QP 3, PSN 17"));
  EXPECT_THAT(f->message, HasSubstr("rank 2, stripe 0"));
  EXPECT_LT(g.world.now, 9'000'000u);
}

TEST(Errors, SchedulesThatDoNotFit) {
  EXPECT_THROW(ring_all_reduce(3, 3, 0, 0, 1, {}), CommError);
  Limits small;
  small.receives = 5;
  try {
    ring_all_reduce(0, 4, 0, 0, 100, small);
    FAIL();
  } catch (const CommError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(e.message(), HasSubstr("more than 5 receives"));
  }
  MockConfig mc;
  mc.ranks = 2;
  Group g(mc, {});
  Schedule s;
  s.steps.resize(1);
  s.steps[0].kind = Step::Kind::kSend;
  s.steps[0].peer = 1;
  s.steps[0].kind = Step::Kind::kSendReduce;
  EXPECT_THROW(g.engines[0]->start(s), CommError);  // zero bytes
}

TEST(Schedules, RingOf128CardsFitsTheCompletionQueue) {
  MockConfig mc;
  mc.ranks = 128;
  mc.stripes = 8;
  mc.cq = 4096;
  mc.memory = 64;
  Group g(mc, {});
  for (const uint64_t count : {uint64_t{1}, uint64_t{128}, uint64_t{100'000'000}})
    for (const unsigned r : {0u, 1u, 64u, 127u}) {
      const Schedule s = ring_all_reduce(r, 128, 0x1000, 0x1000, count, g.limits);
      uint64_t receives = 0;
      for (const Step& t : s.steps)
        if (t.kind == Step::Kind::kReceive) receives += cut(t.bytes, t.tag, g.limits).size();
      EXPECT_LE(receives, g.limits.receives);
      if (count == 1) {
        EXPECT_LE(s.steps.size(), 512u);
      }
    }
}

TEST(Schedules, ChunksCoverEverythingOnce) {
  for (const unsigned n : {1u, 2u, 3u, 7u, 16u})
    for (const uint64_t count : {0u, 1u, 2u, 15u, 16u, 17u, 1000u}) {
      EXPECT_EQ(chunk_begin(count, n, 0), 0u);
      EXPECT_EQ(chunk_begin(count, n, n), count);
      for (unsigned c = 0; c < n; ++c) {
        const uint64_t size = chunk_begin(count, n, c + 1) - chunk_begin(count, n, c);
        EXPECT_EQ(size, count / n + (c < count % n ? 1 : 0));
      }
    }
}

TEST(Schedules, PiecesAreEvenAlignedAndOnDifferentStripes) {
  auto rng = test::rng(7);
  for (int i = 0; i < 2000; ++i) {
    Limits l;
    l.stripes = 1 + static_cast<unsigned>(rng() % 9);
    l.min_piece = 1 + rng() % 1000;
    const uint64_t bytes = 1 + rng() % 100'000;
    const auto tag = static_cast<uint16_t>(rng());
    const std::vector<Piece> pieces = cut(bytes, tag, l);
    ASSERT_FALSE(pieces.empty());
    std::set<unsigned> stripes;
    uint64_t at = 0, least = UINT64_MAX, most = 0;
    for (const Piece& p : pieces) {
      EXPECT_EQ(p.offset, at);
      EXPECT_EQ(p.offset % 64, 0u);
      EXPECT_GT(p.bytes, 0u);
      EXPECT_LT(p.stripe, l.stripes);
      EXPECT_TRUE(stripes.insert(p.stripe).second);
      at += p.bytes;
      least = std::min(least, p.bytes);
      most = std::max(most, p.bytes);
    }
    EXPECT_EQ(at, bytes);
    EXPECT_LT(most - least, 128u);
    if (pieces.size() > 1) {
      EXPECT_GE(bytes / pieces.size(), l.min_piece);
    }
  }
}

TEST(Schedules, BigStepsAreCutBelowTheLargestRequest) {
  Limits l;
  l.part_bytes = UINT64_MAX;
  const Schedule s = ring_all_reduce(0, 2, 0x1000, uint64_t{1} << 40, uint64_t{3} << 30, l);
  EXPECT_EQ(s.steps[0].kind, Step::Kind::kCopy);
  for (const Step& t : s.steps) EXPECT_LE(t.bytes, uint64_t{1} << 30);
}

}  // namespace
}  // namespace ubl::comm::protocol
