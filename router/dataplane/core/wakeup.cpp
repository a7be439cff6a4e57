#include "router/dataplane/core/wakeup.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace hecto::router {
namespace {

constexpr int kEvents = 16;  // at once; what is left ends the next wait

}  // namespace

Wakeup::Wakeup() : poll_(epoll_create1(EPOLL_CLOEXEC)), bell_(eventfd(0, EFD_CLOEXEC)) {
  if (!poll_ || !bell_ || !watch(bell_.get()))
    throw std::system_error(errno, std::generic_category(), "a worker's wake-up");
}

bool Wakeup::watch(int fd) noexcept {
  epoll_event event{EPOLLIN | EPOLLET, {.fd = fd}};
  return epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST;
}

void Wakeup::unwatch(int fd) noexcept {
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Wakeup::wait(std::chrono::milliseconds longest) noexcept {
  epoll_event events[kEvents];
  epoll_wait(poll_.get(), events, kEvents, static_cast<int>(longest.count()));
}

// Each ring adds to a counter that nobody reads: it is full after 2^64 of them.
void Wakeup::wake() noexcept {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(bell_.get(), &one, sizeof one);
}

}  // namespace hecto::router
