#include "bench/lib/command.hpp"

#include <memory>

#include "bench/bed/bed_options.hpp"
#include "bench/ipsec/ipsec.hpp"

namespace hecto::bench {
namespace {

void describe(CLI::App& command, IpsecBenchOptions& options) {
  command
      .add_option("--algorithm", options.algorithms,
                  "as in aes-128-gcm,aes-128-cbc+hmac-sha1; default: five")
      ->delimiter(',');
  command
      .add_option("--size", options.sizes,
                  "bytes of the IP packet inside, or imix; several by commas")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--tunnels", options.tunnels)
      ->delimiter(',')
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command
      .add_option("--shapes", options.shapes,
                  "of the policies' selectors: prefix lengths, 1 to 8 in turn, of one priority")
      ->check(CLI::Range(1u, 8u))
      ->capture_default_str();
  command
      .add_option("--workers", options.workers,
                  "how many, as in 1,2; default: 1, and as many as there are cores")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command
      .add_option_function<std::string>(
          "--cache", [&options](const std::string& name) { options.cache = cache_by_name(name); },
          "where packets lie when they are received: l1 (in the mbufs freed last), l2 (a ring of "
          "4,096), l3 (a ring beyond the second level); default: l2")
      ->check(CLI::IsMember({"l1", "l2", "l3"}));
  command.add_flag("!--no-control", options.control, "without installation of SAs and rekeys");
  command.add_flag("!--no-peers", options.peers, "without dpdk-test-crypto-perf beside it");
  command.add_option("--burst", options.bed.burst)
      ->check(CLI::Range(4u, 256u))
      ->capture_default_str();
  add_run_options(command, options);
}

}  // namespace

void add_ipsec(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "ipsec", "ESP on the whole way of a packet against raw ipsec-mb, in memory");
  const auto options = std::make_shared<IpsecBenchOptions>();
  describe(*command, *options);
  command->callback([&work, options] { work = [options] { return ipsec(*options); }; });
}

}  // namespace hecto::bench
