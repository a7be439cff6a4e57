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
      dump_(std::move(sockets.dump)),
      resync_pause_(options.debounce, std::max(options.debounce, options.debounce_most)),
      reopen_pause_(options.reopen, options.reopen_most),
      watchdog_(options.silence) {}

Result<void> MirrorBase::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return fail(std::string("netlink: ") + std::strerror(errno), errno);
}

Result<void> MirrorBase::watch() {
  timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  poll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!timer_ || !poll_) return fail(std::string("netlink: ") + std::strerror(errno), errno);
  for (const int fd : {live_.fd(), dump_.fd(), timer_.get()})
    if (auto done = watch(fd); !done) return done;
  return {};
}

// The sockets are beyond use, or one of them is. Everything is read again once they are new.
void MirrorBase::give_up(const std::string& why) {
  const auto pause = reopen_pause_.pause(Clock::now());
  const auto pause_ms = std::chrono::duration_cast<std::chrono::milliseconds>(pause).count();
  stats_.last_error = why;
  if (options_.tell && !lost_)
    options_.tell(fmt::format("{}; opened again in {} ms, and all is read anew", why, pause_ms));
  for (const int fd : {live_.fd(), dump_.fd()}) epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  lost_ = true;
  reopen_at_ = Clock::now() + pause;
  clear_held();
  whole_ = false;  // what waited, and what comes until then, is not known
  lost_meanwhile_ = true;
  discarding_ = false;
  state_ = State::kIdle;
}

bool MirrorBase::reopen() {
  if (Clock::now() < reopen_at_) return false;
  auto sockets = traits_.reopen();
  if (!sockets) {
    give_up(sockets.error().message);
    return false;
  }
  live_ = std::move(sockets->live);
  dump_ = std::move(sockets->dump);
  for (const int fd : {live_.fd(), dump_.fd()}) {
    if (auto done = watch(fd); done) continue;
    give_up("netlink: sockets cannot be watched");
    return false;
  }
  lost_ = false;
  ++stats_.reopened;
  want_resync("the netlink sockets are new", Clock::now());
  return true;
}

Result<size_t> MirrorBase::process(size_t budget) {
  uint64_t expirations = 0;
  static_cast<void>(!::read(timer_.get(), &expirations, sizeof expirations));
  budget = std::max<size_t>(budget, 2);
  if (lost_ && !reopen()) {
    arm_timer();
    return 0;
  }
  const size_t live_share = state_ == State::kIdle ? budget : budget / 2;
  const auto live = receive_live(live_share);
  const auto rest = live ? advance(budget - std::min(budget - 1, *live)) : live;
  if (!rest) {
    if (!traits_.reopen) return rest;
    give_up(rest.error().message);
  }
  arm_timer();
  return live.value_or(0) + rest.value_or(0);
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
      whole_ = false;
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
  whole_ = false;
  lost_meanwhile_ = true;
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
    if (dumping && kind(message) == plan_[phase_].kind) {
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

void MirrorBase::arm_timer() {
  std::optional<Clock::time_point> wake;
  switch (state_) {
    case State::kIdle:
      if (wanted_) wake = discarding_ ? Clock::now() : wanted_->due;
      break;
    case State::kSettling:
    case State::kReplaying:
      wake = Clock::now();
      break;
    case State::kPausing:
      wake = retry_at_;
      break;
    case State::kDumping:
      wake = watchdog_.deadline();  // before that the socket itself becomes readable
      break;
  }
  if (lost_) wake = reopen_at_;
  itimerspec spec{};
  if (wake) {
    using std::chrono::duration_cast;
    using std::chrono::nanoseconds;
    const auto at =
        std::max<int64_t>(1, duration_cast<nanoseconds>(wake->time_since_epoch()).count());
    spec.it_value = {at / 1'000'000'000, at % 1'000'000'000};
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

}  // namespace hecto::router
