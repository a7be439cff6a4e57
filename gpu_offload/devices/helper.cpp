#include "gpu_offload/devices/helper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/secret_memory.hpp"
#include "gpu_offload/helper/arena_handle.hpp"
#include "gpu_offload/spsc_ring.hpp"

extern char** environ;

namespace hecto::gpu_offload {
namespace {

constexpr int kHelperSocket = 3;  // its descriptor there
constexpr size_t kLeastUpdate = size_t{1} << 20;
constexpr unsigned kMostMessages = 64;        // heard in a turn, of each socket
constexpr uint64_t kReap_ns = 2'000'000'000;  // for a keeper that was let go of to end

uint64_t clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// As a message says it. kBusy is no answer, and would be waited for.
Status status_of(const Message& message) {
  const auto said = static_cast<Status>(std::min<uint32_t>(message.status, UINT8_MAX));
  return said == Status::kOk || said == Status::kNoMemory ? said : Status::kBroken;
}

}  // namespace

// The router's ends of a pair of rings.
class HelperDevice::Queue final : public JobQueue {
 public:
  Queue(HelperDevice& device, unsigned jobs)
      : device_(device),
        jobs_(jobs),
        bytes_(SpscRing<Job>::bytes(jobs) + SpscRing<Completion>::bytes(jobs)),
        memory_(device.memory_.allocate(bytes_, -1)),
        in_(memory_, jobs),
        out_(static_cast<char*>(memory_) + SpscRing<Job>::bytes(jobs), jobs) {}
  ~Queue() override {
    std::erase(device_.queues_, this);
    if (memory_ != nullptr) device_.memory_.release(memory_, bytes_);
  }
  bool ok() const { return memory_ != nullptr; }
  void* memory() const { return memory_; }
  unsigned jobs() const { return jobs_; }
  // Control, when nobody is at the other end.
  void reset() {
    std::memset(memory_, 0, bytes_);
    in_flight_ = 0;
  }

  Status submit(std::span<const Job> jobs) noexcept override {
    if (in_flight_ + jobs.size() > jobs_ || in_.room() < jobs.size()) return Status::kBusy;
    for (const Job& job : jobs) in_.push(job);
    in_flight_ += jobs.size();
    return Status::kOk;
  }
  unsigned poll(std::span<Completion> completions) noexcept override {
    unsigned n = 0;
    while (n < completions.size() && n < in_flight_ && out_.pop(completions[n])) ++n;
    in_flight_ -= n;
    return n;
  }

