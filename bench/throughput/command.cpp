// hecto-bench throughput
#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "bench/throughput/throughput.hpp"

namespace hecto::bench {
namespace {

const std::map<std::string, double> kTimes = {{"s", 1}, {"m", 60}, {"h", 3600}};

void describe_device(CLI::App& command, ThroughputOptions& options) {
  command
      .add_option("--dut", options.dut,
                  "device under test: hectod (started here, over memif; in-memory means the "
                  "same), or none: what is connected to --ports")
      ->check(CLI::IsMember({"hectod", "in-memory", "none"}))
      ->capture_default_str();
  command
      .add_option("--ports", options.ports,
                  "of --dut none: FROM,TO; FROM TO where a device has commas of its own")
      ->expected(1, 2);
  command.add_option("--mac", options.mac, "of --dut none: MAC address that frames are sent to");
  command
      .add_option("--expect", options.expect,
                  "of --dut none: router, or wire: packets come back as they were sent [router]")
      ->check(CLI::IsMember({"router", "wire"}));
  command.add_option("--traffic", options.traffic, "of --dut none: a traffic file with the ports");
  command.add_option("--generator", options.generator,
                     "of --dut none: BOX or USER@BOX that has the ports; started there by ssh");
  command
      .add_option("--generator-program", options.generator_program,
                  "of --generator: hecto-bench there")
      ->capture_default_str();
  command.add_option("--hectod", options.router.program, "the program; default: beside this one");
  command.add_option("--workers", options.workers)
      ->check(CLI::Range(1u, 128u))
      ->capture_default_str();
  command.add_option("--worker-cpus", options.router.worker_cpus, "default: as there are")
      ->delimiter(',');
  command.add_option("--generator-cpus", options.generator_cpus)->delimiter(',');
  command.add_option("--control-cpu", options.control_cpu);
  command.add_option("--burst", options.router.burst)
      ->check(CLI::Range(4u, 256u))
      ->capture_default_str();
  command.add_option("--idle", options.router.idle, "what an idle worker does")
      ->check(CLI::IsMember({"poll", "sleep", "interrupt", "adaptive"}))
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--wire", [&options](const std::string& word) { options.router.veth = word == "veth"; },
          "memif, or veth: the pairs that bench/with-veth makes [memif]")
      ->check(CLI::IsMember({"memif", "veth"}));
  command.add_option("--ring", options.router.ring_bits, "2^RING packets in each memif ring")
      ->check(CLI::Range(8u, 14u))
      ->capture_default_str();
  command.add_option("--engine", options.router.engine, "tables.ipv4_engine")
      ->check(CLI::IsMember({"auto", "direct", "compact"}))
      ->capture_default_str();
  command.add_option("--table", options.table,
                     "route file; default: the real table, or a synthetic one");
  command.add_option("--root", options.root, "where ../shared/data is looked for");
  command.add_option("--routes", options.routes, "so many of each family; default: all");
  command.add_option("--next-hops", options.router.next_hops)
      ->check(CLI::Range(1u, 200u))
      ->capture_default_str();
}

void describe_traffic(CLI::App& command, ThroughputOptions& options) {
  command.add_option("--sizes", options.sizes, "frames with FCS: 64 to 9022, or imix")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--families", options.families)
      ->delimiter(',')
      ->check(CLI::IsMember({4, 6}))
      ->capture_default_str();
  command.add_option("--destinations", options.destinations, "uniform, in-table or zipf")
      ->check(CLI::IsMember({"uniform", "in-table", "zipf"}))
      ->capture_default_str();
  command.add_option("--destination-count", options.destination_count)
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
  command.add_option("--flows", options.flows)
      ->check(CLI::Range(1u, 65536u))
      ->capture_default_str();
}

void describe_search(CLI::App& command, ThroughputOptions& options) {
  SearchOptions& search = options.search;
  command.add_option("--search-seconds", search.total_s, "the search of one size ends in them")
      ->check(CLI::Range(0.5, 86400.0))
      ->capture_default_str();
  command.add_option("--trial-seconds", search.final_trial_s, "of the trials that decide")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  command.add_option("--decide-seconds", search.duration_sum_s, "of such trials at one load")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
  command.add_option("--width", search.width, "of the last interval, by its upper end")
      ->check(CLI::Range(0.0005, 0.2))
      ->capture_default_str();
  command.add_option("--exceed", search.exceed_ratio, "part of the trials that may lose more")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command.add_option("--ndr", search.goals[0].loss_ratio, "loss ratio that counts as none")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  command.add_option("--pdr", search.goals[1].loss_ratio, "loss ratio of the partial drop rate")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  command.add_option("--max-pps", search.max_pps, "of the line; default: what the generator does")
      ->check(CLI::Range(1000.0, 1e9));
}

void describe_rest(CLI::App& command, ThroughputOptions& options) {
  command
      .add_option("--latency-seconds", options.latency_s,
                  "at each of 100, 90, 50, 10% of the NDR; 0: none")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command.add_flag("--loss-curve", options.loss_curve, "frame loss rate (RFC 2544 26.3)");
  command.add_flag("--back-to-back", options.back_to_back, "RFC 2544 26.4");
  command.add_flag("--blackout", options.blackout,
                   "packets lost while routes churn, reloads run, a port comes and goes");
  command.add_option("--blackout-seconds", options.blackout_s, "of each")
      ->check(CLI::Range(0.2, 3600.0))
      ->capture_default_str();
  command
      .add_option("--blackout-part", options.blackout_part, "of the NDR; with --load: that rate")
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
  command.add_option(
      "--load", options.load,
      "a fixed rate in the place of a search: latency and CPU use alone (1Mpps, 5Gbps, 40%; 0%: at "
      "rest)");
  command.add_option("--load-of", options.load_of, "what 100% of --load is; default: the line");
  command.add_option("--load-seconds", options.load_s)
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  command
      .add_option("--soak", options.soak_s,
                  "keep the --load for 90s, 30m, 12h; Ctrl-C ends it well")
      ->transform(CLI::AsNumberWithUnit(kTimes, CLI::AsNumberWithUnit::CASE_SENSITIVE));
  command.add_option("--interval", options.interval_s, "seconds of a soak that get one line")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command.add_option("--json", options.json, "also write the figures here; -: standard output");
}

}  // namespace

void add_throughput(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "throughput",
      "RFC 2544 / RFC 8219: throughput, latency, loss, soak, reconfiguration blackout");
  const auto options = std::make_shared<ThroughputOptions>();
  describe_device(*command, *options);
  describe_traffic(*command, *options);
  describe_search(*command, *options);
  describe_rest(*command, *options);
  // Read first, so that what is given beside it counts.
  command
      ->add_flag_callback(
          "--quick", [options] { options->make_quick(); }, "a look at everything in seconds")
      ->trigger_on_parse();
  command->callback(
      [&work, options] { work = [options] { return measure_throughput(*options); }; });
}

}  // namespace hecto::bench
