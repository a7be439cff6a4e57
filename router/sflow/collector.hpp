// One collector: a UDP socket that is connected to it, so that its host's refusals are heard, and
// what became of the datagrams. Never waits. Control thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "config/file/endpoint.hpp"

namespace hecto::router {

class NetworkNamespace;

class Collector {
 public:
  using Clock = std::chrono::steady_clock;
  struct Counts {
    uint64_t datagrams = 0, bytes = 0;  // that left
    uint64_t refused = 0;               // answers that nobody is there
    uint64_t failed = 0;                // datagrams that did not leave
  };

  // Null: in the namespace of the process. What does not work is tried again with a datagram, once a
  // second at most. `of`: what its lines in the log begin with; not copied.
  Collector(const config::HttpEndpoint& endpoint, const NetworkNamespace* space,
            const char* of = "sflow");
  Collector(Collector&&) noexcept = default;

  // Tells the log when it begins to fail, and when it is well again.
  void send(std::span<const std::byte> datagram, Clock::time_point now);

  const config::HttpEndpoint& endpoint() const { return endpoint_; }
  const NetworkNamespace* space() const { return space_; }
  const Counts& counts() const { return counts_; }
  // What is wrong, in words; empty: nothing for 30 seconds, or since the last failure was mended.
  std::string trouble(Clock::time_point now) const;
  // The same with what its lines begin with.
  std::string line(Clock::time_point now) const;

 private:
  int open();
  int connect();
  void forget_answers();
  int try_to_send(std::span<const std::byte> datagram);
  void went_wrong(int error, Clock::time_point now);

  config::HttpEndpoint endpoint_;
  const NetworkNamespace* space_;
  const char* of_;
  FileDescriptor socket_;
  bool connected_ = false, told_ = false;
  Counts counts_;
  int error_ = 0;  // the last one
  Clock::time_point failed_at_{}, tried_at_{};
};

// One for each endpoint, in place of `before`: who is of the same endpoint and namespace stays, with its
// socket and counts.
std::vector<Collector> collectors_of(const std::vector<config::HttpEndpoint>& endpoints,
                                     std::vector<Collector> before, const NetworkNamespace* space,
                                     const char* of);
// A line of each that has trouble.
std::vector<std::string> lines_of(const std::vector<Collector>& collectors,
                                  Collector::Clock::time_point now);

}  // namespace hecto::router
