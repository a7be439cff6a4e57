#include "router/control/linux_namespace.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "router/control/notes.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/linux/stale_routes.hpp"
#include "router/linux/xfrm/requests.hpp"
#include "router/process/service/service_manager.hpp"

namespace hecto::router {
namespace {

// Whether the process sees another file there; no where it may not be asked.
bool sees_another(pid_t pid, const std::string& path, const struct stat& ours) {
  struct stat theirs {};
  if (stat(fmt::format("/proc/{}/root{}", pid, path).c_str(), &theirs) != 0) return errno == ENOENT;
  return ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev;
}

// In a mount namespace of its own, as `ip netns exec` and systemd's PrivateTmp make it, a process
// gives names that nobody else sees.
void tell_if_hidden(const std::string& name, Notes& notes) {
  const std::string path = "/run/netns/" + name;
  struct stat ours {};
  if (stat(path.c_str(), &ours) != 0) return;
  if (!sees_another(getppid(), path, ours) && !sees_another(1, path, ours)) return;
  notes.add(fmt::format(
      "Linux side: only hectod sees the namespace {}: it runs in a mount namespace of its own (ip "
      "netns exec, PrivateTmp); run \"ip netns add {}\" outside before it starts, or reach it by "
      "\"nsenter -t {} -m ip netns exec {} COMMAND\"",
      name, name, getpid(), name));
}

}  // namespace

namespace {

// Linux tells one host of six errors at once and then of one a second (IPv6 of newer kernels: ten):
// of one traceroute after another it leaves out hops. The limit is the punts' (RFC 1812 §4.3.2.8,
// PuntGate::kErrorsPps); beside it Linux's for all hosts stays, and what somebody has set.
void leave_error_rates_to_punts(const NetworkNamespace& space) {
  for (const char* path : {"net/ipv4/icmp_ratelimit", "net/ipv6/icmp/ratelimit"})
    if (const auto now_ms = space.sysctl(path); now_ms && (*now_ms == "1000" || *now_ms == "100"))
      (void)space.set_sysctl(path, "0");
}

constexpr char kTwin[] = "twin-";
// So long a port may take to have its link again while its adopted twin keeps the carrier: less than
// a routing protocol's patience, more than a link's training.
constexpr std::chrono::seconds kCarrierPatience{5};

bool has_twins(const ServiceManager& service) {
  const auto names = service.kept();
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.starts_with(kTwin); });
}

NamespaceLifetime lifetime(const ServiceManager& service) {
  return service.keeps() ? NamespaceLifetime::kKeep : NamespaceLifetime::kRemove;
}

}  // namespace

LinuxNamespace::LinuxNamespace(NetworkNamespace space, NetlinkRequests requests,
                               Dataplane& dataplane, Notes& notes, ServiceManager& service)
    : space_(std::move(space)),
      requests_(std::move(requests)),
      dataplane_(dataplane),
      notes_(notes),
      service_(service),
      adopted_(has_twins(service)) {}

LinuxNamespace::~LinuxNamespace() = default;

Result<std::unique_ptr<LinuxNamespace>> LinuxNamespace::open(const config::LinuxConfig& config,
                                                             Dataplane& dataplane, Notes& notes,
                                                             LinuxEvents& events,
                                                             ServiceManager& service) {
  auto space = NetworkNamespace::open_or_create(config.name_space, lifetime(service));
  if (!space) return tl::unexpected(space.error());
  tell_if_hidden(config.name_space, notes);
  if (auto done = space->enable_forwarding(); !done) return tl::unexpected(done.error());
  leave_error_rates_to_punts(*space);
  auto requests = NetlinkRequests::open(*space);
  if (!requests) return tl::unexpected(requests.error());
  std::unique_ptr<LinuxNamespace> side(
      new LinuxNamespace(std::move(*space), std::move(*requests), dataplane, notes, service));
  // What an earlier run left would stand beside, or before, what the file says now. Where it is
  // taken over, the same is done later (sweep_routes), by difference.
  if (!side->adopted_) {
    if (auto removed = side->sweep_routes({}); !removed)
      notes.add("Linux side: " + removed.error().message);
    else if (*removed > 0)
      spdlog::info("Linux side: {} routes of an earlier run are removed", *removed);
  }
  MirrorOptions options;
  options.tell = [&notes](const std::string& line) { notes.add("mirror: " + line); };
  auto mirror = NetlinkMirror::open(side->space_, events, options);
  if (!mirror) return tl::unexpected(mirror.error());
  side->mirror_ = std::move(*mirror);
  return side;
}

