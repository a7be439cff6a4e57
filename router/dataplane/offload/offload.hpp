// Control's half of offload: the devices, their copies of the tables, and what each worker has of
// them. Made once at start; a router without a device has none.
//
// Control thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "config/placement/placement.hpp"
#include "gpu_offload/device_control.hpp"
#include "gpu_offload/shader.hpp"
#include "router/dataplane/offload/worker_offload.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "router/ipsec/esp_keys.hpp"

namespace hecto::router {

// Why a device was stopped last, for the operator: "device error: the helper ended: signal 9 (SIGKILL)".
std::string cause_in_words(const gpu_offload::DeviceControl& control);

class Offload {
 public:
  using Devices = std::vector<std::unique_ptr<gpu_offload::Device>>;

  // Nothing where the configuration asks for no device, or `auto` finds none (`found` says why).
  // Workers of a socket share its devices evenly; one without a device there does all on the CPU.
  static Result<std::unique_ptr<Offload>> create(const config::OffloadConfig& config,
                                                 const config::Placement& placement, Tables& tables,
                                                 std::string& found);
  // With these devices, not empty.
  static Result<std::unique_ptr<Offload>> create(const config::OffloadConfig& config,
                                                 const config::Placement& placement, Tables& tables,
                                                 Devices devices);
  ~Offload();  // after the workers
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  WorkerOffload* worker(unsigned id) { return id < workers_.size() ? workers_[id].get() : nullptr; }

  // Where control/ipsec brings the keys of SAs; null with `ipsec: never`.
  DeviceKeys* keys() { return keys_.get(); }
  const EspKeys* esp_keys() const { return keys_.get(); }

  // Now and then, and after tables have changed. True when it is worth calling soon again.
  bool tick();

  struct Attached {
    explicit Attached(std::unique_ptr<gpu_offload::Device> device) : control(std::move(device)) {}
    gpu_offload::DeviceControl control;
    std::unique_ptr<gpu_offload::Shader> shader;  // null: workers hand over by themselves
    gpu_offload::TableMirror* table4 = nullptr;   // both null with `lookup: never`
    gpu_offload::TableMirror* table6 = nullptr;
    gpu_offload::TableMirror* keys = nullptr;  // null with `ipsec: never`
    std::vector<unsigned> workers;
    uint64_t stops_logged = 0;
    bool ready_logged = false;
  };
  const std::deque<Attached>& devices() const { return devices_; }
  std::deque<Attached>& devices() { return devices_; }

 private:
  Offload(const config::OffloadConfig& config, Tables& tables);
  void attach(std::unique_ptr<gpu_offload::Device> device);
  Attached* least_used(int socket);
  Result<void> give(const config::WorkerPlacement& worker);
  struct Stages;
  std::unique_ptr<WorkerOffload::Lookups> lookups(Stages& stages) const;
  std::unique_ptr<EspOffload> esp(Stages& stages) const;
  gpu_offload::DecisionOptions decision(config::OffloadMode mode) const;
  void log_state(Attached& device);

  config::OffloadConfig config_;
  Tables& tables_;
  std::unique_ptr<EspKeys> keys_;
  std::deque<Attached> devices_;
  std::vector<std::unique_ptr<WorkerOffload>> workers_;  // by id; null: no device on its socket
};

}  // namespace hecto::router
