#include "bench/traffic/port_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "bench/traffic/pcap.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

using Time = std::chrono::steady_clock;

constexpr uint32_t kRingOrFill_mbufs = 2048;  // that a device holds beside its descriptors
constexpr uint32_t kPerCpu_mbufs = 1024;      // a mempool's cache, and bursts under way
constexpr auto kAskAgain = std::chrono::milliseconds(200);

Time::time_point after(double seconds) {
  return Time::now() +
         std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
}

bool stopped(const GeneratorOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

Result<uint16_t> longest_frame(const TrafficSpec& spec, const GeneratorOptions& options) {
  uint32_t longest = std::max(options.longest_frame_bytes, kMinFrame_bytes);
  for (const StreamSpec& stream : spec.streams) {
    if (stream.replay.empty()) {
      for (const FrameSize& size : stream.sizes) longest = std::max<uint32_t>(longest, size.bytes);
      continue;
    }
    const auto capture = read_capture(stream.replay);
    if (!capture) return tl::unexpected(capture.error());
    for (const Capture::Frame& frame : capture->frames)
      longest = std::max<uint32_t>(longest, frame.length + kFcs_bytes);
    if (longest > kMaxFrame_bytes)
      return fail(fmt::format("{}: a frame of {} bytes; at most {} can be sent, FCS counted",
                              stream.replay, longest, kMaxFrame_bytes));
  }
  return static_cast<uint16_t>(longest);
}

void zero(rte_mempool*, void*, void* object, unsigned) {
  auto* mbuf = static_cast<rte_mbuf*>(object);
  std::memset(mbuf->buf_addr, 0, mbuf->buf_len);
}

}  // namespace

Result<std::unique_ptr<PortSet>> PortSet::open(const TrafficSpec& spec,
                                               const GeneratorOptions& options,
                                               const std::vector<unsigned>& cpus) {
  std::unique_ptr<PortSet> set(new PortSet);
  auto longest = longest_frame(spec, options);
  if (!longest) return tl::unexpected(longest.error());
  set->longest_frame_bytes_ = *longest;
  set->specs_ = spec.ports;
  set->data_room_bytes_ = std::max<uint32_t>(RTE_MBUF_DEFAULT_BUF_SIZE,
                                             RTE_PKTMBUF_HEADROOM + (*longest + 127u) / 128 * 128);
  const auto for_cpus = static_cast<uint32_t>(cpus.size()) * kPerCpu_mbufs;
  set->transmit_mbufs_ = set->receive_mbufs_ = for_cpus + 2048;
  for (const TrafficPort& port : spec.ports) {
    set->transmit_mbufs_ += port.port.tx_descriptors + kRingOrFill_mbufs;
    set->receive_mbufs_ += port.port.rx_descriptors + kRingOrFill_mbufs;
  }
  if (options.mbufs > 0) set->transmit_mbufs_ = set->receive_mbufs_ = options.mbufs;
  if (options.start_eal) {
    if (auto done = set->start_eal(cpus); !done) return tl::unexpected(done.error());
    set->pollers_.resize(cpus.size());
    set->guard_ = std::make_unique<router::MemifGuard>([pollers = &set->pollers_] {
      for (const router::Poller& poller : *pollers) poller.wait(rte_pause);
    });
  }
  for (const auto& [name, mbufs, pool] :
       {std::tuple("transmit", set->transmit_mbufs_, &set->transmit_),
        std::tuple("receive", set->receive_mbufs_, &set->receive_)}) {
    auto made =
        router::Mempool::create(fmt::format("traffic_{}", name), static_cast<int>(rte_socket_id()),
                                mbufs, set->data_room_bytes_);
    if (!made) return tl::unexpected(made.error());
    *pool = std::move(*made);
  }
  rte_mempool_obj_iter(set->transmit_->get(), zero, nullptr);
  for (const TrafficPort& port : spec.ports)
    if (auto done = set->open_port(port); !done) return tl::unexpected(done.error());
  if (auto done = set->wait_for_links(options); !done) return tl::unexpected(done.error());
  return set;
}

Result<void> PortSet::start_eal(const std::vector<unsigned>& cpus) {
  router::EalOptions eal;
  eal.control_cpu = cpus.front();
  eal.worker_cpus.assign(cpus.begin() + 1, cpus.end());
  for (const TrafficPort& spec : specs_) {
    if (spec.port.kind == config::DeviceKind::kPci) eal.pci.push_back(spec.port.device);
    eal.shared_memory |= spec.port.device.starts_with("net_memif");
  }
  const uint64_t mbufs = uint64_t{transmit_mbufs_} + receive_mbufs_;
  const uint64_t others = 64u << 20;  // rings, queues, DPDK's own
  eal.memory_bytes = mbufs * (data_room_bytes_ + sizeof(rte_mbuf) + 128) * 17 / 16 + others;
  eal.ordinary_bytes = (router::Mempool::ordinary_page_bytes(transmit_mbufs_, data_room_bytes_) +
                        router::Mempool::ordinary_page_bytes(receive_mbufs_, data_room_bytes_)) *
                           17 / 16 +
                       others;
  eal.memory_key = "the generator's buffers";
  auto started = router::Eal::start(eal);
  if (!started) return tl::unexpected(started.error());
  eal_ = std::move(*started);
  return {};
}

