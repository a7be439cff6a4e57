#include "gpu_offload/devices/plugin.hpp"

#include <dlfcn.h>

#include <array>

#include "gpu_offload/devices/plugin_abi.hpp"

namespace hecto::gpu_offload {
namespace {

class PluginQueue final : public JobQueue {
 public:
  PluginQueue(const HectoDeviceApi& api, HectoQueue* queue) : api_(api), queue_(queue) {}
  ~PluginQueue() override { api_.close_queue(queue_); }
  Status submit(std::span<const Job> jobs) noexcept override {
    return static_cast<Status>(
        api_.submit(queue_, jobs.data(), static_cast<unsigned>(jobs.size())));
  }
  unsigned poll(std::span<Completion> completions) noexcept override {
    return api_.poll(queue_, completions.data(), static_cast<unsigned>(completions.size()));
  }

 private:
  const HectoDeviceApi& api_;
  HectoQueue* queue_;
};

class PluginDevice final : public Device {
 public:
  PluginDevice(const HectoDeviceApi& api, HectoDevice* device, std::string name,
               std::string description, int socket)
      : api_(api),
        device_(device),
        name_(std::move(name)),
        description_(std::move(description)),
        socket_(socket) {}
  ~PluginDevice() override { api_.close(device_); }

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return description_; }
  int socket() const override { return socket_; }
  Status restart() noexcept override { return static_cast<Status>(api_.restart(device_)); }
  std::string trouble() const override {
    return api_.trouble == nullptr ? "" : api_.trouble(device_);
  }
  std::unique_ptr<JobQueue> make_queue(unsigned batches) override {
    HectoQueue* queue = api_.open_queue(device_, batches);
    return queue == nullptr ? nullptr : std::make_unique<PluginQueue>(api_, queue);
  }
  Status pin(void* start, size_t bytes) noexcept override {
    return static_cast<Status>(api_.pin(device_, start, bytes));
  }
  void unpin(void* start) noexcept override { api_.unpin(device_, start); }
  uint32_t* create_arena(size_t words) noexcept override {
    return api_.create_arena(device_, words);
  }
  void release_arena(uint32_t* arena) noexcept override { api_.release_arena(device_, arena); }
  Status start_update(uint32_t* arena, const UpdateView& update) noexcept override {
    const uint32_t* image = update.image.empty() ? nullptr : update.image.data();
    return static_cast<Status>(api_.start_update(
        device_, arena, image, update.image.size(),
        reinterpret_cast<const uint32_t*>(update.changes.data()), update.changes.size()));
  }
  Status update_status() noexcept override {
    return static_cast<Status>(api_.update_status(device_));
  }

 private:
  const HectoDeviceApi& api_;
  HectoDevice* device_;
  std::string name_;
  std::string description_;
  int socket_;
};

}  // namespace

tl::expected<Plugin, std::string> Plugin::load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return tl::unexpected(std::string(dlerror()));
  using Entry = const HectoDeviceApi* (*)();
  auto entry = reinterpret_cast<Entry>(dlsym(library, kHectoDeviceSymbol));
  if (entry == nullptr) return tl::unexpected(path + ": not a device plug-in of hecto");
  const HectoDeviceApi* api = entry();
  if (api->abi != kHectoDeviceAbi || api->job_bytes != sizeof(Job) ||
      api->completion_bytes != sizeof(Completion)) {
    return tl::unexpected(path + ": built for another version of hecto (interface " +
                          std::to_string(api->abi) + ", wanted " + std::to_string(kHectoDeviceAbi) +
                          ")");
  }
  return Plugin(*api);
}

tl::expected<unsigned, std::string> Plugin::count() const {
  std::array<char, 256> text{};
  const int count = api_->count(text.data(), text.size());
  if (count <= 0) return tl::unexpected(std::string(text.data()));
  return static_cast<unsigned>(count);
}

tl::expected<std::unique_ptr<Device>, std::string> Plugin::open(unsigned index,
                                                                const std::string& name) const {
  std::array<char, 256> text{};
  int socket = -1;
  HectoDevice* device = api_->open(static_cast<int>(index), &socket, text.data(), text.size());
  if (device == nullptr) return tl::unexpected(name + ": " + text.data());
  return std::make_unique<PluginDevice>(*api_, device, name, text.data(), socket);
}

}  // namespace hecto::gpu_offload
