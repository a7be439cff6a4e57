#include "bench/restart/stream.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace hecto::bench {
namespace {

constexpr int kReceiveBytes = 8 << 20;

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

sockaddr_in address_of(const std::string& text, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  return address;
}

// A socket belongs to the namespace in which it was made.
Result<FileDescriptor> udp_in(const router::NetworkNamespace& space) {
  FileDescriptor made;
  auto done = space.run([&]() -> Result<void> {
    made = FileDescriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return made ? Result<void>{} : fail(std::string("socket: ") + std::strerror(errno), errno);
  });
  if (!done) return tl::unexpected(done.error());
  return made;
}

}  // namespace

void GapFinder::arrived(const StreamPacket& packet) {
  ++received_;
  if (any_ && packet.number <= last_.number) return;  // late, or twice
  const uint64_t lost = any_ ? packet.number - last_.number - 1 : 0;
  lost_ += lost;
  if (lost >= least_)
    gaps_.push_back({lost, static_cast<double>(packet.sent_ns - last_.sent_ns) / 1e6});
  last_ = packet;
  any_ = true;
}

GapFinder GapFinder::take() {
  const GapFinder found = *this;
  gaps_.clear();
  lost_ = received_ = 0;
  return found;
}

Result<std::unique_ptr<Stream>> Stream::start(const router::NetworkNamespace& from,
                                              const router::NetworkNamespace& at,
                                              const Options& options) {
  std::unique_ptr<Stream> stream(new Stream);
  auto source = udp_in(from), sink = udp_in(at);
  if (!source) return tl::unexpected(source.error());
  if (!sink) return tl::unexpected(sink.error());
  stream->source_ = std::move(*source);
  stream->sink_ = std::move(*sink);
  const timeval wait{0, 50'000};
  setsockopt(stream->sink_.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  setsockopt(stream->sink_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof kReceiveBytes);
  // A veth would leave the checksum to a NIC that never comes.
  const int none = 1;
  setsockopt(stream->source_.get(), SOL_SOCKET, SO_NO_CHECK, &none, sizeof none);
  const sockaddr_in any = address_of("0.0.0.0", options.port);
  const sockaddr_in to = address_of(options.to, options.port);
  if (bind(stream->sink_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
      connect(stream->source_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    return fail(fmt::format("UDP {}: {}", options.to, std::strerror(errno)), errno);
  Stream& self = *stream;
  stream->receiver_ = std::thread([&self] { self.receive(); });
  stream->sender_ = std::thread([&self, pps = options.pps] { self.send(pps); });
  return stream;
}

Stream::~Stream() {
  over_ = true;
  if (sender_.joinable()) sender_.join();
  if (receiver_.joinable()) receiver_.join();
}

void Stream::send(double pps) {
  const uint64_t begin = now_ns();
  uint64_t number = 0;
  while (!over_) {
    const auto due = static_cast<uint64_t>(static_cast<double>(now_ns() - begin) / 1e9 * pps);
    for (; number < due && !over_; ++number) {
      const StreamPacket packet{number, now_ns()};
      (void)::send(source_.get(), &packet, sizeof packet, 0);  // refused: lost, as any other
    }
    sent_.store(number, std::memory_order_relaxed);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void Stream::receive() {
  while (!over_) {
    StreamPacket packet;
    if (recv(sink_.get(), &packet, sizeof packet, 0) != sizeof packet) continue;
    const std::lock_guard lock(mutex_);
    found_.arrived(packet);
  }
}

GapFinder Stream::take() {
  const std::lock_guard lock(mutex_);
  return found_.take();
}

}  // namespace hecto::bench
