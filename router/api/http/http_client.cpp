#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/file_descriptor.hpp"
#include "router/api/http/http.hpp"
#include "router/api/http/http_parser.hpp"
#include "router/api/http/timed_io.hpp"

namespace hecto::router {
namespace {

// errno, or 0.
int connect_to(const std::string& path, int fd) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  const timeval longest{2, 0};  // a full backlog
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                         : errno;
}

std::string why_not(const std::string& socket, int number) {
  switch (number) {
    case ENOENT:
      return "no router at " + socket +
             ": start hectod, or name the socket of a running one with --socket PATH";
    case ECONNREFUSED:
      return "no router answers at " + socket +
             ": it has ended; start hectod, or name another socket with --socket PATH";
    case EACCES:
    case EPERM:
      return "may not open " + socket + ": run as root, or as a member of the socket's group";
    case EAGAIN:
      return "the router at " + socket + " takes no more connections; try again";
    case ENAMETOOLONG:
      return fmt::format("{}: too long for a socket; use at most {} bytes", socket,
                         sizeof(sockaddr_un::sun_path) - 1);
    default:
      return "cannot connect to " + socket + ": " + std::strerror(number);
  }
}

std::string target(const HttpRequest& request) {
  std::string text = request.path;
  char separator = '?';
  for (const auto& [key, value] : request.query) {
    text += separator + key + '=';
    for (const unsigned char c : value) {
      if (std::isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
        text += static_cast<char>(c);
      } else {
        text += fmt::format("%{:02X}", c);
      }
    }
    separator = '&';
  }
  return text;
}

std::string head_of(const HttpRequest& request) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
                                 request.method, target(request));
  if (request.method != "GET" || !request.body.empty()) {
    head += fmt::format("Content-Type: text/plain\r\nContent-Length: {}\r\n", request.body.size());
  }
  return head + "\r\n";
}

// The connection's one answer; nothing when it does not come whole.
std::optional<HttpAnswer> read_answer(int fd, std::chrono::milliseconds timeout) {
  ResponseParser parser;
  std::string unread;
  char buffer[64 << 10];
  while (!parser.done() && !parser.failed()) {
    const auto [end, bytes] = receive(fd, buffer, sizeof buffer, IoClock::now() + timeout);
    if (end == IoEnd::kTooLate) return std::nullopt;
    if (end == IoEnd::kClosed) {
      parser.end();
      break;
    }
    unread.append(buffer, bytes);
    size_t at = 0;
    while (at < unread.size() && !parser.done() && !parser.failed()) {
      const size_t taken = parser.put(std::string_view(unread).substr(at));
      if (taken == 0) break;
      at += taken;
    }
    unread.erase(0, at);
  }
  if (!parser.done()) return std::nullopt;
  return std::move(parser.answer());
}

}  // namespace

Result<HttpAnswer> http_request(const std::string& socket, const HttpRequest& request,
                                std::chrono::milliseconds timeout) {
  const FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int problem = fd ? connect_to(socket, fd.get()) : errno;
  if (problem != 0) return fail(why_not(socket, problem), problem);
  const IoEnd sent =
      send_all(fd.get(), head_of(request), request.body, timeout, IoClock::time_point::max());
  // Who is refused in the midst of a body finds the answer already there.
  if (auto answer = read_answer(fd.get(), timeout)) return std::move(*answer);
  return fail("the router at " + socket + " did not answer: " +
              (sent == IoEnd::kDone
                   ? fmt::format("nothing for {} s, or it ended meanwhile", timeout.count() / 1000)
                   : std::string("it closed the connection")));
}

}  // namespace hecto::router
