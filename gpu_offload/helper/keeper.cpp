#include "gpu_offload/helper/keeper.hpp"

#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "gpu_offload/helper/server.hpp"

namespace hecto::gpu_offload {
namespace {

// Numbers and ranges of them, with commas.
bool read_cpus(const std::string& list, cpu_set_t& cpus) {
  CPU_ZERO(&cpus);
  std::stringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const char* const end = part.data() + part.size();
    unsigned first = 0;
    auto read = std::from_chars(part.data(), end, first);
    unsigned last = first;
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc{} || read.ptr != end || last >= CPU_SETSIZE) return false;
    for (; first <= last; ++first) CPU_SET(first, &cpus);
  }
  return CPU_COUNT(&cpus) != 0;
}

// Of the CPUs that it may use, those of the device's socket, if there are any.
void stay_near(int socket) {
  std::string list;
  std::getline(std::ifstream("/sys/devices/system/node/node" + std::to_string(socket) + "/cpulist"),
               list);
  cpu_set_t here, near;
  if (!read_cpus(list, near) || sched_getaffinity(0, sizeof here, &here) != 0) return;
  CPU_AND(&near, &near, &here);
  if (CPU_COUNT(&near) != 0) sched_setaffinity(0, sizeof near, &near);
}

// Of this process and those to come: none but to lock memory. What a device needs beyond is the right
// to open its files, which a user may have without any. Where the bounding set stays (no
// CAP_SETPCAP), no_new_privs keeps a program from getting more than there was.
bool give_up_capabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int one = 0; prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one)
    if (one != CAP_IPC_LOCK) prctl(PR_CAPBSET_DROP, one, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  const uint32_t kept = sets[0].permitted & 1U << CAP_IPC_LOCK;
  sets[0] = {.effective = kept, .permitted = kept, .inheritable = 0};
  sets[1] = {};
  return syscall(SYS_capset, &header, sets) == 0;
}

// The process with the device.
int serve(Channel channel, const OpenDevice& open) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // keys pass through it
  Message hello{.say = Say::kHello};
  auto device = open();
  Status status = Status::kBroken;
  if (!device) {
    hello.say_text(device.error());
  } else {
    status = (*device)->restart();
    const std::string words = (*device)->trouble();
    hello.socket = (*device)->socket();
    hello.say_text(status == Status::kOk ? (*device)->description()
                   : words.empty()       ? to_string(status)
                                         : words.c_str());
  }
  hello.status = static_cast<uint32_t>(status);
  if (!channel.send(hello) || status != Status::kOk) return 1;
  if (hello.socket >= 0) stay_near(hello.socket);
  return HelperServer(std::move(channel), std::move(*device)).run();
}

constexpr int kLook_ms = 100;  // for the child's end, on kernels that do not tell it

class Keeper {
 public:
  Keeper(Channel router, const OpenDevice& open) : router_(std::move(router)), open_(open) {}
  ~Keeper() {
    kill_child();
    while (child_ > 0) told_end(0);
  }

  int run() {
    for (;;) {
      pollfd watched[2] = {{router_.fd(), POLLIN, 0}, {ends_.get(), POLLIN, 0}};
      if (poll(watched, ends_ ? 2 : 1, child_ > 0 && !ends_ ? kLook_ms : -1) < 0 && errno != EINTR)
        return 1;
      if (child_ > 0) told_end(WNOHANG);
      Message message;
      FileDescriptor with;
      const auto got = router_.receive(message, with);
      if (got == Channel::Got::kClosed) return 0;
      if (got == Channel::Got::kNothing) continue;
      if (message.say == Say::kKill) kill_child();
      if (message.say == Say::kStart && child_ <= 0) start(std::move(with));
    }
  }

 private:
  void start(FileDescriptor socket) {
    child_ = fork();
    if (child_ == 0) {
      router_.close();
      ends_.reset();
      _exit(serve(Channel(std::move(socket)), open_));
    }
    if (child_ < 0) return tell(0x100);  // as if it had ended with exit code 1
    ends_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, child_, 0)));
  }
  void kill_child() {
    if (child_ > 0) kill(child_, SIGKILL);
  }
  void told_end(int flags) {
    int status = 0;
    if (waitpid(child_, &status, flags) != child_) return;
    child_ = -1;
    ends_.reset();
    tell(status);
  }
  void tell(int status) {
    Message ended{.say = Say::kEnded};
    ended.value = static_cast<uint64_t>(status);
    router_.send(ended);
  }

  Channel router_;
  const OpenDevice& open_;
  pid_t child_ = -1;
  FileDescriptor ends_;  // readable when the child has ended
};

}  // namespace

bool stay_on(const std::string& list) {
  cpu_set_t cpus;
  return read_cpus(list, cpus) && sched_setaffinity(0, sizeof cpus, &cpus) == 0;
}

int keep_device(FileDescriptor router, const OpenDevice& open) {
  // A terminal's and the service manager's are for the router, which lets go by itself.
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(one, SIG_IGN);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!give_up_capabilities()) return 1;
  return Keeper(Channel(std::move(router)), open).run();
}

}  // namespace hecto::gpu_offload
