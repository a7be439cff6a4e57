#include "bench/traffic/generator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "bench/traffic/frame_check.hpp"
#include "bench/traffic/frames.hpp"
#include "bench/traffic/generator_cpus.hpp"
#include "bench/traffic/port_set.hpp"
#include "bench/traffic/port_watch.hpp"
#include "bench/traffic/spec_problems.hpp"
#include "bench/traffic/station.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

constexpr double kStartDelay_s = 0.001;  // until all lcores are under way

class DpdkGenerator final : public Generator {
 public:
  DpdkGenerator(std::unique_ptr<PortSet> ports, const TrafficSpec& spec,
                const GeneratorOptions& options, std::vector<unsigned> lcores)
      : ports_(std::move(ports)),
        spec_(spec),
        options_(options),
        lcores_(std::move(lcores)),
        sequences_(kMaxStreams) {}

  Result<TrialResult> run(const TrialRequest& request) override;
  Result<void> use(const std::vector<StreamSpec>& streams) override;
  Result<double> pps(const TrafficRate& rate) const override;
  const TrialResult& last() const override { return last_; }
  std::vector<PortInfo> ports() const override;
  std::vector<std::string> unchecked() const override;

 private:
  Result<void> make_frames(size_t number);
  void make_check(const StreamSpec& stream, const MacPair& sent);
  std::optional<MacAddress> station_mac(const StreamSpec& stream) const;
  Result<MacPair> macs_of(const StreamSpec& stream);
  void make_stations();
  void launch(TrialClock& trial);
  void collect(const TrialClock& trial);
  double bits_per_packet(size_t port, double overhead_bytes) const;

  std::unique_ptr<PortSet> ports_;
  TrafficSpec spec_;
  GeneratorOptions options_;
  std::vector<unsigned> lcores_;
  std::vector<uint64_t> sequences_;  // by stream number, of the next packet
  std::vector<std::unique_ptr<StreamFrames>> frames_;
  std::vector<std::unique_ptr<FrameCheck>> checks_;  // by stream; null: of a replay
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<Station*> station_list_;
  TrialResult last_;
};

Result<MacPair> DpdkGenerator::macs_of(const StreamSpec& stream) {
  const size_t from = ports_->index(stream.from), to = ports_->index(stream.to);
  // Both ends, so that the router knows where to send as well.
  for (const size_t port : {from, to})
    if (auto done = ports_->learn(port, stream.vlan, options_); !done)
      return tl::unexpected(done.error());
  MacPair macs;
  macs.source = ports_->port(from).mac();
  if (stream.destination_mac)
    macs.destination = *stream.destination_mac;
  else
    macs.destination =
        ports_->gateway_mac(from, stream.vlan, stream.family).value_or(ports_->port(to).mac());
  return macs;
}

Result<void> DpdkGenerator::make_frames(size_t number) {
  const StreamSpec& stream = spec_.streams[number];
  const auto macs = macs_of(stream);
  if (!macs) return tl::unexpected(macs.error());
  const auto id = static_cast<uint16_t>(number);
  if (!stream.replay.empty()) {
    auto capture = read_capture(stream.replay);
    if (!capture) return tl::unexpected(capture.error());
    frames_.push_back(std::make_unique<StreamFrames>(stream, id, std::move(*capture), *macs));
  } else {
    lookup::IpAddress source = *lookup::IpAddress::parse(
        stream.family == lookup::Family::kIpv4 ? "198.18.0.1" : "2001:2:0:1::");
    const auto& addresses = ports_->own(ports_->index(stream.from)).addresses;
    const auto own = std::find_if(addresses.begin(), addresses.end(), [&](const auto& address) {
      return address.family == stream.family;
    });
    if (own != addresses.end()) source = *own;
    frames_.push_back(
        std::make_unique<StreamFrames>(stream, id, stream.source.value_or(source), *macs));
  }
  if (const uint16_t longest = frames_.back()->longest_frame_bytes();
      longest > ports_->longest_frame_bytes())
    return fail(fmt::format("stream {}: frames of {} bytes; the buffers were made for {}",
                            stream.name, longest, ports_->longest_frame_bytes()),
                EINVAL);
  make_check(stream, *macs);
  return {};
}