Result<size_t> LinuxNamespace::sweep_routes(const std::vector<Route>& wanted) {
  return remove_routes_of_protocol(space_, kRouteProtocol, wanted);
}

// As the run before left it: with its state, whoever set it.
std::optional<Tap> LinuxNamespace::adopt_tap(const TapOptions& options) {
  FileDescriptor kept = service_.take(kTwin + options.name);
  if (!kept) return std::nullopt;
  auto tap = Tap::adopt(space_, std::move(kept), options);
  if (tap) return std::move(*tap);
  service_.forget(kTwin + options.name);
  notes_.add("Linux side: " + tap.error().message + ": made anew");
  return std::nullopt;
}

Result<Tap> LinuxNamespace::tap_for(const Interface& interface) {
  const TapOptions options{interface.name, interface.mac, interface.mtu};
  auto tap = Tap::create(space_, options);
  // One of that name that went just now: the slow path lets go of it within a turn.
  for (int i = 0; i < 50 && !tap && tap.error().error_number == EBUSY; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    tap = Tap::create(space_, options);
  }
  if (!tap) return tap;
  // Without a wait for its own link-local address (RFC 4862 §5.4) the first packet that is to cross
  // finds its neighbor. A kernel without IPv6 has no such file.
  (void)space_.set_sysctl(fmt::format("net/ipv6/conf/{}/accept_dad", interface.name), "0");
  if (auto done = tap->set_up(true); !done) return tl::unexpected(done.error());
  if (service_.keeps() && !service_.keep(kTwin + interface.name, tap->fd()))
    notes_.add(
        fmt::format("Linux side: {} does not outlive a restart: the service manager did not "
                    "take it",
                    interface.name));
  return tap;
}

Result<int> LinuxNamespace::make_twin(const Interface& interface) {
  auto kept = adopt_tap({interface.name, interface.mac, interface.mtu});
  const bool adopted = kept.has_value();
  auto tap = adopted ? Result<Tap>(std::move(*kept)) : tap_for(interface);
  if (!tap) return tl::unexpected(tap.error());
  if (adopted) carriers_[interface.id] = interface.up;
  auto twin = std::make_shared<Twin>(std::move(*tap));
  twin->interface = interface.id;
  twin->port = interface.port;
  twin->tags = interface.tags;
  twin->pool = dataplane_.pool_of(interface.port_name)->get();
  if (exempt_from_xfrm_)
    if (auto done = exempt_from_xfrm(space_, interface.name); !done)
      notes_.add("ipsec: " + done.error().message);
  const int ifindex = twin->tap.ifindex();
  twins_[interface.id] = std::move(twin);
  return ifindex;
}

Result<void> LinuxNamespace::set_twin_name(const Interface& interface) {
  return requests_.set_link_name(interface.ifindex, interface.name);
}

Result<void> LinuxNamespace::set_twin_mac(const Interface& interface) {
  return requests_.set_link_mac(interface.ifindex, interface.mac);
}

void LinuxNamespace::remove_twin(InterfaceId id) {
  // The manager's descriptor goes some time later: the device goes now.
  if (const auto twin = twins_.find(id); service_.keeps() && twin != twins_.end()) {
    service_.forget(kTwin + twin->second->tap.name());
    (void)requests_.remove_link(twin->second->tap.ifindex());
  }
  twins_.erase(id);
  suspended_.erase(id);
  carriers_.erase(id);
}

// Nobody but control looks at a twin that is suspended.
void LinuxNamespace::resume_twin(const Interface& interface) {
  suspended_.erase(interface.id);
  const auto twin = twins_.find(interface.id);
  if (twin == twins_.end()) return;
  twin->second->port = interface.port;
  twin->second->pool = dataplane_.pool_of(interface.port_name)->get();
}

void LinuxNamespace::set_twin_mtu(InterfaceId id, uint16_t mtu) {
  if (const auto twin = twins_.find(id); twin != twins_.end()) (void)twin->second->tap.set_mtu(mtu);
}

