// Who looks at packets: the capture and the trace that run, one of each at a time. Control only;
// a capture's reader may be held by API threads for longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.hpp"

namespace hecto::router {

class CaptureReader;
class ForwardingPlane;
class TraceSession;
struct CaptureOptions;
struct PacketMatch;

class CaptureControl {
 public:
  explicit CaptureControl(ForwardingPlane& plane) : plane_(plane) {}
  CaptureControl(const CaptureControl&) = delete;
  CaptureControl& operator=(const CaptureControl&) = delete;

  // EBUSY while another runs. The number tells it from those before. `buffer_bytes`: of all
  // threads together.
  Result<uint32_t> start(CaptureOptions options, size_t buffer_bytes);
  std::shared_ptr<CaptureReader> find(uint32_t id) const;  // null: there is no such
  void stop();                                             // takes no more; it can still be read
  void end();
  void watch();  // once a second: ends one that nobody reads

  // In the place of the one before. Up to 65535 packets.
  uint32_t start_trace(const PacketMatch& match, unsigned packets);
  std::shared_ptr<const TraceSession> trace(uint32_t id) const;  // null: there is no such
  void end_trace();

 private:
  ForwardingPlane& plane_;
  std::shared_ptr<CaptureReader> capture_;  // null: none
  uint32_t capture_id_ = 0;
  bool taking_ = false;                  // packets, still
  std::shared_ptr<TraceSession> trace_;  // null: none
  uint32_t trace_id_ = 0;
};

}  // namespace hecto::router
