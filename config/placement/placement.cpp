#include "config/placement/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "config/file/words.hpp"
#include "config/placement/placement_parts.hpp"

namespace hecto::config {
namespace {

constexpr unsigned kMaxWorkers = 127;    // RTE_MAX_LCORE less the control core
constexpr uint16_t kMaxAutoQueues = 64;  // per port
constexpr size_t kFewCores = 2;          // up to here both threads of a core get work

using Cpus = std::vector<unsigned>;

class Planner {
 public:
  Planner(const Config& config, const Topology& topology, std::vector<Located> located)
      : config_(config), topology_(topology), located_(std::move(located)) {}

  tl::expected<Placement, std::string> run() {
    if (auto error = check_cpus(); !error.empty()) return tl::unexpected(error);
    collect_candidates();
    if (candidates_.empty())
      return tl::unexpected(fmt::format(
          "{} has no core that this process may use; widen its affinity mask", topology_.source));
    serve_ports();
    lend_sockets();
    choose_workers();
    if (workers_.size() > kMaxWorkers)
      return tl::unexpected(
          fmt::format("{} workers; use at most {} in `workers`", workers_.size(), kMaxWorkers));
    choose_control();
    place_ports();
    out_.offload_lookup = may_offload(config_.offload.lookup);
    out_.offload_ipsec = may_offload(config_.offload.ipsec);
    size_memory(config_, out_);
    add_warnings(config_, topology_, located_, out_);
    return std::move(out_);
  }

 private:
  // With a device that the file names, or a GPU of the box.
  bool may_offload(OffloadMode mode) const {
    const OffloadConfig& offload = config_.offload;
    if (mode == OffloadMode::kNever || offload.devices[0] == "none") return false;
    return offload.devices[0] != "auto" || !topology_.gpus.empty();
  }

  std::string check_cpus() const {
    Cpus all;
    for (const Core& core : topology_.cores) {
      all.push_back(core.cpu);
      all.insert(all.end(), core.siblings.begin(), core.siblings.end());
    }
    std::sort(all.begin(), all.end());
    std::string have = fmt::format("{} has cores {}", topology_.source, core_list(all));
    for (const auto& [socket, cpus] : config_.workers)
      for (unsigned cpu : cpus)
        if (core_of(topology_, cpu) == nullptr)
          return fmt::format("workers: there is no core {}; {}", cpu, have);
    if (config_.control_core && core_of(topology_, *config_.control_core) == nullptr)
      return fmt::format("control_core: there is no core {}; {}", *config_.control_core, have);
    return {};
  }

  // Hardware threads that may become workers, by socket, best first. Whole cores come before
  // second threads, and those only on boxes where cores are few.
  void collect_candidates() {
    if (!config_.workers.empty()) {
      for (const auto& [socket, cpus] : config_.workers)
        for (unsigned cpu : cpus) candidates_[core_of(topology_, cpu)->socket].push_back(cpu);
      return;
    }
    std::vector<const Core*> allowed;
    for (const Core& core : topology_.cores)
      if (core.allowed) allowed.push_back(&core);
    if (allowed.empty()) return;
    const Core* control =
        config_.control_core ? core_of(topology_, *config_.control_core) : allowed.front();
    for (const Core* core : allowed)
      if (core != control) candidates_[core->socket].push_back(core->cpu);
    if (allowed.size() <= kFewCores) {
      unsigned control_cpu = config_.control_core.value_or(control->cpu);
      for (unsigned cpu : threads_of(*control))
        if (cpu != control_cpu && control->allowed) candidates_[control->socket].push_back(cpu);
      for (const Core* core : allowed)
        if (core != control)
          for (unsigned cpu : core->siblings) candidates_[core->socket].push_back(cpu);
    }
    if (candidates_.empty()) candidates_[control->socket].push_back(control->cpu);
  }

  static Cpus threads_of(const Core& core) {
    Cpus all = {core.cpu};
    all.insert(all.end(), core.siblings.begin(), core.siblings.end());
    return all;
  }

  // Which socket's workers poll each port, and how many workers that gives work to. A NIC is
  // served where it sits, if there is any core, else in its package; what has no place goes where
  // the others are, and spreads.
  void serve_ports() {
    serving_.assign(located_.size(), 0);
    for (size_t i = 0; i < located_.size(); ++i) {
      if (located_[i].socket < 0) continue;
      serving_[i] = served_from(located_[i].socket);
      need_[serving_[i]] += wanted_queues(located_[i]);
    }
    if (need_.empty() && config_.workers.empty()) need_[candidates_.begin()->first] = 0;
    if (!config_.workers.empty())
      for (const auto& [socket, cpus] : candidates_) need_.try_emplace(socket, 0);
    for (size_t i = 0; i < located_.size(); ++i) {
      if (located_[i].socket >= 0) continue;
      auto lighter = [&](const auto& a, const auto& b) {
        return a.second * candidates_[b.first].size() < b.second * candidates_[a.first].size();
      };
      auto best = std::min_element(need_.begin(), need_.end(), lighter);
      serving_[i] = best->first;
      best->second += wanted_queues(located_[i]);
    }
  }

