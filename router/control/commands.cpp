#include "router/control/commands.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>
#include <utility>

namespace hecto::router {

Commands::Commands() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

bool Commands::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    pending_.push_back(std::move(work));
    if (held_) return true;
  }
  return wake();
}

bool Commands::wake() const {
  const uint64_t one = 1;
  return write(event_.get(), &one, sizeof one) == sizeof one;
}

void Commands::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void Commands::release() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(held_, false) || pending_.empty()) return;
  }
  wake();
}

void Commands::run_pending() {
  uint64_t count = 0;
  if (read(event_.get(), &count, sizeof count) < 0) return;
  std::deque<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(pending_);
  }
  for (auto& one : work) {
    try {
      one();
    } catch (const std::exception& thrown) {  // of work that nobody waits for
      (void)internal_error(thrown);
    }
    one = nullptr;  // a promise that it did not keep is told at once
  }
}

std::runtime_error Commands::internal_error(const std::exception& thrown) {
  std::string line =
      fmt::format("internal error: {}; what was asked may be half done", thrown.what());
  spdlog::error("control: {}", line);
  return std::runtime_error(std::move(line));
}

void Commands::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  pending_.clear();
}

}  // namespace hecto::router
