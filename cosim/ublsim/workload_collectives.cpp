// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Collectives and sendrecv. `--bytes` is, as in nccl-tests, the larger buffer of a rank; a block is
// a rank's share of it, rounded down to whole elements (allreduce, broadcast, reduce and sendrecv:
// all of it). Where the input is not the place of the result, it must be unchanged afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "ubl/comm/card_all_reduce.hpp"
#include "ubl/comm/communicator.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ublsim/inputs.hpp"
#include "ublsim/ranks.hpp"
#include "ublsim/verify.hpp"
#include "ublsim/workloads.hpp"

namespace ubl::ublsim {

namespace {

using systemc::Cycle;
using Bytes = std::vector<uint8_t>;

/// One buffer of a rank is a block of the other.
struct InPlace {
  bool send_in_recv = false;  ///< or the other way round
  unsigned block = 0;
};

struct Collective {
  unsigned send_blocks = 1, recv_blocks = 1;  ///< at a rank that uses them
  bool whole = false;                         ///< a block is all of --bytes
  bool sum = false;
  bool all_peers = true;
  bool in_place = false;  ///< unless the user says otherwise
  double bus_factor = 1;  ///< busbw / algbw, as nccl-tests defines it
  /// Buffers of a rank when in place; nothing: the rank's buffers are apart all the same.
  std::function<std::optional<InPlace>(unsigned rank)> layout;
  std::function<void(comm::Communicator&, uint64_t send, uint64_t recv, uint64_t count)> call;
  /// What rank's receive buffer must hold; empty when the rank receives nothing.
  std::function<Bytes(const std::vector<Bytes>& in, unsigned rank, uint64_t block)> want;
};

void append(Bytes& out, const Bytes& from, uint64_t at, uint64_t bytes) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
  out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
}

comm::DataType data_type(const Options& o) {
  for (int t = 0; comm::size_of(static_cast<comm::DataType>(t)) != 0; ++t)
    if (o.dtype == comm::to_string(static_cast<comm::DataType>(t)))
      return static_cast<comm::DataType>(t);
  throw UsageError(fmt::format("--dtype {}: not known", o.dtype));
}

double share(const Options& o) { return static_cast<double>(o.cards - 1) / o.cards; }

/// Sum of `count` elements over all ranks. Chunk c of them, as ring_all_reduce cuts, is added from
/// rank c on: ((x[c] + x[c+1]) + x[c+2]) + ...
Bytes sum_of(const std::vector<Bytes>& in) {
  const auto n = static_cast<unsigned>(in.size());
  const uint64_t count = in[0].size() / 4;
  Bytes out(count * 4);
  const auto element = [&](unsigned rank, uint64_t i) {
    uint32_t v = 0;
    std::memcpy(&v, in[rank].data() + i * 4, 4);
    return v;
  };
  for (unsigned c = 0; c < n; ++c)
    for (uint64_t i = comm::protocol::chunk_begin(count, n, c);
         i < comm::protocol::chunk_begin(count, n, c + 1); ++i) {
      uint32_t v = element(c, i);
      for (unsigned k = 1; k < n; ++k) v = numerics::add_f32(element((c + k) % n, i), v);
      std::memcpy(out.data() + i * 4, &v, 4);
    }
  return out;
}

Bytes input(const Options& o, const Collective& c, unsigned rank, uint64_t bytes) {
  if (!c.sum) return random_bytes(o.seed, rank, bytes);
  const std::vector<uint32_t> v = random_f32(o.seed, rank, bytes / 4);
  Bytes b(bytes);
  if (!v.empty()) std::memcpy(b.data(), v.data(), bytes);
  return b;
}

int run_collective(const Options& o, const Collective& c) {
  const comm::DataType type = data_type(o);
  const uint64_t element = comm::size_of(type);
  if (c.sum && type != comm::DataType::kFloat32)
    throw UsageError(fmt::format("--dtype {}: {} adds only f32 so far", o.dtype, o.workload));
  if (c.whole && o.bytes % element != 0)
    throw UsageError(
        fmt::format("--bytes {}: not a multiple of the element of {} bytes", o.bytes, element));
  if (o.bytes > (uint64_t{1} << 30))
    throw UsageError(fmt::format("--bytes {}: {} takes at most 1 GiB", o.bytes, o.workload));
  const bool in_place = o.in_place.value_or(c.in_place);
  if (o.offload == "nic" && !in_place)
    throw UsageError("--out-of-place: --offload nic is in place");
  if (in_place && !c.layout)
    throw UsageError(fmt::format("--in-place: {} cannot be in place", o.workload));
  const unsigned n = o.cards;
  const uint64_t block = c.whole ? o.bytes : o.bytes / element / n * element;
  const uint64_t send_bytes = c.send_blocks * block, recv_bytes = c.recv_blocks * block;
  Session s(o);
  Ranks ranks(s, o);
  std::vector<Bytes> in(n);
  for (unsigned r = 0; r < n; ++r) in[r] = input(o, c, r, send_bytes);
  std::vector<uint64_t> send(n), recv(n);
  std::vector<bool> apart(n, true);
  std::vector<Cycle> begin(n), end(n);
  // What the host did for it.
  struct Work {
    uint64_t busy_ps = 0, mmio_writes = 0;
    Work operator-(const Work& o) const {
      return {busy_ps - o.busy_ps, mmio_writes - o.mmio_writes};
    }
  };
  const auto work_of = [&s](unsigned rank) {
    return Work{s.transport(rank).busy_ps(), s.platform().card(rank).pcie().mmio_writes};
  };
  std::vector<Work> prepared(n), called(n);
  s.run([&](unsigned rank) {
    Rank host(ranks, rank, c.all_peers);
    auto& dev = host.device();
    const auto alloc = [&](uint64_t bytes) { return dev.hbm_alloc(std::max<uint64_t>(bytes, 64)); };
    const auto shared = in_place ? c.layout(rank) : std::nullopt;
    if (!shared) {
      send[rank] = alloc(send_bytes);
      recv[rank] = alloc(recv_bytes);
    } else if (shared->send_in_recv) {
      recv[rank] = alloc(recv_bytes);
      send[rank] = recv[rank] + shared->block * block;
    } else {
      send[rank] = alloc(send_bytes);
      recv[rank] = send[rank] + shared->block * block;
    }
    apart[rank] = !shared;
    std::optional<comm::CardAllReduce> on_card;
    if (o.offload == "nic") {
      comm::CardAllReduceConfig config;
      config.planes = static_cast<uint8_t>((1u << s.platform().num_planes()) - 1);
      on_card.emplace(rank, n, dev, ranks.bootstrap, config);
      const auto before = work_of(rank);
      on_card->prepare(recv[rank], block / element);
      prepared[rank] = work_of(rank) - before;
    }
    // Inputs are there when the measurement begins, as after a backward pass.
    std::copy(in[rank].begin(), in[rank].end(), s.platform().card(rank).hbm().data() + send[rank]);
    host.barrier();
    const auto before = work_of(rank);
    begin[rank] = s.now();
    if (on_card) {
      on_card->start();
      on_card->wait();
    } else {
      c.call(host.comm(), send[rank], recv[rank], block / element);
    }
    end[rank] = s.now();
    called[rank] = work_of(rank) - before;
    host.barrier();
  });
  Result r;
  if (s.ok()) {
    r.op_cycles =
        *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
    const double ns = systemc::ns_from_cycles(r.op_cycles);
    if (ns > 0) {
      r.algbw_GBps = static_cast<double>(std::max(send_bytes, recv_bytes)) / ns;
      r.busbw_GBps = r.algbw_GBps * c.bus_factor;
    }
    for (unsigned rank = 0; rank < n; ++rank) {
      const Bytes want = c.want(in, rank, block);
      compare_result(s, rank, recv[rank], want.data(), want.size(), r);
      if (apart[rank]) compare(s, rank, send[rank], in[rank].data(), send_bytes, r);
    }
  }
  r.extra["in_place"] = in_place;
  // Of the rank that had most to do.
  const auto most = [](const std::vector<Work>& all) {
    Work m;
    for (const Work& w : all) {
      m.busy_ps = std::max(m.busy_ps, w.busy_ps);
      m.mmio_writes = std::max(m.mmio_writes, w.mmio_writes);
    }
    return nlohmann::ordered_json{{"busy_ns", static_cast<double>(m.busy_ps) / 1000},
                                  {"mmio_writes", m.mmio_writes}};
  };
  r.extra["host_call"] = most(called);
  if (o.workload == "allreduce") {
    r.extra["offload"] = o.offload;
    if (o.offload == "nic") r.extra["host_prepare"] = most(prepared);
    if (!o.quiet && s.ok()) {
      fmt::print("host work of the call: {:.0f} ns, {} writes to the card",
                 r.extra["host_call"]["busy_ns"].get<double>(),
                 r.extra["host_call"]["mmio_writes"].get<uint64_t>());
      if (o.offload == "nic")
        fmt::print("; to prepare it: {:.0f} ns, {} writes",
                   r.extra["host_prepare"]["busy_ns"].get<double>(),
                   r.extra["host_prepare"]["mmio_writes"].get<uint64_t>());
      fmt::print("\n");
    }
  }
  conclude(s, r);
  return finish(o, s, r);
}

std::optional<InPlace> same(unsigned) { return InPlace{}; }

}  // namespace

