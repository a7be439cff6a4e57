#include "router/dataplane/offload/offload.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "gpu_offload/devices/open.hpp"

namespace hecto::router {
namespace {

using gpu_offload::DeviceControl;
using gpu_offload::JobKind;

constexpr unsigned kSpares = 4;
constexpr uint64_t kClose_ns = 20'000;
constexpr uint32_t kShaderSleep_us = 10;  // it shares its core with control
// Of ESP's packets in a batch, for each that it may hold; and the least, for any packet at all.
constexpr uint32_t kEspBytes = 1536;
// Times offload.latency_bound_us: a batch of CBC alone takes longer than look-ups may.
constexpr uint64_t kEspPatience = 6;
constexpr uint32_t kLeastEspBytes = 128 * 1024;

uint32_t esp_batch(const config::OffloadConfig& config) {
  return std::min(config.batch, config::kMostOffloadEspBatch);
}

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

// For the helpers: those that neither workers nor control have. None: control's, where they start.
std::vector<unsigned> spare_cpus(const config::Placement& placement) {
  std::vector<unsigned> spare;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  for (unsigned cpu = 0; cpu < online; ++cpu) {
    const bool taken = cpu == placement.control_cpu ||
                       std::ranges::any_of(placement.workers,
                                           [cpu](const auto& worker) { return worker.cpu == cpu; });
    if (!taken) spare.push_back(cpu);
  }
  return spare;
}

// `found`: which, or why there is none. What the file names must be there; `auto` takes what is.
Result<Offload::Devices> open_devices(const std::vector<std::string>& names,
                                      const std::vector<unsigned>& cpus, std::string& found) {
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
      auto device = gpu_offload::open_device(fmt::format("cuda:{}", i), cpus);
      if (!device && i == 0) found = fmt::format("none ({})", device.error());
      if (!device) break;
      take(std::move(*device));
    }
  } else {
    for (const std::string& name : names) {
      auto device = gpu_offload::open_device(name, cpus);
      if (!device) return fail("offload.device: " + device.error());
      take(std::move(*device));
    }
  }
  return devices;
}

}  // namespace

std::string cause_in_words(const DeviceControl& control) {
  const std::string& words = control.last_words();
  return fmt::format("{}{}{}", to_string(control.last_cause()), words.empty() ? "" : ": ", words);
}

Result<std::unique_ptr<Offload>> Offload::create(const config::OffloadConfig& config,
                                                 const config::Placement& placement, Tables& tables,
                                                 std::string& found) {
  if (config.lookup == config::OffloadMode::kNever && config.ipsec == config::OffloadMode::kNever) {
    found = "none (offload.lookup and offload.ipsec: never)";
    return nullptr;
  }
  auto devices = open_devices(config.devices, spare_cpus(placement), found);
  if (!devices) return tl::unexpected(devices.error());
  if (devices->empty()) return nullptr;
  return create(config, placement, tables, std::move(*devices));
}

Result<std::unique_ptr<Offload>> Offload::create(const config::OffloadConfig& config,
                                                 const config::Placement& placement, Tables& tables,
                                                 Devices devices) {
  std::unique_ptr<Offload> offload(new Offload(config, tables));
  if (config.lookup != config::OffloadMode::kNever) tables.feed_devices();
  for (auto& device : devices) offload->attach(std::move(device));
  for (const config::WorkerPlacement& worker : placement.workers)
    if (auto done = offload->give(worker); !done) return tl::unexpected(done.error());
  for (Attached& attached : offload->devices_)
    if (attached.workers.empty())
      spdlog::warn("offload {}: unused, there is no worker for it on its socket {}",
                   attached.control.device().name(), attached.control.device().socket());
  return offload;
}

Offload::Offload(const config::OffloadConfig& config, Tables& tables)
    : config_(config), tables_(tables) {
  if (config_.ipsec != config::OffloadMode::kNever) keys_ = std::make_unique<EspKeys>();
}

// Copies of tables go with the devices; stages need what they have in flight to be over.
Offload::~Offload() {
  for (Attached& device : devices_) {
    if (device.shader) device.shader->stop();
    if (device.table4 != nullptr) tables_.feed4().remove(*device.table4);
    if (device.table6 != nullptr) tables_.feed6().remove(*device.table6);
    if (device.keys != nullptr) keys_->table().remove(*device.keys);
    device.control.device().restart();
  }
  workers_.clear();
}

