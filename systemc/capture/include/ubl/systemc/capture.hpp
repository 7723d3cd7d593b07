// SPDX-License-Identifier: Apache-2.0
// Records what enters links as frames of a pcapng file: one interface per link direction, simulated
// time, frames with FCS.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ubl/systemc/link.hpp"
#include "ubl/systemc/pcapng.hpp"

namespace ubl::systemc {

/// Frames appear in the file in the order in which they entered their links, so a frame waits for
/// the end of those that began before it. Links are told in the order of time, all of one cycle in
/// the order of the simulation: the same run gives the same file.
class LinkCapture {
 public:
  using Direction = PcapngWriter::Direction;

  /// Creates the file; std::runtime_error that names it if that is impossible.
  explicit LinkCapture(const std::string& path);
  ~LinkCapture();
  LinkCapture(const LinkCapture&) = delete;
  LinkCapture& operator=(const LinkCapture&) = delete;

  /// Adds a tap to the link. What is captured is what taps added before have made of it. This
  /// object outlives the traffic of the link.
  void attach(Link& link, Direction direction = Direction::kUnknown);

  /// Writes that fail in mid-run must not throw through the simulation: they end the capture, call
  /// this once, and close() throws what happened.
  void on_error(std::function<void(const std::string&)> handler) { on_error_ = std::move(handler); }

  /// Writes what is left: a frame whose end never came is written as far as it came, with a
  /// comment. Throws std::runtime_error that names the file if it could not be written whole.
  void close();

  uint64_t frames() const { return frames_; }  ///< written so far

 private:
  struct Port {
    std::string name;
    Direction direction;
    uint32_t interface;
  };
  struct Frame {
    const Port* port;
    Cycle begin;
    bool done = false;
    const char* comment = "";
    std::vector<uint8_t> bytes;
  };
  void see(const Port& port, Frame*& open, Cycle now, const FlitWords& flit);
  Frame& start(const Port& port, Cycle now);
  void write_done();

  PcapngWriter writer_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::deque<Frame> frames_in_order_;       // deque: references survive push_back and pop_front
  std::vector<std::vector<uint8_t>> pool_;  // buffers of written frames
  std::function<void(const std::string&)> on_error_;
  std::string error_;
  bool closed_ = false;
  uint64_t frames_ = 0;
};

}  // namespace ubl::systemc
