#include "bench/throughput/throughput.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/ssh_words.hpp"
#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/remote/remote_generator.hpp"
#include "bench/throughput/measure_size.hpp"
#include "bench/traffic/generator.hpp"
#include "bench/traffic/spec_yaml.hpp"

namespace hecto::bench {
namespace {

constexpr std::string_view kAtRest = "0%";  // as --load

std::atomic<bool> stop_wanted = false;

// SIGINT and SIGTERM end the trial that runs; what was measured is told, and the router ends.
class Signals {
 public:
  Signals() {
    stop_wanted = false;
    struct sigaction action = {};
    action.sa_handler = [](int) { stop_wanted = true; };
    for (size_t i = 0; i < 2; ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM};
  struct sigaction before_[2] = {};
};

// "A,B" is two; a device with commas of its own comes alone.
std::vector<std::string> split_ports(const std::vector<std::string>& ports) {
  if (ports.size() != 1 || std::count(ports[0].begin(), ports[0].end(), ',') != 1) return ports;
  const size_t comma = ports[0].find(',');
  return {ports[0].substr(0, comma), ports[0].substr(comma + 1)};
}

// What is there already, in case that the rest does not come.
void keep(const std::string& file, const nlohmann::json& partial) {
  if (file.empty() || file == "-") return;
  std::ofstream(file + ".partial") << partial.dump(2) << '\n';
}

bool routes_itself(const ThroughputOptions& options) {
  return options.dut != "none";
}

uint16_t largest_frame(const std::vector<std::string>& sizes) {
  uint16_t largest = 0;
  for (const std::string& text : sizes) {
    const auto all = parse_sizes(text);
    for (const FrameSize& size : *all) largest = std::max(largest, size.bytes);
  }
  return largest;
}

lookup::Family family_of(unsigned number) {
  return number == 4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6;
}

Destinations kind_of(const std::string& text) {
  for (const Destinations kind : {Destinations::kUniform, Destinations::kZipf})
    if (to_string(kind) == text) return kind;
  return Destinations::kInTable;
}

class Throughput {
 public:
  explicit Throughput(const ThroughputOptions& options) : options_(options) {
    options_.ports = split_ports(options.ports);
  }

  Result<void> run() {
    if (auto done = deal_out_cpus(); !done) return done;
    result_.machine = machine_facts();
    result_.started = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
    if (auto done = start_router(); !done) return done;
    if (auto done = start_generator(); !done) return done;
    say(header_text(result_));
    for (const std::string& size : options_.sizes)
      for (const unsigned family : options_.families) {
        if (auto done = measure(size, family); !done) return done;
        if (result_.error) return {};
      }
    return {};
  }
  const ThroughputResult& result() const { return result_; }
  void give_up(const std::string& why) {
    result_.partial = true;
    result_.error = why;
  }

 private:
  // With `--json -` standard output is the JSON's.
  void say(const std::string& text) const {
    FILE* out = options_.json == "-" ? stderr : stdout;
    std::fputs(text.c_str(), out);
    std::fflush(out);
  }
  // Once.
  void tell_unchecked(const std::string& line) {
    auto& told = result_.not_checked;
    if (std::find(told.begin(), told.end(), line) != told.end()) return;
    told.push_back(line);
    say("! " + line + "\n");
  }
  Result<void> deal_out_cpus();
  Result<void> start_router();
  Result<void> start_generator();
  Result<void> start_remote(const TrafficSpec& spec, const GeneratorOptions& options);
  Result<TrafficSpec> spec_of(const std::string& size, unsigned family) const;
  Result<void> measure(const std::string& size, unsigned family);
  Result<double> load_pps_of() const;

