#include "router/sflow/collector.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "router/linux/netns.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::seconds kWellAgain{30}, kNextTry{1};
constexpr int kSmallest_bytes = 1;  // the kernel makes its least of it: nobody reads answers

constexpr int kMostAnswers = 16;

// Of ICMP, or Linux's own where no neighbor answers; an error of a route as well, which the next try has
// again.
bool is_answer(int error) {
  return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ||
         error == EACCES || error == ENOPROTOOPT || error == EMSGSIZE;
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

SocketAddress address_of(const config::HttpEndpoint& endpoint) {
  SocketAddress out;
  if (endpoint.address.family == lookup::Family::kIpv4) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    std::memcpy(&address.sin_addr, endpoint.address.bytes.data(), sizeof address.sin_addr);
    out.length = sizeof address;
    std::memcpy(&out.storage, &address, sizeof address);
  } else {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(endpoint.port);
    std::memcpy(&address.sin6_addr, endpoint.address.bytes.data(), sizeof address.sin6_addr);
    out.length = sizeof address;
    std::memcpy(&out.storage, &address, sizeof address);
  }
  return out;
}

}  // namespace

Collector::Collector(const config::HttpEndpoint& endpoint, const NetworkNamespace* space,
                     const char* of)
    : endpoint_(endpoint), space_(space), of_(of) {}

int Collector::open() {
  int error = 0;
  const auto task = [&]() -> Result<void> {
    const int family = endpoint_.address.family == lookup::Family::kIpv4 ? AF_INET : AF_INET6;
    socket_ = FileDescriptor(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    error = socket_ ? 0 : errno;
    return {};
  };
  const Result<void> done = space_ == nullptr ? task() : space_->run(task);
  if (!done) return done.error().error_number != 0 ? done.error().error_number : EIO;
  if (error != 0) return error;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &kSmallest_bytes, sizeof kSmallest_bytes);
  // A host that is not there is heard of as one that does not listen.
  const int on = 1;
  if (endpoint_.address.family == lookup::Family::kIpv4)
    ::setsockopt(socket_.get(), IPPROTO_IP, IP_RECVERR, &on, sizeof on);
  else
    ::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
  return 0;
}

// Again, too: routes and own addresses may be others by now.
int Collector::connect() {
  if (!socket_)
    if (const int error = open(); error != 0) return error;
  const SocketAddress address = address_of(endpoint_);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address.storage),
                address.length) != 0)
    return errno;
  connected_ = true;
  return 0;
}

int Collector::try_to_send(std::span<const std::byte> datagram) {
  const ssize_t sent =
      ::send(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? errno : 0;
}

// With what was sent; nobody reads it. They are few: the socket holds no more.
void Collector::forget_answers() {
  char byte;
  for (int i = 0; i < kMostAnswers; ++i)
    if (::recv(socket_.get(), &byte, sizeof byte, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
}

void Collector::send(std::span<const std::byte> datagram, Clock::time_point now) {
  int error = error_;
  if (!connected_ && (tried_at_ == Clock::time_point{} || now - tried_at_ >= kNextTry)) {
    tried_at_ = now;
    error = connect();
  }
  if (connected_) error = try_to_send(datagram);
  // An answer to an earlier one: this has not been sent yet.
  if (connected_ && is_answer(error)) {
    ++counts_.refused;
    went_wrong(error, now);
    forget_answers();
    error = try_to_send(datagram);
  }
  if (error == 0 && connected_) {
    ++counts_.datagrams;
    counts_.bytes += datagram.size();
    if (told_ && now - failed_at_ >= kWellAgain) {
      told_ = false;
      spdlog::info("{}: collector {} is well again", of_, to_string(endpoint_));
    }
    return;
  }
  ++counts_.failed;
  went_wrong(error, now);
  // A full socket passes by; after anything else the way there is looked for again.
  if (error != EAGAIN && error != ENOBUFS && !is_answer(error) && connected_) {
    connected_ = false;
    socket_ = FileDescriptor();
  }
}

void Collector::went_wrong(int error, Clock::time_point now) {
  error_ = error;
  failed_at_ = now;
  if (std::exchange(told_, true)) return;
  spdlog::warn("{}: {}; it is tried again", of_, trouble(now));
}

std::string Collector::trouble(Clock::time_point now) const {
  if (failed_at_ == Clock::time_point{} || now - failed_at_ >= kWellAgain) return {};
  if (error_ == ECONNREFUSED)
    return fmt::format("nobody listens at collector {}", to_string(endpoint_));
  return fmt::format("collector {}: {}", to_string(endpoint_), std::strerror(error_));
}

std::string Collector::line(Clock::time_point now) const {
  std::string words = trouble(now);
  return words.empty() ? words : fmt::format("{}: {}", of_, words);
}

std::vector<Collector> collectors_of(const std::vector<config::HttpEndpoint>& endpoints,
                                     std::vector<Collector> before, const NetworkNamespace* space,
                                     const char* of) {
  std::vector<Collector> collectors;
  for (const config::HttpEndpoint& endpoint : endpoints) {
    const auto kept = std::ranges::find_if(before, [&](const Collector& each) {
      return each.space() == space && each.endpoint() == endpoint;
    });
    if (kept != before.end())
      collectors.push_back(std::move(*kept));
    else
      collectors.emplace_back(endpoint, space, of);
  }
  return collectors;
}

std::vector<std::string> lines_of(const std::vector<Collector>& collectors,
                                  Collector::Clock::time_point now) {
  std::vector<std::string> lines;
  for (const Collector& collector : collectors)
    if (std::string line = collector.line(now); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace hecto::router
