#include "gpu_offload/helper/server.hpp"

#include <chrono>
#include <thread>

#include "gpu_offload/helper/arena_handle.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr unsigned kBatches = 8;  // at the device: a GPU has so many hardware queues
constexpr unsigned kTurns = 64;   // of the shader between two looks at the socket
// Turns without work before it sleeps: on a GPU, where it has a core of its own, some milliseconds.
constexpr unsigned kIdleTurns = 200'000, kIdleTurnsOnCpu = 1000;
constexpr auto kIdleSleep = std::chrono::microseconds(50);

uint64_t clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Jobs as the router wrote them go to the device in this process's addresses. What cannot be
// translated is answered as failed.
class TranslatingQueue final : public JobQueue {
 public:
  TranslatingQueue(const Translation& translation, std::unique_ptr<JobQueue> queue)
      : translation_(translation), queue_(std::move(queue)) {}
  Status submit(std::span<const Job> jobs) noexcept override {
    Job here[kMostJobs];
    for (size_t i = 0; i < jobs.size(); ++i) {
      here[i] = jobs[i];
      if (!translation_.translate(here[i])) return Status::kBroken;
    }
    return queue_->submit({here, jobs.size()});
  }
  unsigned poll(std::span<Completion> completions) noexcept override {
    return queue_->poll(completions);
  }

 private:
  const Translation& translation_;
  std::unique_ptr<JobQueue> queue_;
};

}  // namespace

void Translation::add(uint32_t id, uint64_t there, SharedView view) {
  remove(id);
  Mapped& mapped = blocks_[id] = {there, std::move(view)};
  by_address_[there] = &mapped;
}

void Translation::remove(uint32_t id) {
  const auto block = blocks_.find(id);
  if (block == blocks_.end()) return;
  by_address_.erase(block->second.there);
  blocks_.erase(block);
}

const SharedView* Translation::block(uint32_t id) const {
  const auto block = blocks_.find(id);
  return block == blocks_.end() ? nullptr : &block->second.view;
}

void* Translation::here(const void* there, uint64_t bytes) const noexcept {
  const auto address = reinterpret_cast<uintptr_t>(there);
  auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return nullptr;
  const Mapped& block = *(--next)->second;
  const uint64_t offset = address - block.there;
  if (offset > block.view.bytes() || bytes > block.view.bytes() - offset) return nullptr;
  return block.view.start() + offset;
}

bool Translation::translate(Job& job) const noexcept {
  const auto arena = arenas.find(arena_id(job.arena));
  if (static_cast<unsigned>(job.kind) >= kJobKinds || arena == arenas.end() ||
      arena->second.here == nullptr)
    return false;
  job.input = here(job.input, uint64_t{job.count} * input_bytes(job.kind));
  job.output = here(job.output, uint64_t{job.count} * output_bytes(job.kind));
  if (job.input == nullptr || job.output == nullptr) return false;
  job.arena = arena->second.here;
  if (is_lookup(job.kind)) return true;
  job.payload = here(job.payload, job.payload_bytes);
  job.result = here(job.result, job.payload_bytes);
  return job.payload != nullptr && job.result != nullptr && job.arena_info <= arena->second.words;
}

HelperServer::HelperServer(Channel channel, std::unique_ptr<Device> device)
    : channel_(std::move(channel)), device_(std::move(device)) {
  ShaderOptions options;
  options.in_flight = kBatches;
  options.any_epoch = true;
  auto queue = device_->make_queue(options.in_flight);
  if (queue == nullptr) return;
  shader_ = std::make_unique<Shader>(
      options, std::make_unique<TranslatingQueue>(translation_, std::move(queue)), health_);
  health_.set_ready();
}

