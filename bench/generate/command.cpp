// hecto-bench generate
#include "bench/lib/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/generate/report.hpp"
#include "bench/lib/machine.hpp"
#include "bench/remote/serve.hpp"
#include "bench/remote/wire.hpp"
#include "bench/traffic/generator.hpp"
#include "bench/traffic/spec_yaml.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::bench {
namespace {

using nlohmann::json;

std::atomic<bool> stop{false};

struct GenerateOptions {
  std::string file;
  std::vector<std::string> devices;
  std::string rate;
  double seconds = 0;
  double settle_seconds = 0.1;
  std::string json;
  bool no_timestamps = false;
  bool serve = false;
  GeneratorOptions generator;
};

int failed(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
  return 1;
}

bool write_json(const std::string& file, const json& value) {
  const std::string text = value.dump(2) + "\n";
  if (file == "-") return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::absolute(file).parent_path(), error);
  std::ofstream out(file);
  out << text;
  return static_cast<bool>(out.flush());
}

json describe(const GenerateOptions& options, const TrafficSpec& spec, const Generator& generator,
              double pps, const TrialResult& result) {
  json out = to_json(result);
  out["machine"] = machine_name();
  out["hecto"] = HECTO_VERSION;
  out["dpdk"] = router::Eal::version();
  out["tsc_hz"] = rte_get_tsc_hz();
  out["hugepages"] = rte_eal_has_hugepages() != 0;
  out["file"] = options.file;
  out["asked"] = {{"rate", to_string(spec.rate)}, {"pps", pps}, {"seconds", spec.seconds}};
  out["timestamps"] = spec.timestamps;
  out["not_checked"] = generator.unchecked();
  out["ports"] = wire_ports(generator.ports());
  return out;
}

int generate(GenerateOptions options) {
  spdlog::set_level(spdlog::level::warn);
  if (options.serve) return serve(Generator::create);
  auto spec = load_traffic(options.file, options.devices);
  if (!spec) {
    fmt::print(stderr, "{}\n", fmt::join(spec.error(), "\n"));
    return 2;
  }
  if (!options.rate.empty()) spec->rate = *parse_rate(options.rate);
  if (options.seconds > 0) spec->seconds = options.seconds;
  if (options.no_timestamps) spec->timestamps = false;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop.store(true); });
  options.generator.stop = &stop;
  auto generator = Generator::create(*spec, options.generator);
  if (!generator) return failed(generator.error().message);
  const auto pps = (*generator)->pps(spec->rate);
  if (!pps) return failed(pps.error().message);

  const auto done = (*generator)->run({*pps, spec->seconds, options.settle_seconds});
  const TrialResult& result = (*generator)->last();
  if (options.json != "-") fmt::print("{}", trial_table(result));
  for (const std::string& line : (*generator)->unchecked()) fmt::print(stderr, "{}\n", line);
  json out = describe(options, *spec, **generator, *pps, result);
  // What fell short of its rate is a result like others.
  const std::string problem = done ? shortfall(result, *pps) : done.error().message;
  if (!problem.empty()) {
    out["problem"] = problem;
    fmt::print(stderr, "{}\n", problem);
  }
  if (!options.json.empty() && !write_json(options.json, out))
    return failed(fmt::format("{}: cannot be written", options.json));
  return done && !result.interrupted ? 0 : 1;
}

std::string check_rate(const std::string& text) {
  return parse_rate(text) ? ""
                          : text + " is not a rate; use max, or a number as 10Mpps, 5Gbps, 40%";
}

}  // namespace

void add_generate(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "generate", "sends traffic over DPDK ports, counts what comes back, and when");
  const auto options = std::make_shared<GenerateOptions>();
  command->add_option("FILE", options->file, "streams in YAML, or a capture (pcap)");
  command
      ->add_option("--port", options->devices,
                   "with a capture: the device to send to, and the one to receive from")
      ->expected(1, 2);
  command->add_option("--rate", options->rate, "in place of the file's: max, 10Mpps, 5Gbps, 40%")
      ->check(CLI::Validator(check_rate, "RATE"));
  command->add_option("--duration", options->seconds, "in place of the file's, seconds")
      ->check(CLI::Range(0.001, 1e7));
  command
      ->add_option("--settle", options->settle_seconds,
                   "how long packets are waited for after the last, seconds")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  command->add_option("--json", options->json, "also write the figures here; -: standard output");
  command
      ->add_option("--cpus", options->generator.cpus, "ports go round these; default: the last one")
      ->delimiter(',');
  command->add_flag("--no-timestamps", options->no_timestamps, "no latency, more packets");
  command->add_option("--burst", options->generator.burst)
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  command->add_flag("--serve", options->serve,
                    "do what another box's `throughput --generator` says over standard input");
  command->callback([&work, options] {
    if (options->file.empty() != options->serve)
      throw CLI::ValidationError("generate", "wants a FILE, or --serve and nothing else");
    work = [options] { return generate(*options); };
  });
}

}  // namespace hecto::bench
