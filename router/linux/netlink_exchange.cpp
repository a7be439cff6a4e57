#include "router/linux/netlink_exchange.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <cstring>

namespace hecto::router {
namespace {

// Answers to one send must fit the socket's default receive buffer: about 1 KiB each there.
constexpr size_t kMessagesPerSend = 64;
constexpr size_t kBytesPerSend = 64 * 1024;
constexpr int kAnswerTimeoutMs = 5000;

// The kernel's explanation (NLMSGERR_ATTR_MSG), which follows the echoed request or, with
// NLM_F_CAPPED, the echoed header alone.
std::string explanation(const Message& message) {
  if ((message.header.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
  const auto error = read_pod<nlmsgerr>(message.body);
  if (!error) return {};
  size_t skip = sizeof(nlmsgerr);
  if ((message.header.nlmsg_flags & NLM_F_CAPPED) == 0) {
    if (error->msg.nlmsg_len < sizeof(nlmsghdr)) return {};
    skip = sizeof(int) + NLMSG_ALIGN(static_cast<size_t>(error->msg.nlmsg_len));
  }
  if (skip >= message.body.size()) return {};
  AttributeWalker walker(message.body.subspan(skip));
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type != NLMSGERR_ATTR_MSG) continue;
    const auto* text = reinterpret_cast<const char*>(attribute.payload.data());
    return {text, strnlen(text, attribute.payload.size())};
  }
  return {};
}

NetlinkExchange::Answer answer_of(const Message& message) {
  NetlinkExchange::Answer answer;
  if (message.header.nlmsg_type != NLMSG_ERROR) {
    answer.message = message;
    return answer;
  }
  answer.error_number = -read_pod<int32_t>(message.body).value_or(0);
  if (answer.error_number != 0) answer.detail = explanation(message);
  return answer;
}

}  // namespace

Error refusal(const std::string& what, int error_number, const std::string& detail) {
  std::string message = fmt::format("Linux refused to {}: {}", what, std::strerror(error_number));
  if (!detail.empty()) message += fmt::format(" ({})", detail);
  return {std::move(message), error_number};
}

NetlinkExchange::NetlinkExchange(NetlinkSocket socket)
    : socket_(std::move(socket)), output_(kBytesPerSend), input_(32 * 1024) {}

Result<NetlinkExchange> NetlinkExchange::open(const NetworkNamespace& space, int protocol) {
  auto socket = NetlinkSocket::open(space, protocol);
  if (!socket) return tl::unexpected(socket.error());
  socket->enable(NETLINK_EXT_ACK);
  socket->enable(NETLINK_CAP_ACK);
  return NetlinkExchange(std::move(*socket));
}

Result<void> NetlinkExchange::wait_readable() {
  pollfd descriptor{socket_.fd(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&descriptor, 1, kAnswerTimeoutMs);
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) return {};
  return fail("netlink: Linux does not answer", ready == 0 ? ETIMEDOUT : errno);
}

// How many of the `count` questions from `first` on the next datagram answers.
Result<size_t> NetlinkExchange::read_answers(size_t first, uint32_t first_sequence, size_t count,
                                             const OnAnswer& on_answer) {
  if (auto ready = wait_readable(); !ready) return tl::unexpected(ready.error());
  const auto datagram = socket_.receive(input_);
  if (datagram.error_number == EAGAIN) return 0;
  if (datagram.error_number != 0) {
    return fail(fmt::format("netlink: {}", std::strerror(datagram.error_number)),
                datagram.error_number);
  }
  size_t answered = 0;
  MessageWalker walker(datagram.bytes);
  Message message;
  while (walker.next(message)) {
    const uint32_t offset = message.header.nlmsg_seq - first_sequence;
    if (offset >= count) continue;
    on_answer(first + offset, answer_of(message));
    ++answered;
  }
  return answered;
}

Result<void> NetlinkExchange::run(size_t count, size_t message_bytes, const Builder& build,
                                  const OnAnswer& on_answer) {
  for (size_t next = 0; next < count;) {
    const size_t first = next;
    const uint32_t first_sequence = sequence_ + 1;
    size_t used = 0;
    while (next < count && next - first < kMessagesPerSend &&
           used + message_bytes <= kBytesPerSend) {
      nlmsghdr* header = build(next++, output_.data() + used);
      header->nlmsg_seq = ++sequence_;
      used += NLMSG_ALIGN(static_cast<size_t>(header->nlmsg_len));
    }
    auto sent = socket_.send({reinterpret_cast<const uint8_t*>(output_.data()), used});
    if (!sent) return sent;
    for (size_t answered = 0; answered < next - first;) {
      const auto more = read_answers(first, first_sequence, next - first, on_answer);
      if (!more) return tl::unexpected(more.error());
      answered += *more;
    }
  }
  return {};
}

Result<void> NetlinkExchange::one(const std::string& what, size_t message_bytes,
                                  const std::function<nlmsghdr*(char*)>& build) {
  Result<void> result;
  auto exchanged = run(
      1, message_bytes, [&](size_t, char* buffer) { return build(buffer); },
      [&](size_t, const Answer& answer) {
        if (answer.error_number != 0) {
          result = tl::unexpected(refusal(what, answer.error_number, answer.detail));
        }
      });
  if (!exchanged) {
    return fail(fmt::format("{}: {}", what, exchanged.error().message),
                exchanged.error().error_number);
  }
  return result;
}

}  // namespace hecto::router
