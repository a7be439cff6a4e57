#include "router/api/http/timed_io.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace hecto::router {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestPoll{600'000};

bool wait(int fd, short events, IoClock::time_point until) {
  for (;;) {
    const auto now = IoClock::now();
    const auto left = until > now ? std::min(until - now, IoClock::duration(kLongestPoll))
                                  : IoClock::duration::zero();
    pollfd entry{fd, events, 0};
    const int ready =
        ::poll(&entry, 1, static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
    if (ready > 0) return true;
    if (ready == 0 && left < kLongestPoll) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

Received receive(int fd, char* data, size_t size, IoClock::time_point until) {
  while (IoClock::now() < until) {
    const ssize_t got = ::recv(fd, data, size, MSG_DONTWAIT);
    if (got > 0) return {IoEnd::kDone, static_cast<size_t>(got)};
    if (got == 0 || (errno != EINTR && !would_block())) return {IoEnd::kClosed, 0};
    if (!wait(fd, POLLIN, until)) break;
  }
  return {IoEnd::kTooLate, 0};
}

IoEnd send_all(int fd, std::string_view head, std::string_view body, milliseconds stall,
               IoClock::time_point until) {
  while (!head.empty() || !body.empty()) {
    iovec parts[] = {{const_cast<char*>(head.data()), head.size()},
                     {const_cast<char*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      const size_t of_head = std::min(head.size(), static_cast<size_t>(sent));
      head.remove_prefix(of_head);
      body.remove_prefix(static_cast<size_t>(sent) - of_head);
    } else if (would_block()) {
      if (!wait(fd, POLLOUT, std::min(until, IoClock::now() + stall))) return IoEnd::kTooLate;
    } else if (errno != EINTR) {
      return IoEnd::kClosed;
    }
  }
  return IoEnd::kDone;
}

}  // namespace hecto::router
