// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ubl/comm/communicator.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ubl/train/trainer.hpp"
#include "ublsim/inputs.hpp"
#include "ublsim/ranks.hpp"
#include "ublsim/verify.hpp"
#include "ublsim/workloads.hpp"

namespace ubl::ublsim {

using systemc::Cycle;

int run_allreduce(const Options& o) {
  if (o.bytes % 4 != 0)
    throw UsageError(fmt::format("--bytes {}: allreduce of f32 needs a multiple of 4", o.bytes));
  const uint64_t count = o.bytes / 4;
  Session s(o);
  Ranks ranks(s);
  const unsigned n = s.ranks();
  std::vector<std::vector<uint32_t>> in(n);
  for (unsigned r = 0; r < n; ++r) in[r] = random_f32(o.seed, r, count);
  std::vector<uint64_t> addr(n);
  std::vector<Cycle> begin(n), end(n);
  s.run([&](unsigned rank) {
    Rank host(ranks, rank);
    addr[rank] = host.device().hbm_alloc(std::max<uint64_t>(o.bytes, 64));
    // Inputs are there when the measurement begins, as after a backward pass.
    std::memcpy(s.platform().card(rank).hbm().data() + addr[rank], in[rank].data(), o.bytes);
    host.barrier();
    begin[rank] = s.now();
    host.comm().all_reduce(addr[rank], addr[rank], count, comm::DataType::kFloat32,
                           comm::RedOp::kSum);
    end[rank] = s.now();
    host.barrier();
  });
  Result r;
  if (s.ok()) {
    r.op_cycles =
        *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
    const double ns = systemc::ns_from_cycles(r.op_cycles);
    if (ns > 0) {
      r.algbw_GBps = static_cast<double>(o.bytes) / ns;
      r.busbw_GBps = r.algbw_GBps * 2 * (n - 1) / n;
    }
    flip_results(s, o, addr, o.bytes);
    // Ring order: an element of chunk c is ((x[c] + x[c+1]) + x[c+2]) + ...
    std::vector<uint32_t> want(count);
    for (unsigned c = 0; c < n; ++c) {
      const size_t from = train::ring_chunk_begin(count, n, c);
      const size_t to = train::ring_chunk_begin(count, n, c + 1);
      for (size_t i = from; i < to; ++i) {
        uint32_t v = in[c][i];
        for (unsigned k = 1; k < n; ++k) v = numerics::add_f32(in[(c + k) % n][i], v);
        want[i] = v;
      }
    }
    for (unsigned rank = 0; rank < n; ++rank) compare(s, rank, addr[rank], want.data(), o.bytes, r);
  }
  conclude(s, r);
  return finish(o, s, r);
}

}  // namespace ubl::ublsim