int HelperServer::run() {
  if (shader_ == nullptr) {
    give_up("the device has no queue");
    return 1;
  }
  const unsigned most = device_->name() == "host" ? kIdleTurnsOnCpu : kIdleTurns;
  for (unsigned idle = 0, turn = 0; !given_up_; ++turn) {
    idle = shader_->turn(clock_ns()) ? 0 : idle + 1;
    if (turn % kTurns == 0 || idle >= most) {
      if (!obey()) return 0;
      if (updating_)
        if (const Status status = device_->update_status(); status != Status::kBusy)
          answer_update(status);
      if (!health_.ready()) give_up(to_string(health_.cause()));
      if (const Status state = device_->state(); state != Status::kOk) give_up(to_string(state));
    }
    if (idle < most) {
      if (idle != 0) std::this_thread::yield();
    } else if (!updating_) {
      std::this_thread::sleep_for(kIdleSleep);
    }
  }
  return 1;
}

bool HelperServer::obey() {
  for (;;) {
    Message message;
    FileDescriptor with;
    switch (channel_.receive(message, with)) {
      case Channel::Got::kNothing:
        return true;
      case Channel::Got::kClosed:
        return false;
      case Channel::Got::kMessage:
        obey(message, std::move(with));
    }
  }
}

void HelperServer::obey(const Message& message, FileDescriptor with) {
  auto& arenas = translation_.arenas;
  switch (message.say) {
    case Say::kBlock:
      return map(message, with);
    case Say::kForget:
      if (const SharedView* block = translation_.block(message.id)) {
        shader_->remove_rings(block->start());
        device_->unpin(block->start());
        translation_.remove(message.id);
      }
      return;
    case Say::kQueue:
      return add_queue(message);
    case Say::kArena:
      arenas[message.id] = {device_->create_arena(message.words), message.words};
      return;
    case Say::kRelease:
      if (const auto arena = arenas.find(message.id); arena != arenas.end()) {
        if (arena->second.here != nullptr) device_->release_arena(arena->second.here);
        arenas.erase(arena);
      }
      return;
    case Say::kUpdate:
      return begin_update(message);
    default:
      give_up("a message that is none");
  }
}

void HelperServer::add_queue(const Message& message) {
  const SharedView* block = translation_.block(message.id);
  const size_t jobs_bytes = SpscRing<Job>::bytes(message.jobs);
  if (block == nullptr || jobs_bytes + SpscRing<Completion>::bytes(message.jobs) > block->bytes())
    return give_up("a queue without memory");
  shader_->add_rings(block->start(), block->start() + jobs_bytes, message.jobs);
}

void HelperServer::map(const Message& message, const FileDescriptor& memory) {
  SharedView view(memory.get(), message.bytes);
  if (view.start() == nullptr) return give_up("shared memory cannot be mapped");
  if (const Status status = device_->pin(view.start(), view.bytes()); status != Status::kOk)
    return give_up("shared memory cannot be pinned");
  translation_.add(message.id, message.value, std::move(view));
}

// The update is read where the router wrote it: pinned memory, no copy of keys that nobody wipes.
void HelperServer::begin_update(const Message& message) {
  const auto arena = translation_.arenas.find(message.id);
  const SharedView* block = translation_.block(message.block);
  const uint64_t bytes = message.words * 4 + message.changes * sizeof(lookup::WordChange);
  if (arena == translation_.arenas.end() || block == nullptr || bytes > block->bytes() ||
      message.words > arena->second.words)
    return give_up("an update that is none");
  if (arena->second.here == nullptr) return answer_update(Status::kNoMemory);
  const char* start = block->start();
  const UpdateView update{
      {reinterpret_cast<const uint32_t*>(start), message.words},
      {reinterpret_cast<const lookup::WordChange*>(start + message.words * 4), message.changes}};
  const Status status = device_->start_update(arena->second.here, update);
  updating_ = status == Status::kOk;
  if (!updating_) answer_update(status);
}

void HelperServer::answer_update(Status status) {
  updating_ = false;
  Message answer{.say = Say::kUpdated};
  answer.status = static_cast<uint32_t>(status);
  if (!channel_.send(answer)) given_up_ = true;
}

void HelperServer::give_up(const char* why) {
  if (given_up_) return;
  given_up_ = true;
  Message last{.say = Say::kTrouble};
  const std::string words = device_->trouble();
  last.say_text(words.empty() ? why : words);
  channel_.send(last);
}

}  // namespace hecto::gpu_offload
