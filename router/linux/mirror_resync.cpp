// A resync: when it begins, dump by dump, and what changed meanwhile behind each.
#include <fmt/format.h>

#include <algorithm>

#include "router/linux/mirror_base.hpp"

namespace hecto::router {

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
  std::erase_if(plan_, [this](const DumpPhase& phase) { return !reads(phase); });
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

}  // namespace hecto::router
