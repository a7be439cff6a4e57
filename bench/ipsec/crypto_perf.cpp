#include "bench/ipsec/crypto_perf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/ipsec/cases.hpp"
#include "bench/lib/child.hpp"
#include "router/ipsec/esp/transform.hpp"

namespace hecto::bench {

using namespace router;
using esp::Cipher;
using esp::Integrity;

namespace {

constexpr const char* kProgram = "dpdk-test-crypto-perf";
constexpr unsigned kOperations = 100'000;
constexpr double kPatience_s = 60;

std::vector<std::string> aead(const esp::Transform& transform) {
  const bool gcm = transform.cipher == Cipher::kAesGcm;
  return {"--optype",     "aead",    "--aead-algo",   gcm ? "aes-gcm" : "chacha20-poly1305",
          "--aead-op",    "encrypt", "--aead-key-sz", fmt::format("{}", transform.key_bytes),
          "--aead-iv-sz", "12",      "--aead-aad-sz", "8"};
}

std::vector<std::string> chain(const esp::Transform& transform) {
  const bool sha1 = transform.integrity == Integrity::kHmacSha1;
  return {"--optype",        "cipher-then-auth",
          "--cipher-algo",   "aes-cbc",
          "--cipher-op",     "encrypt",
          "--cipher-key-sz", fmt::format("{}", transform.key_bytes),
          "--cipher-iv-sz",  "16",
          "--auth-algo",     sha1 ? "sha1-hmac" : "sha2-256-hmac",
          "--auth-op",       "generate",
          "--auth-key-sz",   sha1 ? "20" : "32"};
}

// Block ciphers take whole blocks.
std::string sizes_for(const esp::Transform& transform, const std::vector<std::string>& sizes) {
  std::vector<unsigned> bytes;
  for (const std::string& size : sizes) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), number);
    if (error != std::errc() || end != size.data() + size.size()) continue;
    const auto block = static_cast<unsigned>(transform.block_bytes());
    bytes.push_back((number + block - 1) / block * block);
  }
  return fmt::format("{}", fmt::join(bytes, ","));
}

// Two of its threads, of which one works, on whatever cores we may use.
std::string lcores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return fmt::format("0@({0}),1@({0})", fmt::join(cpus, ","));
}

}  // namespace

std::vector<IpsecPeer> parse_crypto_perf(const std::string& output) {
  // lcore, buffer bytes, burst, enqueued, dequeued, failed both ways, Mops, Gb/s, cycles
  constexpr size_t kFields = 10, kBytes = 1, kMops = 7;
  std::vector<IpsecPeer> rows;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::vector<double> fields;
    const char *at = line.data(), *end = at + line.size();
    for (double number = 0; at < end; ++at) {
      const auto [behind, error] = std::from_chars(at, end, number);
      if (error != std::errc() || (behind != end && *behind != ',')) break;
      fields.push_back(number);
      at = behind;
    }
    if (fields.size() != kFields || fields[kMops] <= 0) continue;
    rows.push_back({kProgram, "", static_cast<unsigned>(fields[kBytes]), 1e3 / fields[kMops]});
  }
  return rows;
}

Result<std::vector<IpsecPeer>> run_crypto_perf(const std::string& algorithm,
                                               const std::vector<std::string>& sizes) {
  const auto transform = ipsec_transform(algorithm);
  if (!transform) return tl::unexpected(transform.error());
  const std::string bytes = sizes_for(*transform, sizes);
  if (bytes.empty()) return std::vector<IpsecPeer>{};
  const std::string device =
      transform->cipher == Cipher::kAesGcm ? "crypto_aesni_gcm" : "crypto_aesni_mb";
  std::string log = (std::filesystem::temp_directory_path() / "hecto-crypto-perf.XXXXXX").string();
  const int file = mkstemp(log.data());
  if (file < 0) return fail(fmt::format("{}: no file for its output", kProgram), errno);
  close(file);
  const struct Remove {
    const std::string& path;
    ~Remove() { std::filesystem::remove(path); }
  } remove{log};
  std::vector<std::string> words = {kProgram,
                                    "--no-huge",
                                    "-m",
                                    "512",
                                    "--no-pci",
                                    "--no-telemetry",
                                    "--file-prefix",
                                    fmt::format("hecto-perf-{}", getpid()),
                                    "--lcores",
                                    lcores(),
                                    "--vdev",
                                    device,
                                    "--",
                                    "--devtype",
                                    device,
                                    "--ptest",
                                    "throughput",
                                    "--buffer-sz",
                                    bytes,
                                    "--burst-sz",
                                    "64",
                                    "--total-ops",
                                    fmt::format("{}", kOperations),
                                    "--pool-sz",
                                    "4096",
                                    "--digest-sz",
                                    fmt::format("{}", transform->icv_bytes),
                                    "--csv-friendly",
                                    "--silent"};
  const auto more = transform->cipher == Cipher::kAesCbc ? chain(*transform) : aead(*transform);
  words.insert(words.end(), more.begin(), more.end());
  auto child = Child::start(words, {log, {}});
  if (!child) return tl::unexpected(child.error());
  const auto code = (*child)->wait(kPatience_s);
  if (code != 0) {
    const auto said = last_lines(log, 1);
    return fail(fmt::format("{}: {}{}", kProgram, code ? describe_exit(*code) : "never ended",
                            said.empty() ? "" : ": " + said[0]));
  }
  std::ostringstream output;
  output << std::ifstream(log).rdbuf();
  auto rows = parse_crypto_perf(output.str());
  for (IpsecPeer& row : rows) row.algorithm = algorithm;
  return rows;
}

}  // namespace hecto::bench
