// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Collectives that only move data: alltoall, allgather, broadcast, gather, scatter. `--bytes` is,
// as in nccl-tests, the larger buffer of a rank; a block is a rank's share of it, rounded down to
// whole elements (broadcast: all of it).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "ublsim/inputs.hpp"
#include "ublsim/ranks.hpp"
#include "ublsim/verify.hpp"
#include "ublsim/workloads.hpp"

namespace ubl::ublsim {

namespace {

using systemc::Cycle;
using Bytes = std::vector<uint8_t>;

struct Move {
  unsigned send_blocks = 1, recv_blocks = 1;  ///< at a rank that uses them
  double bus_factor = 1;                      ///< busbw / algbw, as nccl-tests defines it
  std::function<void(comm::Communicator&, uint64_t send, uint64_t recv, uint64_t count)> call;
  /// What rank's receive buffer must hold; empty when the rank receives nothing.
  std::function<Bytes(const std::vector<Bytes>& in, unsigned rank, uint64_t block)> want;
};

int run_move(const Options& o, const Move& m, bool whole) {
  constexpr uint64_t kElement = 4;
  if (whole && o.bytes % kElement != 0)
    throw UsageError(
        fmt::format("--bytes {}: not a multiple of the element of {} bytes", o.bytes, kElement));
  const unsigned n = o.cards;
  const uint64_t block = whole ? o.bytes : o.bytes / kElement / n * kElement;
  Session s(o);
  Ranks ranks(s);
  std::vector<Bytes> in(n);
  for (unsigned r = 0; r < n; ++r) in[r] = random_bytes(o.seed, r, m.send_blocks * block);
  std::vector<uint64_t> recv(n);
  std::vector<Cycle> begin(n), end(n);
  s.run([&](unsigned rank) {
    Rank host(ranks, rank, true);
    auto& dev = host.device();
    const uint64_t send = dev.hbm_alloc(std::max<uint64_t>(m.send_blocks * block, 64));
    recv[rank] = dev.hbm_alloc(std::max<uint64_t>(m.recv_blocks * block, 64));
    std::memcpy(s.platform().card(rank).hbm().data() + send, in[rank].data(), in[rank].size());
    host.barrier();
    begin[rank] = s.now();
    m.call(host.comm(), send, recv[rank], block / kElement);
    end[rank] = s.now();
    host.barrier();
  });
  Result r;
  if (s.ok()) {
    r.op_cycles =
        *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
    const double ns = systemc::ns_from_cycles(r.op_cycles);
    const uint64_t moved = std::max(m.send_blocks, m.recv_blocks) * block;
    if (ns > 0) {
      r.algbw_GBps = static_cast<double>(moved) / ns;
      r.busbw_GBps = r.algbw_GBps * m.bus_factor;
    }
    flip_results(s, o, recv, m.recv_blocks * block);
    for (unsigned rank = 0; rank < n; ++rank) {
      const Bytes want = m.want(in, rank, block);
      compare(s, rank, recv[rank], want.data(), want.size(), r);
    }
  }
  conclude(s, r);
  return finish(o, s, r);
}

void append(Bytes& out, const Bytes& from, uint64_t at, uint64_t bytes) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
  out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
}

constexpr auto kType = comm::DataType::kFloat32;

double share(const Options& o) { return static_cast<double>(o.cards - 1) / o.cards; }

}  // namespace

int run_alltoall(const Options& o) {
  Move m;
  m.send_blocks = m.recv_blocks = o.cards;
  m.bus_factor = share(o);
  m.call = [](auto& c, uint64_t send, uint64_t recv, uint64_t count) {
    c.all_to_all(send, recv, count, kType);
  };
  m.want = [](const auto& in, unsigned rank, uint64_t block) {
    Bytes w;
    for (const Bytes& b : in) append(w, b, rank * block, block);
    return w;
  };
  return run_move(o, m, false);
}

int run_allgather(const Options& o) {
  Move m;
  m.recv_blocks = o.cards;
  m.bus_factor = share(o);
  m.call = [](auto& c, uint64_t send, uint64_t recv, uint64_t count) {
    c.all_gather(send, recv, count, kType);
  };
  m.want = [](const auto& in, unsigned, uint64_t) {
    Bytes w;
    for (const Bytes& b : in) append(w, b, 0, b.size());
    return w;
  };
  return run_move(o, m, false);
}

int run_broadcast(const Options& o) {
  Move m;
  m.call = [&o](auto& c, uint64_t send, uint64_t recv, uint64_t count) {
    c.broadcast(send, recv, count, kType, o.root);
  };
  m.want = [&o](const auto& in, unsigned, uint64_t) { return in[o.root]; };
  return run_move(o, m, true);
}

int run_gather(const Options& o) {
  Move m;
  m.recv_blocks = o.cards;
  m.bus_factor = share(o);
  m.call = [&o](auto& c, uint64_t send, uint64_t recv, uint64_t count) {
    c.gather(send, recv, count, kType, o.root);
  };
  m.want = [&o](const auto& in, unsigned rank, uint64_t) {
    Bytes w;
    if (rank == o.root)
      for (const Bytes& b : in) append(w, b, 0, b.size());
    return w;
  };
  return run_move(o, m, false);
}

int run_scatter(const Options& o) {
  Move m;
  m.send_blocks = o.cards;
  m.bus_factor = share(o);
  m.call = [&o](auto& c, uint64_t send, uint64_t recv, uint64_t count) {
    c.scatter(send, recv, count, kType, o.root);
  };
  m.want = [&o](const auto& in, unsigned rank, uint64_t block) {
    Bytes w;
    append(w, in[o.root], rank * block, block);
    return w;
  };
  return run_move(o, m, false);
}

}  // namespace ubl::ublsim