bool LinuxNamespace::holds_carrier(InterfaceId id) const {
  return carriers_.contains(id) && std::chrono::steady_clock::now() - opened_ < kCarrierPatience;
}

// A port whose link is still down after the patience takes its twin's carrier away.
void LinuxNamespace::settle() {
  if (carriers_.empty() || std::chrono::steady_clock::now() - opened_ < kCarrierPatience) return;
  const auto carriers = std::exchange(carriers_, {});
  for (const auto& [id, carrier] : carriers) set_twin_carrier(id, carrier);
}

void LinuxNamespace::set_twin_carrier(InterfaceId id, bool carrier) {
  if (holds_carrier(id)) {
    carriers_[id] = carrier;
    if (!carrier) return;
    carriers_.erase(id);
  }
  if (const auto twin = twins_.find(id); twin != twins_.end())
    (void)twin->second->tap.set_carrier(carrier);
}

std::optional<TapState> LinuxNamespace::twin_state(InterfaceId id) const {
  const auto twin = twins_.find(id);
  return twin == twins_.end() ? std::nullopt : twin->second->tap.state();
}

bool LinuxNamespace::twin_gone(InterfaceId id) const {
  const auto twin = twins_.find(id);
  return twin != twins_.end() && twin->second->gone.load(std::memory_order_relaxed);
}

void LinuxNamespace::deliver(const InterfaceTable& interfaces) {
  auto list = std::make_shared<TwinList>();
  list->by_interface.assign(kMaxInterfaceId + 1, nullptr);
  for (const auto& [id, twin] : twins_)
    if (!suspended_.contains(id)) {
      list->twins.push_back(twin);
      const Interface* const bridged = interfaces.find(id);
      if (bridged != nullptr && bridged->bridged) list->by_port[twin->port] = twin.get();
    }
  for (const auto& [id, interface] : interfaces.all()) {
    const auto twin = twins_.find(interfaces.twin_of(interface));
    if (twin != twins_.end() && !suspended_.contains(twin->first))
      list->by_interface[id] = twin->second.get();
  }
  dataplane_.set_twins(std::move(list));
}

Result<void> LinuxNamespace::add_address(int ifindex, const IpPrefix& address) {
  return requests_.add_address(ifindex, address, true);
}

Result<void> LinuxNamespace::remove_address(int ifindex, const IpPrefix& address) {
  return requests_.remove_address(ifindex, address);
}

Result<void> LinuxNamespace::set_permanent_neighbor(int ifindex, const IpAddress& address,
                                                    const MacAddress& mac) {
  return requests_.set_permanent_neighbor(ifindex, address, mac);
}

Result<void> LinuxNamespace::remove_neighbor(int ifindex, const IpAddress& address) {
  return requests_.remove_neighbor(ifindex, address);
}

Result<void> LinuxNamespace::probe_neighbor(int ifindex, const IpAddress& address) {
  return requests_.probe_neighbor(ifindex, address);
}

Result<void> LinuxNamespace::hear_station(int port, uint16_t vlan, const MacAddress& mac) {
  return requests_.hear_station(port, vlan, mac);
}

std::vector<std::string> LinuxNamespace::write_routes(const std::vector<Route>& routes,
                                                      bool remove) {
  std::vector<RouteRequest> requests;
  requests.reserve(routes.size());
  for (const Route& route : routes) {
    requests.push_back({route, remove});
    requests.back().route.protocol = kRouteProtocol;
  }
  auto outcome = requests_.apply(requests, RequestMode::kAdd);
  if (!outcome) return {outcome.error().message};
  std::vector<std::string> refusals;
  for (const BatchOutcome::Failure& failure : outcome->failures) {
    // Removing what Linux has dropped by itself is no news, nor is what somebody else has put
    // there.
    if (failure.error.error_number == (remove ? ESRCH : EEXIST)) continue;
    refusals.push_back(fmt::format("route {}: Linux refused it: {}",
                                   routes[failure.index].prefix.to_string(),
                                   failure.error.message));
  }
  return refusals;
}

uint64_t LinuxNamespace::frames_without_mbuf(const rte_mempool* pool) const {
  uint64_t frames = 0;
  for (const auto& [id, twin] : twins_)
    if (twin->pool == pool) frames += twin->no_mbuf.get();
  return frames;
}

}  // namespace hecto::router
