// Questions to the kernel and its answers, many at once, on a socket of their own. Waits for each
// answer, at most some seconds. Control thread only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "router/linux/netlink_socket.hpp"

namespace hecto::router {

class NetlinkExchange {
 public:
  static Result<NetlinkExchange> open(const NetworkNamespace& space, int protocol = NETLINK_ROUTE);

  struct Answer {
    int error_number = 0;
    std::string detail;  // the kernel's own explanation (NETLINK_EXT_ACK), where there is one
    Message message;     // what was asked for; type 0 where the kernel only agreed
  };
  // Builds message `index` into the buffer, which has room for the `message_bytes` of run(). It
  // must ask for an acknowledgement (NLM_F_ACK) or have an answer of its own, not both.
  using Builder = std::function<nlmsghdr*(size_t index, char* buffer)>;
  using OnAnswer = std::function<void(size_t index, const Answer& answer)>;

  // One after the other, some dozens to a system call. An error: the socket failed.
  Result<void> run(size_t count, size_t message_bytes, const Builder& build,
                   const OnAnswer& on_answer);
  // A question that ends in yes or no; `what` reads "Linux refused to …".
  Result<void> one(const std::string& what, size_t message_bytes,
                   const std::function<nlmsghdr*(char*)>& build);

 private:
  explicit NetlinkExchange(NetlinkSocket socket);
  Result<void> wait_readable();
  Result<size_t> read_answers(size_t first, uint32_t first_sequence, size_t count,
                              const OnAnswer& on_answer);

  NetlinkSocket socket_;
  uint32_t sequence_ = 0;
  std::vector<char> output_;
  std::vector<uint8_t> input_;
};

// "Linux refused to add route …: File exists (the kernel's words)".
Error refusal(const std::string& what, int error_number, const std::string& detail);

}  // namespace hecto::router