void Offload::attach(std::unique_ptr<gpu_offload::Device> device) {
  Attached& attached = devices_.emplace_back(std::move(device));
  if (config_.lookup != config::OffloadMode::kNever) {
    attached.table4 = &attached.control.add_table([this] { return tables_.fib4().image(); });
    attached.table6 = &attached.control.add_table([this] { return tables_.fib6().image(); });
    tables_.feed4().add(*attached.table4);
    tables_.feed6().add(*attached.table6);
  }
  if (keys_) {
    attached.keys = &attached.control.add_table([this] { return keys_->table().image(); });
    keys_->table().add(*attached.keys);
  }
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

// Makes a worker's stages on its device; `failed` when one of them could not be had.
struct Offload::Stages {
  Attached& device;
  const config::OffloadConfig& config;
  const config::WorkerPlacement& worker;
  const Tables& tables;
  lookup::Memory& memory;
  bool failed = false;

  std::unique_ptr<gpu_offload::Stage> make(gpu_offload::StageOptions options,
                                           gpu_offload::TableMirror& table) {
    options.spares = kSpares;
    options.close_ns = kClose_ns;
    options.deadline_ns = uint64_t{config.deadline_us} * 1000;
    options.socket = worker.socket;
    const unsigned batches = options.slots + options.spares;
    DeviceControl& control = device.control;
    auto stage = std::make_unique<gpu_offload::Stage>(
        options, control.device(), control.health(),
        gpu_offload::StageTables{&table.table(), &table.table()},
        device.shader ? device.shader->make_queue(batches) : control.device().make_queue(batches),
        memory);
    failed = failed || !stage->ok();
    made.push_back(stage.get());
    return stage;
  }
  std::unique_ptr<gpu_offload::Stage> lookup(JobKind kind, gpu_offload::TableMirror& table) {
    gpu_offload::StageOptions options;
    options.kind = kind;
    options.slots = config::kOffloadBatches;
    options.items = config.batch;
    options.groups = tables.max_groups();
    return make(options, table);
  }
  std::unique_ptr<gpu_offload::Stage> esp(JobKind kind) {
    gpu_offload::StageOptions options;
    options.kind = kind;
    options.slots = config::kOffloadEspBatches;
    options.items = esp_batch(config);
    options.payload_bytes = std::max(options.items * kEspBytes, kLeastEspBytes);
    return make(options, *device.keys);
  }
  std::vector<gpu_offload::Stage*> made;
};

gpu_offload::DecisionOptions Offload::decision(config::OffloadMode mode) const {
  gpu_offload::DecisionOptions options;
  options.mode = mode_of(mode);
  options.latency_bound_ns = uint64_t{config_.latency_bound_us} * 1000;
  options.close_ns = kClose_ns;
  return options;
}

std::unique_ptr<WorkerOffload::Lookups> Offload::lookups(Stages& stages) const {
  if (config_.lookup == config::OffloadMode::kNever) return nullptr;
  gpu_offload::DecisionOptions options = decision(config_.lookup);
  options.slots = config::kOffloadBatches;
  options.items = config_.batch;
  auto stage4 = stages.lookup(JobKind::kLookup4, *stages.device.table4);
  auto stage6 = stages.lookup(JobKind::kLookup6, *stages.device.table6);
  if (stages.failed) return nullptr;
  return std::make_unique<WorkerOffload::Lookups>(std::move(stage4), std::move(stage6), options);
}

std::unique_ptr<EspOffload> Offload::esp(Stages& stages) const {
  if (!keys_) return nullptr;
  gpu_offload::DecisionOptions options = decision(config_.ipsec);
  options.slots = config::kOffloadEspBatches;
  options.items = esp_batch(config_);
  options.latency_bound_ns *= kEspPatience;
  auto open_gcm = stages.esp(JobKind::kOpenGcm), open_cbc = stages.esp(JobKind::kOpenCbc);
  auto seal_gcm = stages.esp(JobKind::kSealGcm), seal_cbc = stages.esp(JobKind::kSealCbc);
  if (stages.failed) return nullptr;
  return std::make_unique<EspOffload>(
      std::make_unique<EspDirection>(std::move(open_gcm), std::move(open_cbc), options),
      std::make_unique<EspDirection>(std::move(seal_gcm), std::move(seal_cbc), options));
}

Result<void> Offload::give(const config::WorkerPlacement& worker) {
  if (workers_.size() <= worker.id) workers_.resize(worker.id + 1);
  Attached* device = least_used(worker.socket);
  if (device == nullptr) return {};
  Stages stages{*device, config_, worker, tables_, tables_.memory(), false, {}};
  auto its_lookups = lookups(stages);
  auto its_esp = stages.failed ? nullptr : esp(stages);
  if (stages.failed)
    return fail(fmt::format("offload: {} cannot pin batches of {} packets for worker {}",
                            device->control.device().name(), config_.batch, worker.id));
  for (gpu_offload::Stage* stage : stages.made) device->control.add_user(stage->holds());
  workers_[worker.id] = std::make_unique<WorkerOffload>(std::move(its_lookups), std::move(its_esp));
  device->workers.push_back(worker.id);
  return {};
}

bool Offload::tick() {
  bool soon = false;
  if (keys_) keys_->table().publish();
  for (Attached& device : devices_) {
    device.control.tick(now_ns());
    log_state(device);
    soon = soon || device.control.phase() == DeviceControl::Phase::kStarting ||
           device.control.phase() == DeviceControl::Phase::kLoading;
    for (const gpu_offload::TableMirror* table : {device.table4, device.table6, device.keys})
      soon = soon || (table != nullptr && table->waiting() > 0);
  }
  return soon;
}

// One line when a device comes and when it goes.
void Offload::log_state(Attached& device) {
  const std::string& name = device.control.device().name();
  const bool ready = device.control.phase() == DeviceControl::Phase::kReady;
  if (device.control.stops() > device.stops_logged) {
    device.stops_logged = device.control.stops();
    spdlog::warn("offload {}: {}; the work goes on here, next start in {:.0f} s", name,
                 cause_in_words(device.control),
                 static_cast<double>(device.control.next_start_ns() - now_ns()) / 1e9);
  }
  if (ready && !device.ready_logged)
    spdlog::info("offload {}: ready, {}", name, device.control.device().description());
  device.ready_logged = ready;
}

}  // namespace hecto::router