int run_allreduce(const Options& o) {
  Collective c;
  c.whole = c.sum = c.in_place = true;
  c.all_peers = o.algo == "auto" ? comm::Communicator::direct_pays(o.cards, o.planes, o.bytes)
                                 : o.algo != "ring";
  c.bus_factor = 2 * share(o);
  c.layout = same;
  c.call = [](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    comm.all_reduce(send, recv, count);
  };
  Bytes sums;  // the same for all
  c.want = [&sums](const auto& in, unsigned rank, uint64_t) {
    if (rank == 0) sums = sum_of(in);
    return sums;
  };
  return run_collective(o, c);
}

int run_reducescatter(const Options& o) {
  Collective c;
  c.sum = true;
  c.send_blocks = o.cards;
  c.bus_factor = share(o);
  c.layout = [](unsigned rank) { return InPlace{false, rank}; };
  c.call = [](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    comm.reduce_scatter(send, recv, count);
  };
  Bytes sums;  // blocks of equal size are the chunks
  c.want = [&sums](const auto& in, unsigned rank, uint64_t block) {
    if (rank == 0) sums = sum_of(in);
    Bytes w;
    append(w, sums, rank * block, block);
    return w;
  };
  return run_collective(o, c);
}

int run_reduce(const Options& o) {
  Collective c;
  c.whole = c.sum = true;
  c.layout = [&o](unsigned rank) {
    return rank == o.root ? std::optional(InPlace{}) : std::nullopt;
  };
  c.call = [&o](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    comm.reduce(send, recv, count, comm::DataType::kFloat32, comm::RedOp::kSum, o.root);
  };
  c.want = [&o](const auto& in, unsigned rank, uint64_t) {
    return rank == o.root ? sum_of(in) : Bytes();
  };
  return run_collective(o, c);
}