// Who has an address there answers for it: a router's next hop.
std::optional<MacAddress> DpdkGenerator::station_mac(const StreamSpec& stream) const {
  const size_t to = ports_->index(stream.to);
  for (const lookup::IpAddress& address : ports_->own(to).addresses)
    if (address.family == stream.family) return ports_->port(to).mac();
  return std::nullopt;
}

void DpdkGenerator::make_check(const StreamSpec& stream, const MacPair& sent) {
  checks_.emplace_back();
  if (!stream.replay.empty()) return;
  Arrival arrival = expected_arrival(stream, sent, station_mac(stream));
  arrival.from = static_cast<uint16_t>(ports_->index(stream.from));
  arrival.to = static_cast<uint16_t>(ports_->index(stream.to));
  checks_.back() = std::make_unique<FrameCheck>(*frames_.back(), arrival);
}

std::vector<std::string> DpdkGenerator::unchecked() const {
  std::vector<std::string> no_tag, no_mac, one_port;
  for (const StreamSpec& stream : spec_.streams) {
    const Expectation& expect = stream.expect;
    if (!stream.replay.empty()) {
      no_tag.push_back(stream.name);
      continue;
    }
    if (stream.from == stream.to && !expect.wire) one_port.push_back(stream.name);
    if (!expect.wire && !expect.destination_mac && !expect.next_hop_mac && !station_mac(stream))
      no_mac.push_back(stream.name);
  }
  std::vector<std::string> lines;
  const auto tell = [&](const std::vector<std::string>& streams, std::string_view what) {
    if (!streams.empty()) lines.push_back(fmt::format("{}: {}", fmt::join(streams, ", "), what));
  };
  tell(no_tag, "only the number of frames is checked: a capture's carry no tag");
  tell(one_port, "egress port not checked: sent and awaited at one port; give from and to");
  tell(no_mac,
       "destination MAC not checked: port `to` has no address that a router would ask for; give "
       "it addresses, or expect: {destination_mac: MAC}");
  return lines;
}

// Ports go round the CPUs; a stream is where its port is.
void DpdkGenerator::make_stations() {
  Station::Options options;
  options.burst = std::clamp<unsigned>(options_.burst, 1, Station::kMaxBurst);
  options.timestamps = spec_.timestamps;
  options.streams = spec_.streams.size();
  options.tsc_hz = rte_get_tsc_hz();
  stations_.clear();
  station_list_.clear();
  for (size_t i = 0; i < std::min(lcores_.size(), ports_->size()); ++i) {
    options.poller = ports_->poller(i);
    stations_.push_back(std::make_unique<Station>(options));
    station_list_.push_back(stations_.back().get());
    for (size_t k = 0; k < checks_.size(); ++k)
      if (const FrameCheck* check = checks_[k].get(); check != nullptr) {
        RxStream& stream = stations_.back()->receivers[k];
        stream.check = check;
        stream.cursor = {sequences_[k], check->records(), check->places()};
      }
  }
  double weights = 0;
  for (const StreamSpec& stream : spec_.streams) weights += stream.weight;
  for (size_t i = 0; i < ports_->size(); ++i) {
    RxPort port;
    port.port = ports_->port(i).id();
    port.place = static_cast<uint16_t>(i);
    port.own = ports_->own(i);
    for (size_t k = 0; k < spec_.streams.size(); ++k)
      if (frames_[k]->replayed() && ports_->index(spec_.streams[k].to) == i)
        port.replay = static_cast<uint16_t>(k);
    stations_[i % stations_.size()]->ports.push_back(port);
  }
  for (size_t k = 0; k < spec_.streams.size(); ++k) {
    const size_t from = ports_->index(spec_.streams[k].from);
    TxStream stream;
    stream.frames = frames_[k].get();
    stream.port = ports_->port(from).id();
    stream.pool = frames_[k]->replayed() ? ports_->replay() : ports_->zeroed();
    stream.part = spec_.streams[k].weight / weights;
    stream.sequence = sequences_[k];
    stations_[from % stations_.size()]->senders.push_back(stream);
  }
}

