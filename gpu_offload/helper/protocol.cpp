#include "gpu_offload/helper/protocol.hpp"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>

namespace hecto::gpu_offload {

bool Channel::make_pair(Channel& one, Channel& other) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return false;
  one = Channel(FileDescriptor(ends[0]));
  other = Channel(FileDescriptor(ends[1]));
  return true;
}

bool Channel::send(const Message& message, int with) {
  iovec part{const_cast<Message*>(&message), sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof with)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (with >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* about = CMSG_FIRSTHDR(&header);
    about->cmsg_level = SOL_SOCKET;
    about->cmsg_type = SCM_RIGHTS;
    about->cmsg_len = CMSG_LEN(sizeof with);
    std::memcpy(CMSG_DATA(about), &with, sizeof with);
  }
  return sendmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof message;
}

Channel::Got Channel::receive(Message& message, FileDescriptor& with) {
  iovec part{&message, sizeof message};
  int descriptor = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_LEN(sizeof descriptor);  // one: further ones Linux closes
  const ssize_t got = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Got::kNothing;
  const cmsghdr* about = got > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
  if (about != nullptr && about->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&descriptor, CMSG_DATA(about), sizeof descriptor);
    with = FileDescriptor(descriptor);
  }
  return got == sizeof message && message.version == kHelperVersion ? Got::kMessage : Got::kClosed;
}

std::string describe_end(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return "exit code " + std::to_string(WEXITSTATUS(wait_status));
  const char* name = sigabbrev_np(WTERMSIG(wait_status));
  return "signal " + std::to_string(WTERMSIG(wait_status)) +
         (name == nullptr ? "" : std::string(" (SIG") + name + ")");
}

}  // namespace hecto::gpu_offload
