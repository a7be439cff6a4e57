// A helper whose device, the host one or HECTO_FAULTY_DEVICE, has a fault as long as a file is there: what HelperTest starts in
// hecto-gpu's place. The device's name is FAULT:FILE; FILE.pid says who has it.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "gpu_offload/devices/open.hpp"
#include "gpu_offload/helper/keeper.hpp"
#include "gpu_offload/helper/protocol.hpp"

namespace {

using namespace hecto;
using namespace hecto::gpu_offload;

void hang() {
  for (;;) pause();
}

class FaultyDevice final : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> device, std::string fault, std::string file)
      : device_(std::move(device)), fault_(std::move(fault)), file_(std::move(file)) {}
  bool has(const char* fault) const { return fault_ == fault && access(file_.c_str(), F_OK) == 0; }

  const std::string& name() const override { return device_->name(); }
  const std::string& description() const override { return fault_; }
  int socket() const override { return -1; }
  Status restart() noexcept override {
    if (has("hangs-at-start")) hang();
    if (has("busy-at-start")) return Status::kBusy;
    return has("no-memory-at-start") ? Status::kNoMemory : device_->restart();
  }
  std::string trouble() const override {
    return has("no-memory-at-start") ? "all of it in use" : "";
  }
  std::unique_ptr<JobQueue> make_queue(unsigned batches) override {
    return std::make_unique<Queue>(*this, device_->make_queue(batches));
  }
  Status pin(void* start, size_t bytes) noexcept override { return device_->pin(start, bytes); }
  void unpin(void* start) noexcept override { device_->unpin(start); }
  uint32_t* create_arena(size_t words) noexcept override {
    return has("no-memory") ? nullptr : device_->create_arena(words);
  }
  void release_arena(uint32_t* arena) noexcept override { device_->release_arena(arena); }
  Status start_update(uint32_t* arena, const UpdateView& update) noexcept override {
    return device_->start_update(arena, update);
  }
  Status update_status() noexcept override {
    return has("never-updates") ? Status::kBusy : device_->update_status();
  }

 private:
  struct Queue final : JobQueue {
    Queue(FaultyDevice& device, std::unique_ptr<JobQueue> queue)
        : device_(device), queue_(std::move(queue)) {}
    Status submit(std::span<const Job> jobs) noexcept override {
      if (device_.has("trap")) return trap(jobs[0]);
      if (device_.has("hangs")) hang();
      if (device_.has("refuses")) return Status::kBroken;
      if (device_.has("spin")) return Status::kOk;  // a kernel that never ends
      if (device_.has("late")) std::this_thread::sleep_for(std::chrono::milliseconds(250));
      const Status status = queue_->submit(jobs);
      if (device_.has("garbage"))
        for (const Job& job : jobs) std::memset(job.output, 0xee, size_t{job.count} * 2);
      return status;
    }
    unsigned poll(std::span<Completion> completions) noexcept override {
      const unsigned n = queue_->poll(completions);
      for (Completion& one : completions.first(n)) {
        if (device_.has("short")) --one.count;
        if (device_.has("error")) one.ok = false;
      }
      return n;
    }
    // An arena where nothing is: a signal on a CPU, an illegal access on a GPU.
    Status trap(Job job) {
      job.arena = reinterpret_cast<const uint32_t*>(64);
      return queue_->submit({&job, 1});
    }
    FaultyDevice& device_;
    std::unique_ptr<JobQueue> queue_;
  };

  std::unique_ptr<Device> device_;
  std::string fault_, file_;
};

// Keeper and device in one, which says too much: more than is heard in a turn, and then what counts.
// FILE.pid comes when all of it has been said.
int talk(Channel keeper, bool as_device, const std::string& file) {
  Channel device;
  const auto wait_for = [](Channel& channel, Say what, FileDescriptor& with) {
    for (Message message;; usleep(100)) {
      const Channel::Got got = channel.receive(message, with);
      if (got == Channel::Got::kMessage && message.say == what) return true;
      if (got == Channel::Got::kClosed) return false;
    }
  };
  FileDescriptor with;
  if (!wait_for(keeper, Say::kStart, with)) return 1;
  device = Channel(std::move(with));
  Message hello{.say = Say::kHello};
  hello.say_text("talks");
  device.send(hello);
  if (!wait_for(device, Say::kArena, with)) return 1;
  for (int i = 0; i < 70; ++i) (as_device ? device : keeper).send({.say = Say::kHello});
  Message last{.say = as_device ? Say::kTrouble : Say::kEnded};
  last.say_text("said at last");
  if ((as_device ? device : keeper).send(last))
    std::ofstream(file + ".pid") << getpid() << std::endl;
  wait_for(keeper, Say::kKill, with);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const std::string fault = name.substr(0, name.find(':'));
  const std::string file = name.substr(name.find(':') + 1);
  if (fault == "talks-as-device" || fault == "talks-as-keeper")
    return talk(Channel(FileDescriptor(3)), fault == "talks-as-device", file);
  return keep_device(FileDescriptor(3),
                     [&]() -> tl::expected<std::unique_ptr<Device>, std::string> {
                       if (fault == "no-driver")
                         return tl::unexpected(std::string("the driver is too old"));
                       const char* wanted = std::getenv("HECTO_FAULTY_DEVICE");
                       auto device = open_helper_device(wanted == nullptr ? "host" : wanted);
                       if (!device) return device;
                       std::ofstream(file + ".pid") << getpid() << " " << getppid() << std::endl;
                       return std::make_unique<FaultyDevice>(std::move(*device), fault, file);
                     });
}
