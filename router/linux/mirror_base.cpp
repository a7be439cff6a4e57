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

void MirrorBase::request_resync(const std::string& why) {
  want_resync(why, Clock::now());
  arm_timer();
}

// A storm of silent changes costs at most half of control's time, and less as it goes on: the pause
// after a resync is as long as the resync was, and doubles.
void MirrorBase::resync_soon(const std::string& why, int device) {
  const auto now = Clock::now();
  const auto earliest = resync_ended_ + stats_.last_resync;
  const auto pause = wanted_ ? Clock::duration(options_.debounce) : resync_pause_.pause(now);
  want_resync(why, std::max(wanted_ ? wanted_->due : now + pause, earliest), device);
}

void MirrorBase::want_resync(const std::string& why, Clock::time_point due, int device) {
  if (!wanted_) {
    wanted_ = Wanted{why, due, device};
  } else {
    wanted_->due = std::min(wanted_->due, due);
    if (wanted_->device != device) wanted_->device = 0;
  }
}

Result<size_t> MirrorBase::advance(size_t budget) {
  size_t done = 0;
  while (done < budget) {
    switch (state_) {
      case State::kIdle:
        if (!wanted_ || discarding_ || Clock::now() < wanted_->due) return done;
        begin_resync();
        break;
      case State::kDumping: {
        const size_t read = read_dump();
        if (read == 0 && state_ == State::kDumping) {
          if (!watchdog_.expired(Clock::now())) return done;
          return fail(fmt::format("netlink: Linux has not finished a dump for {} s",
                                  std::chrono::duration<double>(options_.silence).count()),
                      ETIMEDOUT);
        }
        done += read;
        break;
      }
      case State::kSettling: {
        // Removals that happened during the dump may still be queued.
        const auto live = receive_live(budget - done);
        if (!live) return live;
        done += *live;
        if (drained_) state_ = State::kReplaying;
        break;
      }
      case State::kReplaying:
        done += replay_kept(budget - done);
        if (!kept_at_.empty()) break;
        done += replay_held(budget - done);
        if (held_.empty()) finish_phase();
        break;
      case State::kPausing:
        if (Clock::now() < retry_at_) return done;
        start_phase();
        break;
    }
  }
  return done;
}

void MirrorBase::begin_resync() {
  stats_.last_reason = wanted_->why;
  device_ = ever_synchronized_ ? wanted_->device : 0;
  plan_ = device_ != 0 ? device_plan(device_) : std::vector<DumpPhase>{};
  if (plan_.empty()) {
    device_ = 0;
    plan_ = traits_.plan;
  }
  wanted_.reset();
  resync_started_ = Clock::now();
  accepted_unsound_ = false;
  lost_meanwhile_ = false;
  phase_ = 0;
  attempt_ = 0;
  if (device_ != 0) {
    on_device_resync_begin(device_, stats_.last_reason);
  } else {
    on_resync_begin(stats_.last_reason);
  }
  start_phase();
}

void MirrorBase::end_resync() {
  state_ = State::kIdle;
  reopen_pause_.reset();
  on_resync_end();
  ever_synchronized_ = true;
  whole_ |= device_ == 0 && !lost_meanwhile_ && !accepted_unsound_;
  ++stats_.resyncs;
  resync_ended_ = Clock::now();
  stats_.last_resync = resync_ended_ - resync_started_;
  if (accepted_unsound_) resync_soon("the first reading overlapped with changes");
}

void MirrorBase::start_phase() {
  const DumpPhase& phase = plan_[phase_];
  phase_failed_ = false;
  phase_started_ = Clock::now();
  watchdog_.heard(phase_started_);
  consistency_.begin(phase.kind);
  if (discarding_) consistency_.events_lost();
  clear_held();
  phase_begins(phase.kind);
  state_ = State::kDumping;
  if (auto sent = dump_.start(phase); !sent) {
    stats_.last_error = sent.error().message;
    phase_failed_ = true;
    state_ = State::kSettling;
  }
}

// One read; 0 when there was nothing of use.
size_t MirrorBase::read_dump() {
  switch (dump_.read(messages_)) {
    case DumpReader::Status::kWait:
      return 0;
    case DumpReader::Status::kFailed:
      stats_.last_error = dump_.error().message;
      phase_failed_ = true;
      state_ = State::kSettling;
      return 0;
    case DumpReader::Status::kDone:
      stats_.last_error.clear();
      state_ = State::kSettling;
      return 0;
    case DumpReader::Status::kMessages:
      break;
  }
  if (!messages_.empty()) watchdog_.heard(Clock::now());
  stats_.messages += messages_.size();
  for (const Message& message : messages_) {
    if (traits_.newest_first) {
      keep(message);
    } else {
      deliver(message, false);
    }
  }
  if (traits_.secret) dump_.wipe();
  dump_was_read(consistency_);
  return messages_.size();
}

void MirrorBase::keep(const Message& message) {
  const auto* header = reinterpret_cast<const uint8_t*>(&message.header);
  kept_at_.push_back(kept_.size());
  kept_.insert(kept_.end(), header, header + sizeof message.header);
  kept_.insert(kept_.end(), message.body.begin(), message.body.end());
}

size_t MirrorBase::replay_kept(size_t budget) {
  Message message;
  size_t done = 0;
  for (; done < budget && !kept_at_.empty(); ++done) {
    MessageWalker walker(Bytes(kept_).subspan(kept_at_.back()));
    kept_at_.pop_back();
    if (walker.next(message)) deliver(message, false);
  }
  return done;
}

size_t MirrorBase::replay_held(size_t budget) {
  MessageWalker walker(Bytes(held_).subspan(held_read_));
  Message message;
  size_t done = 0;
  while (done < budget && walker.next(message)) {
    deliver(message, true);
    held_read_ += NLMSG_ALIGN(static_cast<size_t>(message.header.nlmsg_len));
    ++done;
  }
  if (held_read_ >= held_.size() || walker.malformed()) clear_held();
  return done;
}

void MirrorBase::clear_held() noexcept {
  for (SecretBytes* bytes : {&held_, &kept_}) {
    if (traits_.secret) wipe(*bytes);
    bytes->clear();
  }
  kept_at_.clear();
  held_read_ = 0;
}

void MirrorBase::finish_phase() {
  if (phase_failed_) {
    if (device_ != 0) {  // it has gone, perhaps
      want_resync(stats_.last_reason, Clock::now());
      return begin_resync();
    }
    if (attempt_ == 3 && options_.tell) options_.tell(stats_.last_error);
    return retry_phase();
  }
  if (dump_.interrupted() || !consistency_.sound()) {
    if (ever_synchronized_) return retry_phase();
    accepted_unsound_ = true;  // nothing to sweep yet: better a first picture than none
  }
  attempt_ = 0;
  if (++phase_ < plan_.size()) return start_phase();
  end_resync();
}

// Live changes of this kind flow again until the next try, so that nothing waits for long.
void MirrorBase::retry_phase() {
  using std::chrono::milliseconds;
  ++attempt_;
  ++stats_.repeated_dumps;
  const Clock::duration took = Clock::now() - phase_started_;
  retry_at_ = Clock::now() + std::clamp<Clock::duration>(took * std::min(attempt_, 8U),
                                                         milliseconds(20), milliseconds(2000));
  state_ = State::kPausing;
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
