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

  /// What is kept in memory at most, whatever happens on the links.
  struct Limits {
    size_t frame_flits = 4 * spec::kLinkMaxFrameFlits;  ///< a frame without end is cut here
    size_t waiting_flits = 1 << 20;  ///< all that waits for the end of the oldest frame; then that
                                     ///< one is cut: its link may be dead
  };

  /// Creates the file; std::runtime_error that names it if that is impossible.
  explicit LinkCapture(const std::string& path) : LinkCapture(path, Limits()) {}
  LinkCapture(const std::string& path, const Limits& limits);
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
  /// Of these, cut by a limit: written as far as they came, with a comment. What comes of them
  /// later is in the file, too, as torn frames.
  uint64_t cut_frames() const { return cut_frames_; }
  size_t waiting_flits() const { return waiting_flits_; }

 private:
  struct Frame;
  struct Port {
    std::string name;
    Direction direction;
    uint32_t interface;
    Frame* open = nullptr;  // in frames_in_order_
  };
  struct Frame {
    Port* port;
    Cycle begin;
    bool done = false;
    const char* comment = "";
    size_t flits = 0;
    std::vector<uint8_t> bytes;
  };
  void see(Port& port, Cycle now, const FlitWords& flit);
  void start(Port& port, Cycle now);
  /// The open frame of a port is complete, or as complete as it gets.
  void end(Port& port, const char* comment = nullptr);
  void write_done();

  PcapngWriter writer_;
  std::vector<std::unique_ptr<Port>> ports_;
  Limits limits_;
  std::deque<Frame> frames_in_order_;       // deque: references survive push_back and pop_front
  size_t waiting_flits_ = 0;                // in them
  std::vector<std::vector<uint8_t>> pool_;  // some buffers of written frames
  std::function<void(const std::string&)> on_error_;
  std::string error_;
  bool closed_ = false;
  uint64_t frames_ = 0, cut_frames_ = 0;
};

}  // namespace ubl::systemc
