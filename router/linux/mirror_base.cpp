#include "router/linux/mirror_base.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace hecto::router {

MirrorBase::MirrorBase(const MirrorOptions& options, Sockets&& sockets, Traits traits)
    : options_(options),
      traits_(std::move(traits)),
      live_(std::move(sockets.live)),
      dump_(std::move(sockets.dump)) {}

Result<void> MirrorBase::watch() {
  timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  poll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!timer_ || !poll_) return fail(std::string("netlink: ") + std::strerror(errno), errno);
  for (const int fd : {live_.fd(), dump_.fd(), timer_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return fail(std::string("netlink: ") + std::strerror(errno), errno);
    }
  }
  return {};
}

Result<size_t> MirrorBase::process(size_t budget) {
  uint64_t expirations = 0;
  static_cast<void>(!::read(timer_.get(), &expirations, sizeof expirations));
  budget = std::max<size_t>(budget, 2);
  const size_t live_share = state_ == State::kIdle ? budget : budget / 2;
  const auto live = receive_live(live_share);
  if (!live) return live;
  const auto rest = advance(budget - std::min(budget - 1, *live));
  if (!rest) return rest;
  arm_timer();
  return *live + *rest;
}

Result<size_t> MirrorBase::receive_live(size_t budget) {
  drained_ = false;
  size_t done = 0;
  while (done < budget) {
    const int received = batch_.receive(live_.fd(), budget - done);
    if (received == -EAGAIN) {
      drained_ = true;
      discarding_ = false;
      break;
    }
    if (received == -ENOBUFS) {
      overrun("the kernel dropped netlink notifications");
      ++done;
      continue;
    }
    if (received < 0) {
      return fail(fmt::format("netlink: {}", std::strerror(-received)), -received);
    }
    for (size_t slot = 0; slot < static_cast<size_t>(received); ++slot) {
      if (batch_.truncated(slot)) {
        overrun("a netlink notification was larger than expected");
      } else {
        take_datagram(batch_.bytes(slot));
      }
    }
    if (traits_.secret) batch_.wipe(static_cast<size_t>(received));
    done += static_cast<size_t>(received);
  }
  return done;
}

// After an overrun what is still queued is older than the gap: the dump that follows knows better.
void MirrorBase::overrun(const std::string& why) {
  ++stats_.overruns;
  discarding_ = true;
  consistency_.events_lost();
  const auto now = Clock::now();
  want_resync(why, std::max(now, resync_ended_ + stats_.last_resync));
}

void MirrorBase::take_datagram(Bytes datagram) {
  MessageWalker walker(datagram);
  Message message;
  while (walker.next(message)) {
    ++stats_.messages;
    if (discarding_) continue;
    const bool dumping = state_ != State::kIdle && state_ != State::kPausing;
    if (dumping && kind(message) == traits_.plan[phase_].kind) {
      hold(walker.raw(), message);
    } else {
      deliver(message, true);
    }
  }
  if (walker.malformed()) ++stats_.malformed;
}

void MirrorBase::hold(Bytes raw, const Message& message) {
  if (held_.size() + raw.size() > options_.held_limit_bytes) {
    overrun("more changes than can wait for a dump");
    return;
  }
  if (state_ != State::kReplaying && removes(message)) consistency_.removed_meanwhile(message);
  held_.insert(held_.end(), raw.begin(), raw.end());
  held_.resize(NLMSG_ALIGN(held_.size()));
  stats_.held_peak_bytes = std::max<uint64_t>(stats_.held_peak_bytes, held_.size());
}

void MirrorBase::request_resync(const std::string& why) {
  want_resync(why, Clock::now());
  arm_timer();
}

// A storm of silent changes costs at most half of control's time: the pause after a resync is as
// long as the resync was.
void MirrorBase::resync_soon(const std::string& why) {
  const auto earliest = resync_ended_ + stats_.last_resync;
  want_resync(why, std::max(Clock::now() + options_.debounce, earliest));
}

void MirrorBase::want_resync(const std::string& why, Clock::time_point due) {
  if (!wanted_) {
    wanted_ = Wanted{why, due};
  } else {
    wanted_->due = std::min(wanted_->due, due);
  }
}

}  // namespace hecto::router
