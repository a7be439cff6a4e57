#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "bench/bed/bed_options.hpp"
#include "bench/forward/forward.hpp"
#include "bench/forward/offload_modes.hpp"

namespace hecto::bench {
namespace {

void describe(CLI::App& command, ForwardOptions& options) {
  BedOptions& bed = options.bed;
  bed.counters = true;
  command
      .add_option("--mode", options.mode,
                  "forward: receive and transmit alone, IPv4, IPv6; rx and tx: one of both "
                  "alone; all")
      ->check(CLI::IsMember(forward_modes()))
      ->capture_default_str();
  command.add_flag("--copied", bed.frames[0].copied,
                   "ports copy each packet in and out, as between processes");
  command.add_option("--offload", options.offload,
                     "host or cuda:N: instead, 64-byte packets without a device, with all look-ups "
                     "there, and as auto decides");
  command.add_option("--next-hops", bed.next_hops)
      ->check(CLI::Range(1u, 500u))
      ->capture_default_str();
  command.add_option("--labels", bed.labels, "labels of MPLS that each next hop puts on packets")
      ->check(CLI::Range(0u, 4u))
      ->capture_default_str();
  command.add_option("--rules", bed.rules, "policy rules of each family, none of which holds")
      ->check(CLI::Range(0u, 4000u))
      ->capture_default_str();
  command
      .add_option("--filters", bed.filters,
                  "filter rules of each family, all of which accept, some of which hold")
      ->check(CLI::Range(0u, 125'000u))
      ->capture_default_str();
  command.add_flag("--policed", bed.policed, "all that passes the filter is policed");
  command
      .add_option("--policed-prefixes", bed.policed_prefixes,
                  "destinations of each family that are policed each by itself")
      ->check(CLI::Range(0u, 1'000'000u))
      ->excludes("--policed");
  static const std::map<std::string, LookUpBy> kBy = {
      {"main", LookUpBy::kMain}, {"vrf", LookUpBy::kVrf}, {"rule", LookUpBy::kRule}};
  command
      .add_option_function<std::string>(
          "--look-up", [&bed](const std::string& word) { bed.by = kBy.at(word); },
          "main; vrf: ports in a VRF with the same routes; rule: a policy rule leads to a table "
          "with them")
      ->check(CLI::IsMember({"main", "vrf", "rule"}))
      ->excludes("--rules");
  command
      .add_option(
          "--egress-mtu", bed.egress_mtu,
          "MTU of the ports that packets leave by; longer ones are cut, IPv4 alone is measured")
      ->check(CLI::Range(68u, 9000u));
  command
      .add_option("--stations", options.stations,
                  "instead, frames between so many stations on either side of a bridge")
      ->check(CLI::Range(2u, 500'000u));
  command
      .add_option(
          "--into-tunnels", bed.into_tunnels,
          "all routes lead into so many GRE tunnels, up to --next-hops; 1: of one tunnel are all "
          "packets of a burst")
      ->check(CLI::Range(0u, 500u))
      ->excludes("--egress-mtu", "--stations", "--offload");
  command
      .add_flag("--out-of-tunnel", bed.frames[0].in_gre,
                "packets come in a GRE tunnel; --size is of what is inside")
      ->excludes("--egress-mtu", "--stations", "--offload");
  command
      .add_option("--sample", bed.sample,
                  "one packet in so many is sampled, as for sFlow; rings hold a round")
      ->check(CLI::Range(1u, 1u << 24));
  command.add_flag("!--no-counters", bed.counters, "without interface counters");
  command.add_option("--burst", options.bursts, "packets of a receive, several by commas")
      ->delimiter(',')
      ->check(CLI::Range(4u, 256u))
      ->capture_default_str();
  command
      .add_option(
          "--cache", options.caches,
          "where packets lie when they are received: l1 (in the mbufs freed last), l2 (a ring "
          "of 4,096), l3 (a ring beyond the second level)")
      ->delimiter(',')
      ->check(CLI::IsMember({"l1", "l2", "l3"}))
      ->capture_default_str();
  add_bed_options(command, options);
}

}  // namespace

void add_forward(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "forward", "cycles per packet over the I/O floor, full table, one core, in memory");
  const auto options = std::make_shared<ForwardOptions>();
  describe(*command, *options);
  command->callback([&work, options] {
    work = [options] {
      return options->offload.empty() ? forward(*options) : forward_offload_modes(*options);
    };
  });
}

}  // namespace hecto::bench
