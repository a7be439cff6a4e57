// dpdk-test-crypto-perf, DPDK's own measure of a cryptodev, with an algorithm of ours: ipsec-mb
// behind cryptodev queues, on buffers of its own, nothing around them. A program that runs beside
// this one, after what is measured in turns.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/ipsec/report.hpp"

namespace hecto::bench {

// Encryption of buffers of `bytes`, bursts of 64; `sizes`: numbers, others (imix) are left out.
Result<std::vector<IpsecPeer>> run_crypto_perf(const std::string& algorithm,
                                               const std::vector<std::string>& sizes);

// What it has printed with --csv-friendly: bytes and millions of operations a second, a line each.
std::vector<IpsecPeer> parse_crypto_perf(const std::string& output);

}  // namespace hecto::bench
