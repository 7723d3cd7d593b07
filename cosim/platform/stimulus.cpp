// SPDX-License-Identifier: Apache-2.0
#include "platform/stimulus.hpp"

namespace ubl::cosim {

uint64_t Stimulus::bytes() const {
  uint64_t n = 0;
  for (const auto& c : chunks_) n += c.size();
  return n;
}

uint8_t* Stimulus::room() {
  if (chunks_.empty() || kChunk - used_ < kLargest) {
    if (!chunks_.empty()) chunks_.back().resize(used_);
    chunks_.emplace_back(kChunk);
    used_ = 0;
  }
  return chunks_.back().data() + used_;
}

void Stimulus::commit(const uint8_t* end) {
  used_ = static_cast<size_t>(end - chunks_.back().data());
}

namespace {

/// Any of the models; one of the pointers is set.
struct AnyBox {
  BoxKind kind;
  std::unique_ptr<Vhost_if> host_if;
  std::unique_ptr<Vnic_core> nic_core;
  std::unique_ptr<Vnic_port> nic_port;
  std::unique_ptr<Vubl_switch16> switch16;
  std::unique_ptr<Vubl_switch128> switch128;
  systemc::Hash outputs;
};

}  // namespace

struct Replay::Models {
  std::vector<AnyBox> boxes;
};

Replay::Replay(const Stimulus& stimulus)
    : stimulus_(stimulus), models_(std::make_unique<Models>()) {
  for (const auto& b : stimulus.boxes()) {
    AnyBox box{};
    box.kind = b.kind;
    switch (b.kind) {
      case BoxKind::kHostIf:
        box.host_if = std::make_unique<Vhost_if>();
        break;
      case BoxKind::kNicCore:
        box.nic_core = std::make_unique<Vnic_core>();
        break;
      case BoxKind::kNicPort:
        box.nic_port = std::make_unique<Vnic_port>();
        break;
      case BoxKind::kSwitch16:
        box.switch16 = std::make_unique<Vubl_switch16>();
        break;
      case BoxKind::kSwitch128:
        box.switch128 = std::make_unique<Vubl_switch128>();
        break;
    }
    models_->boxes.push_back(std::move(box));
  }
}

Replay::~Replay() = default;

void Replay::run(bool check) {
  const auto& chunks = stimulus_.chunks();
  const uint8_t* p = nullptr;
  const uint8_t* end = nullptr;
  size_t chunk = 0;
  auto go = [&](auto& m, AnyBox& box) {
    p = Stimulus::apply(m, p);
    clock_model(m);
    if (check) hash_outputs(m, box.outputs);
  };
  for (uint64_t n = stimulus_.entries(); n != 0; --n) {
    if (p == end) {
      p = chunks[chunk].data();
      end = p + stimulus_.chunk_used(chunk);
      ++chunk;
    }
    uint32_t id = 0;
    std::memcpy(&id, p, sizeof(id));
    p += sizeof(id);
    AnyBox& box = models_->boxes[id];
    switch (box.kind) {
      case BoxKind::kHostIf:
        go(*box.host_if, box);
        break;
      case BoxKind::kNicCore:
        go(*box.nic_core, box);
        break;
      case BoxKind::kNicPort:
        go(*box.nic_port, box);
        break;
      case BoxKind::kSwitch16:
        go(*box.switch16, box);
        break;
      case BoxKind::kSwitch128:
        go(*box.switch128, box);
        break;
    }
  }
}

int Replay::mismatch() const {
  for (size_t i = 0; i < models_->boxes.size(); ++i)
    if (models_->boxes[i].outputs.value() != stimulus_.boxes()[i].outputs.value())
      return static_cast<int>(i);
  return -1;
}

}  // namespace ubl::cosim