int run_alltoall(const Options& o) {
  Collective c;
  c.send_blocks = c.recv_blocks = o.cards;
  c.bus_factor = share(o);
  c.call = [type = data_type(o)](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    comm.all_to_all(send, recv, count, type);
  };
  c.want = [](const auto& in, unsigned rank, uint64_t block) {
    Bytes w;
    for (const Bytes& b : in) append(w, b, rank * block, block);
    return w;
  };
  return run_collective(o, c);
}

int run_allgather(const Options& o) {
  Collective c;
  c.recv_blocks = o.cards;
  c.bus_factor = share(o);
  c.layout = [](unsigned rank) { return InPlace{true, rank}; };
  c.call = [type = data_type(o)](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    comm.all_gather(send, recv, count, type);
  };
  c.want = [](const auto& in, unsigned, uint64_t) {
    Bytes w;
    for (const Bytes& b : in) append(w, b, 0, b.size());
    return w;
  };
  return run_collective(o, c);
}

int run_broadcast(const Options& o) {
  Collective c;
  c.whole = true;
  c.all_peers = false;
  c.layout = same;
  c.call = [&o, type = data_type(o)](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    comm.broadcast(send, recv, count, type, o.root);
  };
  c.want = [&o](const auto& in, unsigned, uint64_t) { return in[o.root]; };
  return run_collective(o, c);
}

int run_gather(const Options& o) {
  Collective c;
  c.recv_blocks = o.cards;
  c.bus_factor = share(o);
  c.layout = [&o](unsigned rank) {
    return rank == o.root ? std::optional(InPlace{true, rank}) : std::nullopt;
  };
  c.call = [&o, type = data_type(o)](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    comm.gather(send, recv, count, type, o.root);
  };
  c.want = [&o](const auto& in, unsigned rank, uint64_t) {
    Bytes w;
    if (rank == o.root)
      for (const Bytes& b : in) append(w, b, 0, b.size());
    return w;
  };
  return run_collective(o, c);
}

int run_scatter(const Options& o) {
  Collective c;
  c.send_blocks = o.cards;
  c.bus_factor = share(o);
  c.layout = [&o](unsigned rank) {
    return rank == o.root ? std::optional(InPlace{false, rank}) : std::nullopt;
  };
  c.call = [&o, type = data_type(o)](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    comm.scatter(send, recv, count, type, o.root);
  };
  c.want = [&o](const auto& in, unsigned rank, uint64_t block) {
    Bytes w;
    append(w, in[o.root], rank * block, block);
    return w;
  };
  return run_collective(o, c);
}

int run_sendrecv(const Options& o) {
  Collective c;
  c.whole = true;
  c.all_peers = false;
  const uint64_t element = comm::size_of(data_type(o));
  c.call = [element](auto& comm, uint64_t send, uint64_t recv, uint64_t count) {
    const unsigned n = comm.size();
    comm.send_recv({{(comm.rank() + 1) % n, true, send, count * element},
                    {(comm.rank() + n - 1) % n, false, recv, count * element}});
  };
  c.want = [](const auto& in, unsigned rank, uint64_t) {
    return in[(rank + in.size() - 1) % in.size()];
  };
  return run_collective(o, c);
}

}  // namespace ubl::ublsim