  int served_from(int socket) const {
    if (candidates_.contains(socket)) return socket;
    const int package = package_of(topology_, socket);
    for (const auto& [other, cpus] : candidates_)
      if (package_of(topology_, other) == package) return other;
    return candidates_.begin()->first;
  }

  // Sockets without a port help those of their package that have more queues than cores, first the
  // one that lacks most.
  void lend_sockets() {
    std::map<int, size_t> lacking;
    for (const auto& [socket, queues] : need_)
      if (queues > candidates_[socket].size())
        lacking[socket] = queues - candidates_[socket].size();
    for (const auto& [socket, cpus] : candidates_) {
      if (auto need = need_.find(socket); need != need_.end() && need->second > 0) continue;
      const int package = package_of(topology_, socket);
      auto most = lacking.end();
      for (auto each = lacking.begin(); each != lacking.end(); ++each)
        if (each->second > 0 && package_of(topology_, each->first) == package &&
            (most == lacking.end() || each->second > most->second))
          most = each;
      if (most == lacking.end()) continue;
      const size_t taken = std::min(cpus.size(), most->second);
      lent_to_[socket] = most->first;
      need_[socket] = taken;
      most->second -= taken;
    }
  }

  // Of the socket that serves the port: its own, or lent to it.
  bool serves(const WorkerPlacement& worker, int socket) const {
    const auto lent = lent_to_.find(worker.socket);
    return worker.socket == socket || (lent != lent_to_.end() && lent->second == socket);
  }

  static size_t wanted_queues(const Located& located) {
    size_t queues = located.port->rx_queues ? *located.port->rx_queues
                                            : (located.hardware ? kMaxAutoQueues : size_t{1});
    if (located.max_queues > 0) queues = std::min<size_t>(queues, located.max_queues);
    return queues;
  }

  void choose_workers() {
    for (const auto& [socket, cpus] : candidates_) {
      size_t count = cpus.size();
      if (config_.workers.empty()) {
        auto need = need_.find(socket);
        count = need == need_.end() ? 0 : std::min(count, std::max<size_t>(need->second, 1));
      }
      Cpus chosen = count < cpus.size() ? in_few_caches(socket, cpus, count) : cpus;
      std::sort(chosen.begin(), chosen.end());
      for (unsigned cpu : chosen) workers_.push_back({0, cpu, socket, {}});
    }
    if (config_.workers.empty() && workers_.size() > kMaxWorkers) workers_.resize(kMaxWorkers);
    for (size_t i = 0; i < workers_.size(); ++i) workers_[i].id = static_cast<unsigned>(i);
  }

  int l3_of(unsigned cpu) const { return core_of(topology_, cpu)->l3; }

  // As many of the socket's cpus, such that each port's queues find a last-level cache of their own
  // where one is large enough: the smallest that is.
  Cpus in_few_caches(int socket, const Cpus& cpus, size_t count) const {
    std::map<int, Cpus> free;
    for (unsigned cpu : cpus) free[l3_of(cpu)].push_back(cpu);
    Cpus out;
    for (size_t i = 0; i < located_.size(); ++i) {
      const size_t queues = wanted_queues(located_[i]);
      if (serving_[i] != socket || out.size() + queues > count) continue;
      Cpus* best = nullptr;
      for (auto& [l3, left] : free)
        if (left.size() >= queues && (best == nullptr || left.size() < best->size())) best = &left;
      if (best == nullptr) continue;
      out.insert(out.end(), best->begin(), best->begin() + static_cast<ptrdiff_t>(queues));
      best->erase(best->begin(), best->begin() + static_cast<ptrdiff_t>(queues));
    }
    for (unsigned cpu : cpus)
      if (out.size() < count && std::find(out.begin(), out.end(), cpu) == out.end())
        out.push_back(cpu);
    return out;
  }

  // The last-level cache whose workers can poll that many queues, one each, and poll the fewest
  // now; the smallest of equals. -1: none can.
  int roomy_cache(const std::vector<WorkerPlacement*>& workers,
                  const std::map<unsigned, size_t>& load, size_t queues) const {
    std::map<int, std::vector<size_t>> loads;
    for (const WorkerPlacement* worker : workers) {
      const auto at = load.find(worker->id);
      loads[l3_of(worker->cpu)].push_back(at == load.end() ? 0 : at->second);
    }
    int best = -1;
    std::pair<size_t, size_t> least(SIZE_MAX, SIZE_MAX);
    for (auto& [l3, of_workers] : loads) {
      if (l3 < 0 || of_workers.size() < queues) continue;
      std::sort(of_workers.begin(), of_workers.end());
      const std::pair busy(queues == 0 ? 0 : of_workers[queues - 1], of_workers.size());
      if (busy < least) best = l3, least = busy;
    }
    return best;
  }