Result<void> DpdkGenerator::use(const std::vector<StreamSpec>& streams) {
  spec_.streams = streams;
  if (const SpecProblems problems = check_traffic(spec_); !problems.empty())
    return fail(problems.front(), EINVAL);
  checks_.clear();
  frames_.clear();
  for (size_t i = 0; i < spec_.streams.size(); ++i)
    if (auto done = make_frames(i); !done) return done;
  make_stations();
  return {};
}

// That a packet of the mix is to a port, on average.
double DpdkGenerator::bits_per_packet(size_t port, double overhead_bytes) const {
  double bits = 0, weights = 0;
  for (const StreamSpec& stream : spec_.streams) weights += stream.weight;
  for (size_t k = 0; k < spec_.streams.size(); ++k)
    if (ports_->index(spec_.streams[k].from) == port)
      bits +=
          spec_.streams[k].weight / weights * (frames_[k]->mean_frame_bytes() + overhead_bytes) * 8;
  return bits;
}

Result<double> DpdkGenerator::pps(const TrafficRate& rate) const {
  double pps = rate.unit == TrafficRate::Unit::kPps ? rate.value : 0;
  double all_bits = 0;
  for (size_t i = 0; i < ports_->size(); ++i) all_bits += bits_per_packet(i, 0);
  if (rate.unit == TrafficRate::Unit::kBps) pps = rate.value / all_bits;
  double most = INFINITY;
  std::string name;
  for (size_t i = 0; i < ports_->size(); ++i) {
    const double bits = bits_per_packet(i, kWireOverhead_bytes);
    if (bits == 0) continue;
    const auto line = static_cast<double>(ports_->line_bps(i));
    if (line == 0 && rate.unit == TrafficRate::Unit::kLinePart)
      return fail(fmt::format("{}: port {} tells no speed of its line; give it in the file, as "
                              "line: 10Gbps, or ask for packets or bits",
                              to_string(rate), ports_->spec(i).port.name),
                  EINVAL);
    if (line == 0 || line / bits >= most) continue;
    most = line / bits;
    name = ports_->spec(i).port.name;
  }
  if (rate.unit == TrafficRate::Unit::kLinePart) return rate.value * most;
  if (pps > most * 1.000001)
    return fail(fmt::format("{}: no rate that port {} can do: its line takes {}; ask for that or "
                            "less, or for 100%",
                            to_string(rate), name, to_string({TrafficRate::Unit::kPps, most})),
                EINVAL);
  return pps;
}

std::vector<Generator::PortInfo> DpdkGenerator::ports() const {
  std::vector<PortInfo> infos;
  for (size_t i = 0; i < ports_->size(); ++i) {
    const router::Port& port = ports_->port(i);
    const auto mac = port.mac();
    infos.push_back({port.name(), ports_->spec(i).port.device, port.driver(),
                     fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1],
                                 mac[2], mac[3], mac[4], mac[5]),
                     ports_->line_bps(i), port.refused()});
  }
  return infos;
}

// The stations on their lcores, the first on this thread.
void DpdkGenerator::launch(TrialClock& trial) {
  struct Job {
    Station* station;
    TrialClock* trial;
    const std::vector<Station*>* all;
    static int work(void* self) {
      const Job& job = *static_cast<Job*>(self);
      job.station->run(*job.trial, *job.all);
      return 0;
    }
  };
  std::vector<Job> jobs;
  for (Station* station : station_list_) jobs.push_back({station, &trial, &station_list_});
  for (size_t i = 1; i < jobs.size(); ++i) rte_eal_remote_launch(Job::work, &jobs[i], lcores_[i]);
  Job::work(jobs.data());
  for (size_t i = 1; i < jobs.size(); ++i) rte_eal_wait_lcore(lcores_[i]);
}

