// NAT's stages alone, on headers in memory: cycles of a packet beside those of a stage that has
// nothing to do, the best of several rounds. Sessions are met in random order, so that their lines
// come from where they lie.
#pragma once

namespace hecto::bench {

struct NatBenchOptions {
  unsigned sessions = 1'000'000;
  unsigned packets = 4000;  // thousands
  unsigned burst = 64;
};

int run_nat(const NatBenchOptions& options);

}  // namespace hecto::bench