  ThroughputOptions options_;
  ThroughputResult result_;
  RouteSet routes_;
  std::map<unsigned, NextHopMac> next_hops_;  // of the table, by family
  std::unique_ptr<RouterProcess> router_;
  std::unique_ptr<Generator> generator_;  // its ports are clients of the router's: ends before it
};

Result<void> Throughput::deal_out_cpus() {
  const auto allowed = allowed_cpus();
  const CpuPlan plan = plan_cpus(allowed, options_.workers);
  RouterOptions& router = options_.router;
  if (options_.generator_cpus.empty() && options_.generator.empty())
    options_.generator_cpus = plan.generator;
  if (router.worker_cpus.empty()) router.worker_cpus = plan.workers;
  router.control_cpu = options_.control_cpu.value_or(plan.control);
  if (router.worker_cpus.size() < options_.workers && routes_itself(options_))
    return fail(
        fmt::format("{} workers and a generator do not fit on {} CPUs; use fewer, or name "
                    "them with --worker-cpus",
                    options_.workers, allowed.size()));
  result_.generator_cpus = options_.generator_cpus;
  return {};
}

Result<void> Throughput::start_router() {
  result_.device = options_.dut == "none" ? "what is connected to the ports" : "hectod";
  if (!routes_itself(options_)) return {};
  auto routes = choose_routes(options_.table, options_.root, options_.routes);
  if (!routes) return tl::unexpected(routes.error());
  routes_ = std::move(*routes);
  RouterOptions& router = options_.router;
  router.mtu = largest_frame(options_.sizes) > 1518 ? 9000 : 1500;
  router.default_route = options_.destinations == "uniform";
  auto process = RouterProcess::start(router, routes_, stop_wanted);
  if (!process) return tl::unexpected(process.error());
  router_ = std::move(*process);
  for (const unsigned family : options_.families) {
    const auto& table = routes_.of(family_of(family));
    std::vector<lookup::IpPrefix> changing;
    if (options_.blackout) changing = churned(table);
    next_hops_[family] = next_hops_of(table, router.next_hops, changing);
  }
  if (options_.blackout)
    tell_unchecked(
        "destination MAC not checked where --blackout changes routes: it may be the old or the new "
        "one");
  result_.device_version = router_->version();
  result_.table = routes_.name;
  result_.routes4 = routes_.v4.size();
  result_.routes6 = routes_.v6.size();
  result_.table_seconds = router_->load_seconds();
  result_.workers = static_cast<unsigned>(router.worker_cpus.size());
  result_.worker_cpus = router.worker_cpus;
  result_.control_cpu = router.control_cpu;
  result_.burst = router.burst;
  result_.idle = router.idle;
  return {};
}

Result<TrafficSpec> Throughput::spec_of(const std::string& size, unsigned family) const {
  const auto sizes = *parse_sizes(size);
  if (!options_.traffic.empty()) {
    auto spec = load_traffic(options_.traffic);
    if (!spec) return fail(fmt::format("{}", fmt::join(spec.error(), "\n")));
    std::erase_if(spec->streams,
                  [&](const StreamSpec& stream) { return stream.family != family_of(family); });
    if (spec->streams.empty())
      return fail(fmt::format("{}: no stream of IPv{}; add one, or leave it out with --families",
                              options_.traffic, family));
    for (StreamSpec& stream : spec->streams) stream.sizes = sizes;
    return std::move(*spec);
  }
  const auto device = [&](unsigned port) {
    return router_ ? router_->device(port) : options_.ports[port];
  };
  TrafficSpec spec = make_spec(device(0), device(1), kMinFrame_bytes, family_of(family));
  for (TrafficPort& port : spec.ports) port.port.mtu = options_.router.mtu;
  StreamSpec& stream = spec.streams[0];
  stream.sizes = sizes;
  stream.flows = options_.flows;
  stream.destination_mac = router_ ? kRouterMac : *parse_mac_address(options_.mac);
  stream.expect.wire = options_.expect == "wire";
  stream.destinations.kind = kind_of(options_.destinations);
  stream.destinations.count = options_.destination_count;
  stream.destinations.prefixes = routes_.of(family_of(family));
  if (stream.destinations.prefixes.empty())
    stream.destinations.prefixes = {
        *lookup::IpPrefix::parse(family == 4 ? "198.19.0.0/16" : "2001:2:0:8000::/49")};
  if (const auto next_hops = next_hops_.find(family); next_hops != next_hops_.end())
    stream.expect.next_hop_mac = next_hops->second;
  return spec;
}

Result<void> Throughput::start_remote(const TrafficSpec& spec, const GeneratorOptions& options) {
  auto generator =
      RemoteGenerator::create({options_.generator, options_.generator_program}, spec, options);
  if (!generator) return tl::unexpected(generator.error());
  result_.generator = options_.generator;
  result_.generator_machine = (*generator)->machine();
  generator_ = std::move(*generator);
  return {};
}

Result<void> Throughput::start_generator() {
  const auto spec = spec_of(options_.sizes[0], options_.families[0]);
  if (!spec) return tl::unexpected(spec.error());
  GeneratorOptions options;
  options.cpus = options_.generator_cpus;
  options.longest_frame_bytes = largest_frame(options_.sizes);
  options.stop = &stop_wanted;
  if (!options_.generator.empty()) {
    if (auto done = start_remote(*spec, options); !done) return done;
  } else {
    auto generator = Generator::create(*spec, options);
    if (!generator) {
      if (router_)
        if (auto alive = router_->alive(2); !alive) return alive;
      return tl::unexpected(generator.error());
    }
    generator_ = std::move(*generator);
  }
  if (router_)
    if (auto up = router_->wait_links(stop_wanted); !up) return up;
  // Frames that teach (RFC 2544 §23), until they come through or it is clear that they do not.
  WatchedRunner runner(*generator_, router_.get());
  WrongCounts wrong;
  for (unsigned i = 0; i < 50 && !stop_wanted; ++i) {
    const auto trial = runner.run({10'000, 0.05, 0.05});
    if (!trial) return tl::unexpected(trial.error());
    wrong = trial->wrong.total() > trial->sent / 2 ? trial->wrong : WrongCounts{};
    if (trial->received > trial->sent / 2) break;
  }
  // Where nothing else comes back a search would only find that all is lost.
  if (const auto lines = wrong.lines(); !lines.empty() && !stop_wanted)
    return fail(fmt::format("{}", fmt::join(lines, "; ")));
  return {};
}

Result<double> Throughput::load_pps_of() const {
  if (options_.load == kAtRest) return 0;
  const TrafficRate load = *parse_rate(options_.load);
  if (options_.load_of.empty() || load.unit != TrafficRate::Unit::kLinePart)
    return generator_->pps(load);
  return generator_->pps(*parse_rate(options_.load_of)).map([&](double all) {
    return all * load.value;
  });
}

Result<void> Throughput::measure(const std::string& size, unsigned family) {
  const auto spec = spec_of(size, family);
  if (!spec) return tl::unexpected(spec.error());
  if (auto done = generator_->use(spec->streams); !done) return done;
  for (const std::string& line : generator_->unchecked()) tell_unchecked(line);
  double load_pps = 0;
  if (!options_.load.empty()) {
    const auto pps = load_pps_of();
    if (!pps) return tl::unexpected(pps.error());
    load_pps = *pps;
  }
  SizeResult& into = result_.sizes.emplace_back();
  into.family = family;
  into.size = size;
  into.frame_bytes = mean_bytes(*parse_sizes(size));
  measure_size(*generator_, router_.get(), options_, load_pps, routes_.of(family_of(family)),
               options_.router.control_cpu, into);
  if (into.error) give_up(*into.error);
  result_.partial = result_.partial || into.partial;
  say(to_text(into));
  keep(options_.json, to_json(result_));
  return {};
}

}  // namespace

void ThroughputOptions::make_quick() {
  search.total_s = 10;
  search.width = 0.02;
  search.initial_trial_s = 0.05;
  search.final_trial_s = 0.2;
  search.duration_sum_s = 0.6;
  search.phases = 3;
  latency_s = 0.5;
  blackout_s = 1;
  load_s = 1;
}

std::optional<std::string> check(const ThroughputOptions& options) {
  const bool none = options.dut == "none";
  if (!none && !(options.ports.empty() && options.traffic.empty() && options.mac.empty()))
    return "--ports, --mac and --traffic belong to --dut none; hectod has ports of its own";
  if (none && options.traffic.empty() &&
      (split_ports(options.ports).size() != 2 || options.mac.empty()))
    return "--dut none wants --ports FROM,TO and the --mac that the device has there, or a "
           "--traffic FILE";
  if (!options.generator.empty() && !none)
    return "--generator belongs to --dut none: hectod is started where the generator's memif is";
  if (!options.generator.empty() && !is_ssh_host(options.generator))
    return fmt::format("--generator: \"{}\" is no host; use BOX or USER@BOX", options.generator);
  if (!options.expect.empty() && (!none || !options.traffic.empty()))
    return "--expect belongs to --dut none with --ports; in a traffic file it is a stream's key";
  if (none && options.blackout) return "--blackout changes hectod; it cannot with --dut none";
  if (!options.mac.empty() && !parse_mac_address(options.mac))
    return fmt::format("--mac: \"{}\" is no MAC address; use one like 02:00:00:00:00:01",
                       options.mac);
  for (const std::string& size : options.sizes)
    if (!parse_sizes(size))
      return fmt::format("--sizes: \"{}\" is no size; use {} to {}, or imix", size, kMinFrame_bytes,
                         kMaxFrame_bytes);
  if (!options.load_of.empty() && !parse_rate(options.load_of))
    return fmt::format("--load-of: \"{}\" is no rate; use one like 1Mpps or 5Gbps",
                       options.load_of);
  if (options.load == kAtRest && (none || options.soak_s > 0 || options.blackout))
    return "--load 0% sends nothing: what hectod takes at rest is all that can be measured with it";
  if (!options.load.empty() && options.load != kAtRest && !parse_rate(options.load))
    return fmt::format("--load: \"{}\" is no rate; use one like 1Mpps, 5Gbps or 40%", options.load);
  if (options.soak_s > 0 && options.load.empty())
    return "--soak wants a --load: the rate that it keeps";
  if (options.search.final_trial_s < options.search.initial_trial_s)
    return "--trial-seconds is shorter than the first trials (0.1 s, --quick 0.05 s)";
  return std::nullopt;
}

int measure_throughput(const ThroughputOptions& options) {
  spdlog::set_level(spdlog::level::warn);
  if (const auto wrong = check(options)) {
    fmt::print(stderr, "{}\n", *wrong);
    return 2;
  }
  const Signals signals;
  Throughput throughput(options);
  if (const auto done = throughput.run(); !done) throughput.give_up(done.error().message);
  const ThroughputResult& result = throughput.result();
  if (const auto done = write_json(options.json, to_json(result)); !done) {
    throughput.give_up(done.error().message);
  } else if (!options.json.empty()) {
    std::remove((options.json + ".partial").c_str());
  }
  if (result.error) fmt::print(stderr, "{}\n", *result.error);
  return result.error ? 1 : 0;
}

}  // namespace hecto::bench