Result<void> PortSet::open_port(TrafficPort spec) {
  const auto needed = static_cast<uint16_t>(longest_frame_bytes_ - 14 - kFcs_bytes);
  spec.port.mtu = std::min<uint16_t>(std::max(spec.port.mtu, needed), 9000);
  spec.port.promiscuous = true;
  auto probed = router::Port::probe(spec.port);
  if (!probed) return tl::unexpected(probed.error());
  std::unique_ptr<router::Port> port = std::move(*probed);
  router::PortSetup setup;
  setup.pool = receive_->get();
  setup.data_room_bytes = data_room_bytes_;
  const auto begin = [&] {
    auto done = port->configure(setup);
    return done ? port->start() : done;
  };
  auto done = begin();
  if (!done && port->can_fall_back()) {
    done = port->fall_back(done.error().message);
    if (done) done = begin();
  }
  if (!done) return done;
  PortAddresses own;
  own.mac = port->mac();
  for (const lookup::IpPrefix& address : spec.port.addresses)
    own.addresses.push_back(address.address);
  own_.push_back(own);
  ports_.push_back(std::move(port));
  return {};
}

Result<void> PortSet::wait_for_links(const GeneratorOptions& options) const {
  const auto deadline = after(options.link_seconds);
  for (;;) {
    const std::string why = complaint();
    if (why.empty() || stopped(options)) break;
    if (Time::now() > deadline)
      return fail(
          fmt::format("{}; waited {:g} s: is the other side there?", why, options.link_seconds));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!stopped(options))
    std::this_thread::sleep_for(std::chrono::duration<double>(options.quiet_seconds));
  return {};
}

size_t PortSet::index(const std::string& name) const {
  return static_cast<size_t>(
      std::find_if(specs_.begin(), specs_.end(),
                   [&](const auto& spec) { return spec.port.name == name; }) -
      specs_.begin());
}

uint64_t PortSet::line_bps(size_t i) const {
  if (specs_[i].line_bps != 0) return specs_[i].line_bps;
  // What drivers of software ports tell is a number for show.
  if (specs_[i].port.kind != config::DeviceKind::kPci) return 0;
  return ports_[i]->link().speed_mbps * uint64_t{1'000'000};
}

bool PortSet::present() const {
  return std::all_of(ports_.begin(), ports_.end(),
                     [](const auto& port) { return port->present(); });
}

std::string PortSet::complaint() const {
  for (const auto& port : ports_)
    if (!port->present())
      return fmt::format("port {} ({}): the device has gone", port->name(), port->device());
  for (const auto& port : ports_)
    if (!port->link().up) return fmt::format("port {} ({}): no link", port->name(), port->device());
  return {};
}

// By the thread that made it.
namespace {

class Polling {
 public:
  explicit Polling(router::Poller* poller) : poller_(poller) {
    if (poller_ != nullptr) poller_->begin();
  }
  ~Polling() {
    if (poller_ != nullptr) poller_->end();
  }
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

 private:
  router::Poller* poller_;
};

}  // namespace

void PortSet::ask(size_t port, std::optional<uint16_t> vlan, const lookup::IpAddress& gateway) {
  const Polling polling(poller(0));
  for (const lookup::IpAddress& own : own_[port].addresses) {
    if (own.family != gateway.family) continue;
    const std::vector<uint8_t> frame = ask_neighbor(own_[port].mac, own, gateway, vlan);
    rte_mbuf* mbuf = rte_pktmbuf_alloc(receive_->get());
    if (mbuf == nullptr) return;
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())), frame.data(),
                frame.size());
    if (rte_eth_tx_burst(ports_[port]->id(), 0, &mbuf, 1) != 1) rte_pktmbuf_free(mbuf);
    return;
  }
}

void PortSet::listen(size_t port, std::optional<uint16_t> vlan) {
  const Polling polling(poller(0));
  rte_mbuf* mbufs[32];
  const uint16_t count = rte_eth_rx_burst(ports_[port]->id(), 0, mbufs, 32);
  for (uint16_t i = 0; i < count; ++i) {
    const std::span<uint8_t> frame(rte_pktmbuf_mtod(mbufs[i], uint8_t*), mbufs[i]->data_len);
    for (const lookup::IpAddress& gateway : specs_[port].gateways)
      if (const auto mac = told_mac(frame, gateway)) gateways_[{port, vlan, gateway}] = *mac;
    if (const size_t bytes = answer_neighbor(frame, own_[port]); bytes > 0) {
      rte_pktmbuf_trim(mbufs[i], static_cast<uint16_t>(frame.size() - bytes));
      mbufs[i]->ol_flags = 0;
      if (rte_eth_tx_burst(ports_[port]->id(), 0, &mbufs[i], 1) == 1) continue;
    }
    rte_pktmbuf_free(mbufs[i]);
  }
}

Result<void> PortSet::learn(size_t port, std::optional<uint16_t> vlan,
                            const GeneratorOptions& options) {
  const auto deadline = after(options.neighbor_seconds);
  for (const lookup::IpAddress& gateway : specs_[port].gateways) {
    auto next = Time::now();
    while (!gateways_.contains({port, vlan, gateway}) && !stopped(options)) {
      const auto now = Time::now();
      if (now > deadline)
        return fail(
            fmt::format("port {}: the gateway {}{} did not tell its MAC address within "
                        "{:g} s; check the address, and that the router is up, or give "
                        "destination_mac",
                        specs_[port].port.name, gateway.to_string(),
                        vlan ? fmt::format(" in VLAN {}", *vlan) : "", options.neighbor_seconds));
      if (now >= next) {
        ask(port, vlan, gateway);
        next = now + kAskAgain;
      }
      listen(port, vlan);
    }
  }
  return {};
}

std::optional<MacAddress> PortSet::gateway_mac(size_t port, std::optional<uint16_t> vlan,
                                               lookup::Family family) const {
  for (const lookup::IpAddress& gateway : specs_[port].gateways) {
    if (gateway.family != family) continue;
    const auto found = gateways_.find({port, vlan, gateway});
    if (found != gateways_.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace hecto::bench
