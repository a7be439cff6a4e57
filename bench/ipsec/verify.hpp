// Untimed passes over a bed with tunnels: out, each packet must leave in ESP, in its own tunnel, and
// hold what went in (opened by open_esp.hpp); in, each must come out of ESP as its far end wrote it.
#pragma once

#include "bench/bed/expected.hpp"
#include "bench/ipsec/tunnels.hpp"

namespace hecto::bench {

// How many packets of the kind selected were right. Plain ones, to hosts behind the tunnels.
Result<uint64_t> verify_encap(Bed& bed, const Tunnels& tunnels);
// `frames`: of the far ends, each of which comes once and more.
Result<uint64_t> verify_decap(Bed& bed, const WholeFrames& frames);

}  // namespace hecto::bench