  // The lowest thread of a core without workers, else the lowest without a worker, else shared.
  void choose_control() {
    if (config_.control_core) {
      out_.control_cpu = *config_.control_core;
      return;
    }
    std::set<unsigned> taken;
    for (const WorkerPlacement& worker : workers_) taken.insert(worker.cpu);
    std::optional<unsigned> thread;
    for (const Core& core : topology_.cores) {
      if (!core.allowed) continue;
      bool free = true;
      for (unsigned cpu : threads_of(core)) {
        if (taken.contains(cpu))
          free = false;
        else if (!thread || cpu < *thread)
          thread = cpu;
      }
      if (!free) continue;
      out_.control_cpu = core.cpu;
      return;
    }
    out_.control_cpu = thread.value_or(workers_.front().cpu);
  }

  void place_ports() {
    std::map<unsigned, size_t> load;
    for (size_t i = 0; i < located_.size(); ++i) {
      const Located& located = located_[i];
      std::vector<WorkerPlacement*> here;
      for (WorkerPlacement& worker : workers_)
        if (serves(worker, serving_[i])) here.push_back(&worker);
      if (here.empty())
        for (WorkerPlacement& worker : workers_) here.push_back(&worker);
      size_t queues = wanted_queues(located);
      if (located.hardware && !located.port->rx_queues) queues = std::min(queues, here.size());
      std::map<unsigned, size_t> of_port;
      const int l3 = roomy_cache(here, load, queues);
      for (size_t q = 0; q < queues; ++q) {
        auto rank = [&](const WorkerPlacement* w) {
          return std::tuple(of_port[w->id], load[w->id], w->socket != serving_[i],
                            l3 >= 0 && l3_of(w->cpu) != l3, w->id);
        };
        WorkerPlacement* best = *std::min_element(
            here.begin(), here.end(), [&](auto* a, auto* b) { return rank(a) < rank(b); });
        best->queues.push_back({located.port->name, static_cast<uint16_t>(q)});
        ++of_port[best->id];
        ++load[best->id];
      }
      out_.ports.push_back({located.port->name, located.socket >= 0 ? located.socket : serving_[i],
                            located.socket >= 0, static_cast<uint16_t>(queues),
                            static_cast<uint16_t>(workers_.size() + 1), located.port->spread});
    }
    out_.workers = std::move(workers_);
  }

  const Config& config_;
  const Topology& topology_;
  const std::vector<Located> located_;
  std::map<int, Cpus> candidates_;
  std::map<int, size_t> need_;  // receive queues by serving socket
  std::vector<int> serving_;    // by port
  std::map<int, int> lent_to_;  // sockets whose workers help another of their package
  std::vector<WorkerPlacement> workers_;
  Placement out_;
};

}  // namespace

const Core* core_of(const Topology& topology, unsigned cpu) {
  for (const Core& core : topology.cores)
    if (core.cpu == cpu ||
        std::find(core.siblings.begin(), core.siblings.end(), cpu) != core.siblings.end())
      return &core;
  return nullptr;
}

namespace {

const Nic* nic_of(const Topology& topology, const std::string& device, DeviceKind kind) {
  for (const Nic& nic : topology.nics)
    if (device == (kind == DeviceKind::kPci ? nic.pci : nic.interface)) return &nic;
  return nullptr;
}

bool is_hardware(const PortConfig& port) {
  if (!port.bond) return port.kind == DeviceKind::kPci;
  return std::all_of(port.bond->members.begin(), port.bond->members.end(),
                     [](const BondMember& member) { return member.kind == DeviceKind::kPci; });
}

}  // namespace

std::vector<Located> locate(const Config& config, const Topology& topology,
                            const std::vector<PortCapability>& capabilities) {
  std::vector<Located> out;
  for (size_t i = 0; i < config.ports.size(); ++i) {
    Located located;
    located.port = &config.ports[i];
    located.hardware = is_hardware(*located.port);
    if (located.port->bond)
      for (const BondMember& member : located.port->bond->members)
        located.members.push_back(nic_of(topology, member.device, member.kind));
    else
      located.nic = nic_of(topology, located.port->device, located.port->kind);
    for (const Nic* member : located.members)
      if (located.nic == nullptr) located.nic = member;
    if (located.nic != nullptr) located.socket = located.nic->socket;
    if (i < capabilities.size()) {
      located.max_queues = capabilities[i].max_rx_queues;
      // A driver without a place says 0 or -1; what the box says of a NIC is better.
      if (located.socket < 0 && located.hardware) located.socket = capabilities[i].socket;
    }
    if (located.hardware && topology.sockets.size() == 1) located.socket = topology.sockets[0];
    out.push_back(located);
  }
  return out;
}

tl::expected<Placement, std::string> place(const Config& config, const Topology& topology,
                                           const std::vector<PortCapability>& capabilities) {
  return Planner(config, topology, locate(config, topology, capabilities)).run();
}

Config resolved(const Config& config, const Placement& placement) {
  Config out = config;
  out.workers.clear();
  for (const WorkerPlacement& worker : placement.workers)
    out.workers[worker.socket].push_back(worker.cpu);
  out.control_core = placement.control_cpu;
  for (PortConfig& port : out.ports)
    for (const PortPlacement& placed : placement.ports)
      if (placed.port == port.name) port.rx_queues = placed.rx_queues;
  if (!out.memory_bytes) out.memory_bytes = placement.memory_bytes;
  return out;
}

}  // namespace hecto::config
