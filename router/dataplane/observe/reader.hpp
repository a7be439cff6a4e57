// The end of a capture session that makes a pcapng file of the rings, piece by piece.
//
// Any thread, one call at a time (a lock sees to it). Packets come in the order of their time, but
// where a thread was held up for longer than a millisecond between noting the time and publishing.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "router/dataplane/observe/session.hpp"

namespace hecto::router {

struct CaptureCounts {
  uint64_t captured = 0;  // packets, in the file or still in the rings
  uint64_t lost = 0;      // that fitted and found no room
};

class CaptureReader {
 public:
  // `ports`: names by number, of those that there are at the start. `application`: of the file.
  CaptureReader(std::shared_ptr<CaptureSession> session, std::vector<std::string> ports,
                std::string application);

  // The next whole blocks, about `most_bytes` of them; empty: nothing now. Nothing at all: the end,
  // which comes once no thread has the session any more and everything has been read.
  std::optional<std::string> read(size_t most_bytes);

  CaptureSession& session() noexcept { return *session_; }
  CaptureCounts counts() const noexcept;
  std::chrono::steady_clock::duration unread_for() const noexcept;  // since the last read()

 private:
  // Wall clock and TSC, looked at together.
  struct Anchor {
    uint64_t time_ns = 0, tsc = 0;
    static Anchor now() noexcept;
  };
  struct Interface {
    std::optional<uint32_t> number;  // in the file
    uint64_t delivered = 0;
  };
  void begin();
  void describe(unsigned interface);
  void put(std::span<const std::byte> entry, const Anchor& now);
  void end();
  CaptureRing* oldest(uint64_t until_tsc) noexcept;
  uint64_t time_of(uint64_t tsc, const Anchor& now) noexcept;

  const std::shared_ptr<CaptureSession> session_;
  const std::vector<std::string> ports_;
  const std::string application_;
  const Anchor start_ = Anchor::now();
  std::mutex mutex_;
  PcapngWriter writer_;
  std::array<Interface, kCaptureInterfaces> interfaces_;
  uint64_t last_time_ns_ = 0;
  bool begun_ = false, ended_ = false;
  std::atomic<int64_t> read_at_;  // of the steady clock
};

}  // namespace hecto::router
