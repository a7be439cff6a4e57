// The entries of the flow table for IPFIX: by turns each tells what it has counted since it was told last,
// and the rest when it goes. Control only.
//
// A round begins every so many seconds and looks at all entries, a part of them a tick; such as have
// counted nothing are passed over. What a worker counts while its entry is being deleted is not told.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "router/dataplane/flow/flow_tables.hpp"
#include "router/ipfix/record.hpp"

namespace hecto::router {

class FlowControl;
class InterfaceTable;

class IpfixEntries {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kMostLooking{1000};  // a tick
  static constexpr uint32_t kMostGone = 4096;                     // told a tick; more are lost

  // Times of a record are milliseconds of the clock.
  using Export = std::function<void(const IpfixRecord& record)>;
  IpfixEntries(const InterfaceTable& interfaces, Export out)
      : interfaces_(interfaces), out_(std::move(out)) {}
  IpfixEntries(const IpfixEntries&) = delete;
  IpfixEntries& operator=(const IpfixEntries&) = delete;

  void attach(FlowControl& flows);
  // What has not been told while it was off is told when it is on again.
  void set(bool on) { on_ = on; }
  void tick(Clock::time_point now, std::chrono::seconds interval);
  uint64_t lost() const { return lost_; }

 private:
  struct Told {
    uint64_t packets = 0, bytes = 0, at_ms = 0;
  };
  void gone(const FlowTables& tables, const FlowId& id);
  void tell(const FlowTables& tables, const FlowId& id, FlowEnd end);
  Told& told(const FlowId& id);
  uint32_t ifindex_of(const std::string& interface) const;

  const InterfaceTable& interfaces_;
  const Export out_;
  FlowControl* flows_ = nullptr;
  const FlowTables* tables_ = nullptr;  // whose numbers are known here
  uint64_t generation_ = 0;             // its: another table may lie where an old one did
  bool on_ = false;
  std::vector<Told> told4_, told6_;  // by index
  FlowId cursor_;
  bool looking_ = false;  // a round goes on
  Clock::time_point begun_{};
  uint64_t now_ms_ = 0;
  uint32_t gone_ = 0;  // since the last tick
  uint64_t lost_ = 0;
};

}  // namespace hecto::router
