#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "router/api/http/http.hpp"

namespace hecto::router {
namespace {

// httplib's client with its connect replaced.
class UnixClient final : public httplib::ClientImpl {
 public:
  explicit UnixClient(std::string path) : ClientImpl("localhost", 80), path_(std::move(path)) {}
  int connect_errno() const { return connect_errno_; }

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override {
    error = httplib::Error::Connection;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof address.sun_path) {
      connect_errno_ = ENAMETOOLONG;
      return false;
    }
    std::memcpy(address.sun_path, path_.data(), path_.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      connect_errno_ = errno;
      return false;
    }
    const timeval longest{2, 0};  // a full backlog
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      connect_errno_ = errno;
      ::close(fd);
      return false;
    }
    socket.sock = fd;
    error = httplib::Error::Success;
    return true;
  }

  const std::string path_;
  int connect_errno_ = 0;
};

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

// target() has encoded it already; the name of the switch changed between versions.
template <typename Client>
void leave_path_alone(Client& client) {
  if constexpr (requires { client.set_path_encode(false); }) {
    client.set_path_encode(false);
  } else {
    client.set_url_encode(false);
  }
}

httplib::Result send(UnixClient& client, const HttpRequest& request) {
  const std::string where = target(request);
  if (request.method == "GET") return client.Get(where);
  httplib::Headers headers;
  if (request.method == "DELETE") {
    if (request.body.empty()) return client.Delete(where);
    return client.Delete(where, headers, request.body, "text/plain");
  }
  if (request.body.empty()) return client.Post(where, headers, std::string(), "text/plain");
  // By a provider, because httplib copies bodies that it is given as strings.
  return client.Post(
      where, headers, request.body.size(),
      [&](size_t offset, size_t length, httplib::DataSink& sink) {
        return sink.write(request.body.data() + offset, length);
      },
      "text/plain");
}

}  // namespace

Result<HttpAnswer> http_request(const std::string& socket, const HttpRequest& request,
                                std::chrono::milliseconds timeout) {
  UnixClient client(socket);
  leave_path_alone(client);
  client.set_read_timeout(timeout);
  client.set_write_timeout(timeout);
  const httplib::Result result = send(client, request);
  if (result) return HttpAnswer{result->status, result->body};
  if (client.connect_errno() != 0) {
    return fail(why_not(socket, client.connect_errno()), client.connect_errno());
  }
  return fail("the router at " + socket + " did not answer: " +
              (result.error() == httplib::Error::Read
                   ? fmt::format("nothing for {} s, or it ended meanwhile", timeout.count() / 1000)
                   : std::string("it closed the connection")));
}

}  // namespace hecto::router
