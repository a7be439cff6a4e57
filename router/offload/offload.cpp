#include "router/offload/offload.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>

#include "gpu_offload/devices/open.hpp"

namespace hecto::router {
namespace {

using gpu_offload::DeviceControl;
using gpu_offload::JobKind;

constexpr unsigned kSpares = 4;
constexpr uint64_t kClose_ns = 20'000;
constexpr uint32_t kShaderSleep_us = 10;  // it shares its core with control

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

gpu_offload::Mode mode_of(config::OffloadMode mode) {
  switch (mode) {
    case config::OffloadMode::kNever:
      return gpu_offload::Mode::kNever;
    case config::OffloadMode::kAlways:
      return gpu_offload::Mode::kAlways;
    case config::OffloadMode::kAuto:
      break;
  }
  return gpu_offload::Mode::kAuto;
}

// `found`: which, or why there is none. What the file names must be there; `auto` takes what is.
Result<Offload::Devices> open_devices(const std::vector<std::string>& names, std::string& found) {
  Offload::Devices devices;
  found.clear();
  const auto take = [&](std::unique_ptr<gpu_offload::Device> device) {
    found +=
        fmt::format("{}{} ({})", found.empty() ? "" : ", ", device->name(), device->description());
    devices.push_back(std::move(device));
  };
  if (names[0] == "none") {
    found = "none";
  } else if (names[0] == "auto") {
    for (unsigned i = 0;; ++i) {
      auto device = gpu_offload::open_device(fmt::format("cuda:{}", i));
      if (!device && i == 0) found = fmt::format("none ({})", device.error());
      if (!device) break;
      take(std::move(*device));
    }
  } else {
    for (const std::string& name : names) {
      auto device = gpu_offload::open_device(name);
      if (!device) return fail("offload.device: " + device.error());
      take(std::move(*device));
    }
  }
  return devices;
}

}  // namespace

Result<std::unique_ptr<Offload>> Offload::create(const config::OffloadConfig& config,
                                                 const config::Placement& placement, Tables& tables,
                                                 std::string& found) {
  if (config.lookup == config::OffloadMode::kNever) {
    found = "none (offload.lookup: never)";
    return nullptr;
  }
  auto devices = open_devices(config.devices, found);
  if (!devices) return tl::unexpected(devices.error());
  if (devices->empty()) return nullptr;
  return create(config, placement, tables, std::move(*devices));
}

Result<std::unique_ptr<Offload>> Offload::create(const config::OffloadConfig& config,
                                                 const config::Placement& placement, Tables& tables,
                                                 Devices devices) {
  std::unique_ptr<Offload> offload(new Offload(config, tables));
  tables.feed_devices();
  for (auto& device : devices) offload->attach(std::move(device));
  for (const config::WorkerPlacement& worker : placement.workers)
    if (auto done = offload->give(worker); !done) return tl::unexpected(done.error());
  for (Attached& attached : offload->devices_)
    if (attached.workers.empty())
      spdlog::warn("offload {}: unused, there is no worker for it on its socket {}",
                   attached.control.device().name(), attached.control.device().socket());
  return offload;
}

// Copies of tables go with the devices; stages need what they have in flight to be over.
Offload::~Offload() {
  for (Attached& device : devices_) {
    if (device.shader) device.shader->stop();
    tables_.feed4().remove(*device.table4);
    tables_.feed6().remove(*device.table6);
    device.control.device().restart();
  }
  workers_.clear();
}

void Offload::attach(std::unique_ptr<gpu_offload::Device> device) {
  Attached& attached = devices_.emplace_back(std::move(device));
  attached.table4 = &attached.control.add_table([this] { return tables_.fib4().image(); });
  attached.table6 = &attached.control.add_table([this] { return tables_.fib6().image(); });
  tables_.feed4().add(*attached.table4);
  tables_.feed6().add(*attached.table6);
  if (!config_.shader) return;
  gpu_offload::ShaderOptions options;
  options.idle_sleep_us = kShaderSleep_us;
  attached.shader = std::make_unique<gpu_offload::Shader>(options, attached.control.device(),
                                                          attached.control.health());
  attached.control.add_user(attached.shader->holds());
  attached.shader->start();
}

// The device with the fewest workers of those on that socket, or on any.
Offload::Attached* Offload::least_used(int socket) {
  Attached* least = nullptr;
  for (Attached& device : devices_) {
    const int its = device.control.device().socket();
    if (its >= 0 && its != socket) continue;
    if (least == nullptr || device.workers.size() < least->workers.size()) least = &device;
  }
  return least;
}

Result<void> Offload::give(const config::WorkerPlacement& worker) {
  if (workers_.size() <= worker.id) workers_.resize(worker.id + 1);
  Attached* device = least_used(worker.socket);
  if (device == nullptr) return {};
  DeviceControl& control = device->control;
  const auto queue = [&](unsigned batches) {
    return device->shader ? device->shader->make_queue(batches)
                          : control.device().make_queue(batches);
  };
  const auto stage = [&](JobKind kind, gpu_offload::TableMirror& table) {
    gpu_offload::StageOptions options;
    options.kind = kind;
    options.slots = config::kOffloadBatches;
    options.spares = kSpares;
    options.items = config_.batch;
    options.close_ns = kClose_ns;
    options.deadline_ns = uint64_t{config_.deadline_us} * 1000;
    options.socket = worker.socket;
    return std::make_unique<gpu_offload::Stage>(
        options, control.device(), control.health(),
        gpu_offload::StageTables{&table.table(), &table.table()},
        queue(options.slots + options.spares), tables_.memory());
  };
  auto stage4 = stage(JobKind::kLookup4, *device->table4);
  auto stage6 = stage(JobKind::kLookup6, *device->table6);
  if (!stage4->ok() || !stage6->ok())
    return fail(fmt::format("offload: {} cannot pin {} batches of {} packets for worker {}",
                            control.device().name(), config::kOffloadBatches + kSpares,
                            config_.batch, worker.id));
  control.add_user(stage4->holds());
  control.add_user(stage6->holds());
  gpu_offload::DecisionOptions decision;
  decision.mode = mode_of(config_.lookup);
  decision.latency_bound_ns = uint64_t{config_.latency_bound_us} * 1000;
  decision.close_ns = kClose_ns;
  decision.items = config_.batch;
  decision.slots = config::kOffloadBatches;
  workers_[worker.id] =
      std::make_unique<WorkerOffload>(std::move(stage4), std::move(stage6), decision);
  device->workers.push_back(worker.id);
  return {};
}

bool Offload::tick() {
  bool soon = false;
  for (Attached& device : devices_) {
    device.control.tick(now_ns());
    tell(device);
    soon = soon || device.control.phase() == DeviceControl::Phase::kLoading ||
           device.table4->waiting() > 0 || device.table6->waiting() > 0;
  }
  return soon;
}

// One line when a device comes and when it goes.
void Offload::tell(Attached& device) {
  const std::string& name = device.control.device().name();
  const bool ready = device.control.phase() == DeviceControl::Phase::kReady;
  if (device.control.stops() > device.stops_told) {
    device.stops_told = device.control.stops();
    spdlog::warn("offload {}: {}; look-ups go on here, next start in {:.0f} s", name,
                 to_string(device.control.last_cause()),
                 static_cast<double>(device.control.next_start_ns() - now_ns()) / 1e9);
  }
  if (ready && !device.ready_told)
    spdlog::info("offload {}: ready, {}", name, device.control.device().description());
  device.ready_told = ready;
}

}  // namespace hecto::router
