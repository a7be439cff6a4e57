#include "router/dataplane/offload/offload.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "router/api/show/show.hpp"
#include "router/dataplane/dataplane.hpp"

namespace hecto::router {
namespace {

using gpu_offload::DeviceControl;
using nlohmann::json;

json generation(const gpu_offload::TableMirror* table) {
  return table == nullptr ? json() : json(table->generation());
}

json device_json(const Offload::Attached& attached) {
  // What does not change is read from an object that control may change otherwise.
  auto& control = const_cast<DeviceControl&>(attached.control);
  const bool ready = control.phase() == DeviceControl::Phase::kReady;
  return {
      {"name", control.device().name()},
      {"description", control.device().description()},
      {"socket", control.device().socket()},
      {"state", to_string(control.phase())},
      {"cause", ready ? json() : json(cause_in_words(control))},
      {"stops", control.stops()},
      {"shader", attached.shader ? json({{"jobs", attached.shader->counters().jobs.get()},
                                         {"batches", attached.shader->counters().batches.get()},
                                         {"dropped", attached.shader->counters().dropped.get()}})
                                 : json()},
      {"workers", attached.workers},
      {"generation_ipv4", generation(attached.table4)},
      {"generation_ipv6", generation(attached.table6)},
      {"generation_keys", generation(attached.keys)}};
}

template <typename Path>
json work_json(const Worker& worker, const Path& path) {
  const auto kind = static_cast<size_t>(path.stage().options().kind);
  const gpu_offload::Explanation e = path.explain();
  const gpu_offload::StageCounters& c = path.stage().counters();
  return {{"worker", worker.options().id},
          {"cpu", worker.options().cpu},
          {"kind", gpu_offload::kJobKindNames[kind]},
          {"mode", to_string(e.mode)},
          {"side", e.side == gpu_offload::Side::kDevice ? "device" : "cpu"},
          {"why", gpu_offload::to_string(e.why)},
          {"pps", e.items_per_s},
          {"batch", e.batch_items},
          {"cpu_ns", e.cpu_item_ns},
          {"device_ns", e.device_item_ns},
          {"cpu_load", e.cpu_load},
          {"device_load", e.device_load},
          {"round_trip_us", e.round_trip_ns / 1e3},
          {"latency_us", e.latency_ns / 1e3},
          {"latency_bound_us", e.latency_bound_ns / 1e3},
          {"switches", e.switches},
          {"in_flight", path.held()},
          {"batches",
           {{"submitted", c.submitted.get()},
            {"packets", c.submitted_items.get()},
            {"completed", c.completed.get()},
            {"late", c.late.get()},
            {"failed", c.failed.get()},
            {"wrong", c.wrong.get()},
            {"abandoned", c.abandoned.get()},
            {"in_turn", c.in_turn.get()}}}};
}

}  // namespace

json show_offload(const std::string& found, const Offload* offload, const Dataplane& dataplane) {
  json devices = json::array(), work = json::array();
  if (offload != nullptr) {
    for (const auto& device : offload->devices()) devices.push_back(device_json(device));
    for (const auto& worker : dataplane.workers()) {
      if (worker->options().offload == nullptr) continue;
      const WorkerOffload& mine = *worker->options().offload;
      if (const auto* lookups = mine.lookups()) {
        work.push_back(work_json(*worker, lookups->v4));
        work.push_back(work_json(*worker, lookups->v6));
      }
      if (const EspOffload* esp = mine.esp())
        for (unsigned i = 0; i < EspDirection::kPaths; ++i) {
          work.push_back(work_json(*worker, esp->opening().path(i)));
          work.push_back(work_json(*worker, esp->sealing().path(i)));
        }
    }
  }
  const EspKeys* keys = offload != nullptr ? offload->esp_keys() : nullptr;
  return {{"found", found},
          {"devices", devices},
          {"work", work},
          {"keys", keys ? json(keys->table().count()) : json()}};
}

}  // namespace hecto::router
