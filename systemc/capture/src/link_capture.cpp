// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <stdexcept>

#include "ubl/systemc/capture.hpp"

namespace ubl::systemc {

namespace {

constexpr uint64_t kBitsPerSecond = spec::kLinkFlitBits * (uint64_t{1000000000000} / kClockPs);
constexpr const char* kNoEnd = "cut off: the last flit of this frame is missing";
constexpr const char* kNoStart = "torn: the first flit of this frame is missing";

uint64_t ns_of(Cycle c) { return c * kClockPs / 1000; }

}  // namespace

LinkCapture::LinkCapture(const std::string& path) : writer_(path, "OpenUBL") {}
LinkCapture::~LinkCapture() {
  try {
    close();
  } catch (const std::exception&) {  // whoever cares calls close()
  }
}

void LinkCapture::attach(Link& link, Direction direction) {
  ports_.push_back(std::make_unique<Port>());
  Port& port = *ports_.back();
  port.name = link.name();
  port.direction = direction;
  PcapngWriter::Interface interface;
  interface.name = port.name;
  interface.bits_per_second = kBitsPerSecond;
  interface.fcs_bytes = spec::kLinkFcsBytes;
  port.interface = writer_.add_interface(interface);
  link.add_tap([this, &port, open = static_cast<Frame*>(nullptr)](Cycle now, FlitWords& f) mutable {
    see(port, open, now, f);
  });
}

LinkCapture::Frame& LinkCapture::start(const Port& port, Cycle now) {
  frames_in_order_.emplace_back();
  Frame& f = frames_in_order_.back();
  f.port = &port;
  f.begin = now;
  if (!pool_.empty()) {
    f.bytes = std::move(pool_.back());
    pool_.pop_back();
    f.bytes.clear();
  }
  return f;
}

void LinkCapture::see(const Port& port, Frame*& open, Cycle now, const FlitWords& flit) {
  if (closed_ || !error_.empty()) return;
  if (flit.sop()) {
    if (open != nullptr) {
      open->done = true;
      open->comment = kNoEnd;
    }
    open = &start(port, now);
  } else if (open == nullptr) {
    open = &start(port, now);
    open->comment = kNoStart;
  }
  const size_t size = spec::kLinkFlitBytes - (flit.eop() ? flit.empty() : 0);
  open->bytes.insert(open->bytes.end(), flit.bytes(), flit.bytes() + size);
  if (!flit.eop()) return;
  open->done = true;
  open = nullptr;
  try {
    write_done();
  } catch (const std::runtime_error& e) {
    error_ = e.what();
    if (on_error_) on_error_(error_);
  }
}

void LinkCapture::write_done() {
  while (!frames_in_order_.empty() && frames_in_order_.front().done) {
    Frame& f = frames_in_order_.front();
    writer_.write(f.port->interface, ns_of(f.begin), f.bytes.data(), f.bytes.size(),
                  f.port->direction, f.comment);
    ++frames_;
    pool_.push_back(std::move(f.bytes));
    frames_in_order_.pop_front();
  }
}

void LinkCapture::close() {
  if (closed_) return;
  closed_ = true;
  if (!error_.empty()) throw std::runtime_error(error_);
  for (Frame& f : frames_in_order_) {
    if (f.done) continue;
    f.done = true;
    f.comment = kNoEnd;
  }
  write_done();
  writer_.close();
}

}  // namespace ubl::systemc
