// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Two cards over the driver alone: card 0 WRITEs with immediate, then SENDs; card 1 checks.
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "ubl/driver/device.hpp"
#include "ubl/sim/simulation.hpp"
#include "ubl/spec/link.hpp"

using namespace ubl;

// What the two programs tell each other outside of the network. They take turns in one thread, so
// a plain struct is enough; on two hosts this is a socket.
struct Shared {
  struct Peer {
    uint16_t node = 0;
    uint32_t qpn = 0, psn = 0, rkey = 0;
    uint64_t addr = 0;
  } peer[2];
  unsigned arrived = 0;
};

// Returns when both cards have called it `n` times.
void meet(Shared& shared, driver::Transport& transport, unsigned n) {
  ++shared.arrived;
  while (shared.arrived < 2 * n) transport.wait(transport.now_ns() + 1000);
}

spec::Cqe next_completion(driver::Device& card, driver::Cq& cq, driver::Qp& qp) {
  auto& transport = card.transport();
  const uint64_t deadline = transport.now_ns() + 10'000'000;
  for (;;) {
    if (const auto cqe = cq.poll()) {
      qp.on_completion(*cqe);  // frees ring space
      const auto status = static_cast<spec::CqeStatus>(cqe->status);
      if (status != spec::CqeStatus::kOk) throw std::runtime_error(spec::to_string(status));
      return *cqe;
    }
    if (transport.now_ns() >= deadline) throw std::runtime_error("no completion within 10 ms");
    transport.wait(deadline);  // until the card wrote something
  }
}

void must(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

void program(unsigned rank, driver::Transport& transport, Shared& shared) {
  constexpr uint32_t kBytes = 10000;
  driver::Device card(transport);
  auto& cq = card.create_cq(8);  // 2^8 entries
  driver::QpConfig config;
  config.scq = config.rcq = cq.cqn();
  config.rq_log2 = 4;  // takes SENDs: a receive ring of 2^4 entries
  auto& qp = card.create_qp(config);
  const uint64_t buffer = card.hbm_alloc(2 * kBytes);
  const auto mr = card.register_mr(buffer, 2 * kBytes);

  const uint32_t first_psn = 100 + rank;
  shared.peer[rank] = {card.node(), qp.qpn(), first_psn, mr.key, buffer};
  meet(shared, transport, 1);
  const auto peer = shared.peer[1 - rank];
  qp.connect(peer.node, peer.qpn, first_psn, peer.psn);
  if (rank == 1) {
    qp.post_recv({0, 0, 0, 7});                          // for the immediate: needs no buffer
    qp.post_recv({buffer + kBytes, kBytes, mr.key, 8});  // for the SEND
    qp.ring_receives();
  }
  meet(shared, transport, 2);  // a SEND must find a receive

  std::vector<uint8_t> data(kBytes);
  for (uint32_t i = 0; i < kBytes; ++i) data[i] = static_cast<uint8_t>(i * 7);
  if (rank == 0) {
    card.write_hbm(buffer, data.data(), kBytes);
    spec::Wqe write;
    write.opcode = static_cast<uint8_t>(spec::WqeOp::kWriteImm);
    write.signalled = 1;
    write.vc = static_cast<uint8_t>(spec::Vc::kBulk);
    write.length = kBytes;
    write.laddr = buffer;
    write.lkey = mr.key;
    write.raddr = peer.addr;
    write.rkey = peer.rkey;
    write.imm = 42;
    write.wr_id = 1;
    qp.post(write);
    spec::Wqe send;  // needs no remote address
    send.opcode = static_cast<uint8_t>(spec::WqeOp::kSend);
    send.signalled = 1;
    send.vc = static_cast<uint8_t>(spec::Vc::kBulk);
    send.length = kBytes;
    send.laddr = buffer;
    send.lkey = mr.key;
    send.wr_id = 2;
    qp.post(send);
    qp.ring();  // one doorbell for both
    must(next_completion(card, cq, qp).wr_id == 1, "the WRITE completes first");
    must(next_completion(card, cq, qp).wr_id == 2, "then the SEND");
  } else {
    const auto first = next_completion(card, cq, qp);
    must(first.recv == 1 && first.wr_id == 7 && first.imm == 42, "the immediate comes first");
    const auto second = next_completion(card, cq, qp);
    must(second.recv == 1 && second.wr_id == 8 && second.byte_len == kBytes, "then the message");
    std::vector<uint8_t> got(kBytes);
    card.read_hbm(got.data(), buffer, kBytes);
    must(got == data, "bytes of the WRITE");
    card.read_hbm(got.data(), buffer + kBytes, kBytes);
    must(got == data, "bytes of the SEND");
  }
  meet(shared, transport, 3);  // a device stays open until the peer has its acknowledgements
}

int main() {
  sim::Options options;
  options.cards = 2;
  options.planes = 1;
  sim::Simulation simulation(options);
  Shared shared;
  try {
    simulation.run([&](unsigned rank) { program(rank, simulation.transport(rank), shared); });
  } catch (const std::exception& e) {
    std::printf("failed: %s\n", e.what());
    return 1;
  }
  std::printf("WRITE and SEND arrived, %.1f us simulated\n", simulation.now_ns() / 1000);
  return 0;
}
