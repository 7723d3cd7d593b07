// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <stdexcept>

#include "ubl/systemc/capture.hpp"

namespace ubl::systemc {

namespace {

constexpr uint64_t kBitsPerSecond = spec::kLinkFlitBits * (uint64_t{1000000000000} / kClockPs);
constexpr const char* kNoEnd = "cut off: the last flit of this frame is missing";
constexpr const char* kTooLong =
    "cut off: longer than any frame may be; the rest follows as torn frames";
constexpr const char* kTooLate = "cut off: the next flit of this frame did not come for too long";
constexpr const char* kNoStart = "torn: the first flit of this frame is missing";
constexpr size_t kPooledBuffers = 1024;

uint64_t ns_of(Cycle c) { return c * kClockPs / 1000; }

}  // namespace

LinkCapture::LinkCapture(const std::string& path, const Limits& limits)
    : writer_(path, "OpenUBL"), limits_(limits) {}
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
  link.add_tap([this, &port](Cycle now, FlitWords& f) { see(port, now, f); });
}

void LinkCapture::start(Port& port, Cycle now) {
  frames_in_order_.emplace_back();
  Frame& f = frames_in_order_.back();
  f.port = &port;
  f.begin = now;
  if (!pool_.empty()) {
    f.bytes = std::move(pool_.back());
    pool_.pop_back();
    f.bytes.clear();
  }
  port.open = &f;
}

void LinkCapture::end(Port& port, const char* comment) {
  port.open->done = true;
  if (comment != nullptr && port.open->comment[0] == '\0') port.open->comment = comment;
  port.open = nullptr;
}

void LinkCapture::see(Port& port, Cycle now, const FlitWords& flit) {
  if (closed_ || !error_.empty()) return;
  if (flit.sop()) {
    if (port.open != nullptr) end(port, kNoEnd);
    start(port, now);
  } else if (port.open == nullptr) {
    start(port, now);
    port.open->comment = kNoStart;
  }
  Frame& f = *port.open;
  const size_t size = spec::kLinkFlitBytes - (flit.eop() ? flit.empty() : 0);
  f.bytes.insert(f.bytes.end(), flit.bytes(), flit.bytes() + size);
  ++f.flits;
  ++waiting_flits_;
  if (flit.eop()) {
    end(port);
  } else if (f.flits >= limits_.frame_flits) {
    end(port, kTooLong);
    ++cut_frames_;
  } else if (waiting_flits_ <= limits_.waiting_flits) {
    return;
  }
  try {
    write_done();
    while (waiting_flits_ >
           limits_.waiting_flits) {  // the oldest frame is open, or it were written
      end(*frames_in_order_.front().port, kTooLate);
      ++cut_frames_;
      write_done();
    }
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
    waiting_flits_ -= f.flits;
    if (pool_.size() < kPooledBuffers) pool_.push_back(std::move(f.bytes));
    frames_in_order_.pop_front();
  }
}

void LinkCapture::close() {
  if (closed_) return;
  closed_ = true;
  if (!error_.empty()) throw std::runtime_error(error_);
  for (Frame& f : frames_in_order_) {
    if (!f.done) end(*f.port, kNoEnd);
  }
  write_done();
  writer_.close();
}

}  // namespace ubl::systemc