Result<TrialResult> DpdkGenerator::run(const TrialRequest& request) {
  last_ = {};
  if (const std::string why = ports_->complaint(); !why.empty()) return fail(why, ENODEV);
  const auto hz = static_cast<double>(rte_get_tsc_hz());
  TrialClock trial;
  trial.pps = request.pps;
  trial.stop = options_.stop;
  trial.sending = static_cast<unsigned>(stations_.size());
  trial.settle = static_cast<uint64_t>(request.settle_seconds * hz);
  for (Station* station : station_list_) station->drain();
  trial.start = rte_rdtsc() + static_cast<uint64_t>(kStartDelay_s * hz);
  trial.end = trial.start + static_cast<uint64_t>(request.seconds * hz);
  for (Station* station : station_list_) station->prepare(trial, sequences_);
  PortWatch watch(*ports_, trial);
  launch(trial);
  const std::string complaint = watch.end();
  collect(trial);
  if (!complaint.empty()) {
    last_.interrupted = true;
    return fail(fmt::format("{} since {:.3f} s of sending", complaint, last_.seconds), ENODEV);
  }
  return last_;
}

void DpdkGenerator::collect(const TrialClock& trial) {
  TrialResult& result = last_;
  result.streams.resize(spec_.streams.size());
  uint64_t ended = trial.start, held_back = 0;
  for (const Station* station : station_list_) {
    for (const TxStream& stream : station->senders) {
      const uint16_t number = stream.frames->number;
      sequences_[number] = stream.sequence;
      result.streams[number].sent = stream.sent;
      result.sent += stream.sent;
      result.sent_bytes += stream.bytes;
      result.refused += stream.refused;
      held_back += stream.held_back;
    }
    if (!station->senders.empty()) ended = std::max(ended, station->ended());
    for (const RxPort& port : station->ports) result.foreign += port.foreign;
    for (size_t i = 0; i < station->receivers.size(); ++i) {
      const RxStream& from = station->receivers[i];
      StreamResult& to = result.streams[i];
      to.received += from.window.received() + from.replayed;
      to.duplicated += from.window.duplicated();
      to.reordered += from.window.reordered();
      to.wrong.add(from.wrong);
      to.latency_ns.merge(from.latency_ns);
      to.jitter_ns.merge(from.jitter_ns);
    }
  }
  for (size_t i = 0; i < result.streams.size(); ++i) {
    result.streams[i].name = spec_.streams[i].name;
    result.received += result.streams[i].received;
    result.wrong.add(result.streams[i].wrong);
  }
  result.seconds = static_cast<double>(ended - trial.start) / static_cast<double>(rte_get_tsc_hz());
  result.wanted =
      trial.pps > 0 ? static_cast<uint64_t>(std::llround(trial.pps * result.seconds)) : result.sent;
  result.interrupted = trial.over();
  if (held_back > 0)
    result.held_back =
        static_cast<double>(held_back) / static_cast<double>(held_back + result.sent);
}

}  // namespace

Generator::~Generator() = default;

Result<std::unique_ptr<Generator>> Generator::create(const TrafficSpec& spec,
                                                     const GeneratorOptions& options) {
  if (const SpecProblems problems = check_traffic(spec); !problems.empty())
    return fail(problems.front(), EINVAL);
  const auto cpus = choose_cpus(options.cpus, options.start_eal);
  if (!cpus) return tl::unexpected(cpus.error());
  auto ports = PortSet::open(spec, options, *cpus);
  if (!ports) return tl::unexpected(ports.error());
  // Ours are numbered in the order of the CPUs; elsewhere they are looked for.
  std::vector<unsigned> lcores = {rte_lcore_id()};
  for (size_t i = 1; i < cpus->size(); ++i) {
    unsigned lcore = 0;
    RTE_LCORE_FOREACH_WORKER(lcore)
    if (rte_lcore_to_cpu_id(static_cast<int>(lcore)) == static_cast<int>((*cpus)[i]))
      lcores.push_back(lcore);
    if (lcores.size() <= i)
      return fail(fmt::format("CPU {}: DPDK has no lcore there", (*cpus)[i]), EINVAL);
  }
  auto generator =
      std::make_unique<DpdkGenerator>(std::move(*ports), spec, options, std::move(lcores));
  if (auto done = generator->use(spec.streams); !done) return tl::unexpected(done.error());
  return generator;
}

}  // namespace hecto::bench
