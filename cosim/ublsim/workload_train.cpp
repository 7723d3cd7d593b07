// SPDX-License-Identifier: Apache-2.0
// Data-parallel training: every rank computes the gradient of its share on the host, the sum goes
// through driver, NIC RTL and switch RTL. Loss, accuracy and weights must equal, bit for bit, those
// of one process that adds the gradients in the documented order.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "ubl/comm/communicator.hpp"
#include "ubl/train/dataset.hpp"
#include "ubl/train/trainer.hpp"
#include "ublsim/data_file.hpp"
#include "ublsim/ranks.hpp"
#include "ublsim/verify.hpp"
#include "ublsim/workloads.hpp"

namespace ubl::ublsim {

int run_train(const Options& given) {
  Options o = given;
  only_defaults(o);
  if (o.steps == 0) throw UsageError("--steps 0: at least one step");
  train::Config cfg;
  cfg.ranks = o.cards;
  cfg.steps = o.steps;
  cfg.seed = o.seed;
  train::Dataset data;
  try {
    data = o.data.empty() ? train::Dataset::load(data_file("train/digits.csv", UBL_TRAIN_DATA))
                          : train::Dataset::load(o.data, 0);
    cfg.check(data.samples.size());
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  } catch (const std::runtime_error& e) {
    throw UsageError(e.what());
  }
  o.bytes = cfg.vector_size() * 4;  // of an all-reduce
  Session s(o);
  Ranks ranks(s, o);
  const unsigned n = s.ranks();
  const size_t count = cfg.vector_size();
  std::vector<train::RunResult> results(n);
  std::vector<uint64_t> comm_cycles(n);
  uint64_t bytes_reduced = 0;
  s.run([&](unsigned rank) {
    Rank host(ranks, rank);
    auto& dev = host.device();
    const uint64_t grad = dev.hbm_alloc(count * 4);
    const auto reduce = [&](unsigned, float* v, size_t k) {
      const auto t0 = s.now();
      dev.write_hbm(grad, v, k * 4);
      host.comm().all_reduce(grad, grad, k, comm::DataType::kFloat32, comm::RedOp::kSum);
      dev.read_hbm(v, grad, k * 4);
      comm_cycles[rank] += s.now() - t0;
      if (rank == 0) bytes_reduced += k * 4 * n;
    };
    train::Progress progress;
    if (rank == 0 && !o.quiet)
      progress = [&](unsigned step, float loss, double accuracy) {
        if (accuracy >= 0)
          fmt::print("step {:4}  loss {:.4f}  test accuracy {:.2f} %  simulated {:.1f} us\n",
                     step + 1, loss, 100 * accuracy, systemc::ns_from_cycles(s.now()) / 1000);
        else if (o.progress && (step + 1) % 5 == 0)
          fmt::print("step {:4}  loss {:.4f}\n", step + 1, loss);
        std::fflush(stdout);
      };
    results[rank] = train::run_rank(data, cfg, rank, reduce, progress);
    host.barrier();
  });
  Result r;
  if (s.ok()) {
    const train::RunResult ref = train::run_reference(data, cfg);
    for (unsigned rank = 0; rank < n; ++rank) {
      const std::string diff = train::first_difference(results[rank], ref);
      if (diff.empty()) continue;
      ++r.mismatches;
      r.errors.push_back(
          fmt::format("rank {} differs from the one-process reference: {}", rank, diff));
    }
    const auto& first = results[0];
    r.op_cycles = *std::max_element(comm_cycles.begin(), comm_cycles.end());
    r.extra["steps"] = o.steps;
    r.extra["loss"] = first.loss;
    r.extra["epoch_loss"] = first.epoch_loss;
    r.extra["epoch_accuracy"] = first.epoch_accuracy;
    r.extra["accuracy"] = first.accuracy;
    r.extra["weights_digest"] = fmt::format("{:016x}", first.digest);
    r.extra["gradient_bytes"] = bytes_reduced;
    r.extra["parameters"] = cfg.parameters();
    if (!o.quiet)
      fmt::print(
          "trained {} parameters for {} steps on {} cards: loss {:.4f}, test accuracy {:.2f} %\n"
          "  gradients     {} bytes all-reduced through the RTL\n"
          "  weights       {:016x}, bit for bit {} the one-process reference\n",
          cfg.parameters(), o.steps, n, first.loss.back(), 100 * first.accuracy, bytes_reduced,
          first.digest, r.mismatches == 0 ? "equal to" : "NOT equal to");
  }
  conclude(s, r);
  return finish(o, s, r);
}

}  // namespace ubl::ublsim