 private:
  HelperDevice& device_;
  unsigned jobs_;
  size_t bytes_;
  void* memory_;
  SpscRing<Job> in_;
  SpscRing<Completion> out_;
  size_t in_flight_ = 0;
};

tl::expected<std::unique_ptr<Device>, std::string> HelperDevice::open(
    const std::string& name, const HelperOptions& options) {
  std::unique_ptr<HelperDevice> device(new HelperDevice(name, options));
  if (auto spawned = device->spawn(); !spawned) return tl::unexpected(spawned.error());
  device->begin();
  while (device->state() == Status::kBusy) {
    pollfd waiting[2] = {{device->device_.fd(), POLLIN, 0}, {device->keeper_.fd(), POLLIN, 0}};
    poll(waiting, 2, 10);
  }
  if (device->life_ != Life::kUp) {
    device->reap();
    const std::string& why = device->trouble_;
    return tl::unexpected(why.starts_with(name + ":") ? why : name + ": " + why);
  }
  device->fresh_ = true;
  return device;
}

tl::expected<void, std::string> HelperDevice::spawn() {
  const std::string& program = options_.program;
  if (access(program.c_str(), X_OK) != 0)
    return tl::unexpected(name_ + ": there is no helper at " + program);
  Channel theirs;
  if (!Channel::make_pair(keeper_, theirs)) return tl::unexpected(name_ + ": no sockets left");
  std::string cpus;
  for (const unsigned cpu : options_.cpus)
    cpus.append(cpus.empty() ? "" : ",").append(std::to_string(cpu));
  std::string path = program, named = name_;
  char* arguments[] = {path.data(), named.data(), cpus.empty() ? nullptr : cpus.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A descriptor that is 3 already would keep its close-on-exec.
  const int end =
      theirs.fd() == kHelperSocket ? fcntl(theirs.fd(), F_DUPFD_CLOEXEC, 4) : theirs.fd();
  posix_spawn_file_actions_adddup2(&actions, end, kHelperSocket);
  posix_spawn_file_actions_addclosefrom_np(&actions, kHelperSocket + 1);
  const int error =
      posix_spawn(&keeper_pid_, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (end != theirs.fd()) close(end);
  if (error != 0) return tl::unexpected(name_ + ": " + program + ": " + std::strerror(error));
  memory_.came = [this](void* start, const SharedMemory::Block& block) {
    if (life_ == Life::kStarting || life_ == Life::kUp) tell_block(start, block);
  };
  memory_.went = [this](uint32_t id) {
    Message message{.say = Say::kForget};
    message.id = id;
    tell(message);
  };
  return {};
}

// The keeper sees its socket close, kills the device's process and ends. Nobody waits for it here:
// memory that it may still be writing to is its own copy's.
HelperDevice::~HelperDevice() {
  memory_.came = nullptr;
  memory_.went = nullptr;
}

// Before anything is confined, as waiting is a call that the router does not make later. A keeper whose
// process hangs in its driver is not waited for longer.
void HelperDevice::reap() noexcept {
  keeper_.close();
  device_.close();
  const uint64_t start = clock_ns();
  while (waitpid(keeper_pid_, nullptr, WNOHANG) == 0 && clock_ns() - start < kReap_ns)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// A process that begins, with all that there is.
void HelperDevice::begin() noexcept {
  Channel theirs;
  outgoing_.clear();
  for (Queue* queue : queues_) queue->reset();
  since_ns_ = clock_ns();
  if (!Channel::make_pair(device_, theirs)) {
    end("no sockets left");
    return;
  }
  if (!keeper_.send({.say = Say::kStart}, theirs.fd())) {
    end("the helper does not listen");
    return;
  }
  life_ = Life::kStarting;
  alive_ = true;
  for (const auto& [start, block] : memory_.blocks()) tell_block(start, block);
  for (const Queue* queue : queues_) tell_queue(*queue);
}

void HelperDevice::end(std::string why) noexcept {
  life_ = life_ == Life::kLost ? Life::kLost : Life::kDown;
  if (!why.empty()) trouble_ = std::move(why);
}

// Until the process before is gone its hands may be in rings and buffers, those of its GPU too.
Status HelperDevice::restart() noexcept {
  wipe_update();
  update_status_ = Status::kOk;
  listen();
  if (std::exchange(fresh_, false) && life_ == Life::kUp) return Status::kOk;
  failure_ = Status::kBroken;
  if (life_ == Life::kLost) return Status::kBroken;
  if (!alive_) {
    begin();
    return life_ == Life::kStarting ? Status::kBusy : Status::kBroken;
  }
  device_.close();
  outgoing_.clear();
  since_ns_ = clock_ns();
  life_ = Life::kEnding;
  if (keeper_.send({.say = Say::kKill})) return Status::kBusy;
  end("the helper does not listen");
  return Status::kBroken;
}

Status HelperDevice::state() noexcept {
  listen();
  flush();
  const uint64_t now = clock_ns();
  if ((life_ == Life::kStarting || life_ == Life::kEnding) && now - since_ns_ > options_.start_ns) {
    trouble_ = life_ == Life::kStarting ? "the driver did not answer in time"
                                        : "the process before, which was killed, does not end";
    return Status::kBroken;
  }
  if (life_ == Life::kUp && update_status_ == Status::kBusy &&
      now - update_since_ns_ > options_.update_ns) {
    trouble_ = "an update was not answered in time";
    return Status::kBroken;
  }
  if (life_ == Life::kUp) return Status::kOk;
  return life_ == Life::kStarting || life_ == Life::kEnding ? Status::kBusy : failure_;
}

// What is for the device and finds no room waits; nothing overtakes it.
void HelperDevice::tell(const Message& message, int with) noexcept {
  if (life_ != Life::kStarting && life_ != Life::kUp) return;
  outgoing_.push_back({message, with});
  flush();
}

void HelperDevice::flush() noexcept {
  while (!outgoing_.empty() && device_.send(outgoing_.front().message, outgoing_.front().with))
    outgoing_.pop_front();
}

void HelperDevice::tell_block(void* start, const SharedMemory::Block& block) noexcept {
  Message message{.say = Say::kBlock};
  message.id = block.id;
  message.value = reinterpret_cast<uintptr_t>(start);
  message.bytes = block.bytes;
  tell(message, block.memory.get());
}

void HelperDevice::tell_queue(const Queue& queue) noexcept {
  Message message{.say = Say::kQueue};
  message.id = memory_.id_of(queue.memory());
  message.jobs = queue.jobs();
  tell(message);
}

void HelperDevice::listen() noexcept {
  Message message;
  FileDescriptor with;
  // The device's own words before the keeper's of its end.
  for (unsigned n = 0; n < kMostMessages && device_; ++n) {
    if (device_.receive(message, with) != Channel::Got::kMessage) break;
    heard(message);
  }
  for (unsigned n = 0; n < kMostMessages; ++n) {
    const Channel::Got got = keeper_.receive(message, with);
    if (got == Channel::Got::kNothing) return;
    if (got == Channel::Got::kClosed) {
      if (life_ != Life::kLost)
        end("the helper has ended; restart hectod to have the device again");
      life_ = Life::kLost;
      return;
    }
    if (message.say != Say::kEnded) continue;
    const bool wanted = life_ == Life::kEnding;
    const bool told = life_ == Life::kDown;
    alive_ = false;
    device_.close();
    outgoing_.clear();
    if (wanted) {
      begin();
    } else {
      end(told ? "" : "the helper ended: " + describe_end(static_cast<int>(message.value)));
    }
  }
}

void HelperDevice::heard(const Message& message) noexcept {
  const Status status = status_of(message);
  switch (message.say) {
    case Say::kHello:
      if (life_ != Life::kStarting) return;
      if (status == Status::kOk) {
        life_ = Life::kUp;
        trouble_.clear();
        if (description_.empty()) {
          description_ = message.said();
          socket_ = message.socket;
        }
      } else {
        failure_ = status;
        end(std::string(message.said()));
      }
      return;
    case Say::kUpdated:
      if (update_status_ == Status::kBusy) update_status_ = status;
      wipe_update();
      return;
    case Say::kTrouble:
      end(std::string(message.said()));
      return;
    default:
      return;
  }
}

std::unique_ptr<JobQueue> HelperDevice::make_queue(unsigned batches) {
  auto queue = std::make_unique<Queue>(*this, batches * kMostJobs);
  if (!queue->ok()) return nullptr;
  queues_.push_back(queue.get());
  tell_queue(*queue);
  return queue;
}

Status HelperDevice::pin(void* start, size_t bytes) noexcept {
  if (memory_.has(start, bytes)) return Status::kOk;
  trouble_ = "memory that the helper does not see";
  return Status::kBroken;
}

// Whether there is room for it is told by the first update.
uint32_t* HelperDevice::create_arena(size_t words) noexcept {
  Message message{.say = Say::kArena};
  message.id = next_arena_++;
  message.words = words;
  tell(message);
  return arena_handle(message.id);
}

void HelperDevice::release_arena(uint32_t* arena) noexcept {
  Message message{.say = Say::kRelease};
  message.id = arena_id(arena);
  tell(message);
}

bool HelperDevice::reserve_update(size_t bytes) noexcept {
  if (bytes <= update_room_) return true;
  if (update_ != nullptr) memory_.release(update_, update_room_);
  update_room_ = std::max(bytes + bytes / 4, kLeastUpdate);
  update_ = memory_.allocate(update_room_, socket_);
  if (update_ == nullptr) update_room_ = 0;
  return update_ != nullptr;
}

// Where both processes see it; wiped when the device has it, as it may be of keys.
Status HelperDevice::start_update(uint32_t* arena, const UpdateView& update) noexcept {
  if (update_status_ == Status::kBusy) return Status::kBusy;
  const size_t bytes = update.image.size_bytes() + update.changes.size_bytes();
  if (!reserve_update(std::max<size_t>(bytes, 1))) return Status::kNoMemory;
  auto* to = static_cast<char*>(update_);
  if (!update.image.empty()) std::memcpy(to, update.image.data(), update.image.size_bytes());
  if (!update.changes.empty())
    std::memcpy(to + update.image.size_bytes(), update.changes.data(), update.changes.size_bytes());
  update_bytes_ = bytes;
  Message message{.say = Say::kUpdate};
  message.id = arena_id(arena);
  message.block = memory_.id_of(update_);
  message.words = update.image.size();
  message.changes = update.changes.size();
  tell(message);
  update_status_ = Status::kBusy;
  update_since_ns_ = clock_ns();
  return Status::kOk;
}

void HelperDevice::wipe_update() noexcept {
  if (update_ != nullptr) wipe(update_, update_bytes_);
  update_bytes_ = 0;
}

// A device that has gone answers nothing: state() says so.
Status HelperDevice::update_status() noexcept {
  listen();
  flush();
  if (update_status_ == Status::kBusy && life_ != Life::kUp) return failure_;
  return update_status_;
}

}  // namespace hecto::gpu_offload
