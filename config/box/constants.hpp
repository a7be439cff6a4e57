// The numbers of the capacity model: each has a name, a value, a unit and a source, and a
// calibration file (written by `hecto-bench calibrate`) overrides them by name. Nothing else in the
// model is a number.
//
// Cycles are ticks of the time-stamp counter (tsc_ghz), counted while the core ran at core_ghz. On
// the machine where they were counted a packet takes cycles / tsc_ghz nanoseconds; a core of
// another clock takes core_ghz / its GHz times as long.
//
// Values only; const functions are safe from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "config/file/reader.hpp"

namespace hecto::config {

// In the order of constants_table().
enum class Constant : uint8_t {
  kTscGhz,
  kCoreGhz,
  kWorkerEfficiency,
  kSmtGain,
  kL1Kbyte,
  kL2Kbyte,
  kMemoryRxCycles,
  kMemoryTxCycles,
  kCopyPacketCycles,
  kCopyByteCycles,
  kCopyByteL2Cycles,
  kCopyByteL3Cycles,
  kRefillPortCycles,
  kRefillStageCycles,
  kNicRxCycles,
  kNicTxCycles,
  kLoopCycles,
  kClassifyIpv4Cycles,
  kClassifyIpv6Cycles,
  kLookupIpv4Cycles,
  kLookupIpv6Cycles,
  kRewriteIpv4Cycles,
  kRewriteIpv6Cycles,
  kEspPacketCycles,
  kEspByteCycles,
  kRemoteAccessCycles,
  kNodeAccessCycles,
  kMemorySocketGbyteS,
  kMemoryBandwidthEfficiency,
  kMemoryLatencyLocalNs,
  kMemoryLatencyRemoteNs,
  kMemoryColdPerByte,
  kMemoryColdPacketBytes,
  kMemoryWarmPerByte,
  kIntersocketGbyteS,
  kIntersocketOverhead,
  kIntersocketUse,
  kPcieLinkEfficiency,
  kPcieWriteHeaderBytes,
  kPcieReadHeaderBytes,
  kPcieCompletionHeaderBytes,
  kPcieMaxPayloadBytes,
  kPcieMaxReadRequestBytes,
  kPcieDescriptorBytes,
  kPcieDescriptorFetchBatch,
  kPcieRxWritebackBatch,
  kPcieTxWritebackBatch,
  kPcieDoorbellBytes,
  kPcieDoorbellBatch,
  kHubToMemoryGbitS,
  kHubFromMemoryGbitS,
  kHubBothGbitS,
  kGpuLinkEfficiency,
  kGpuLaunchUs,
  kGpuLookupIpv4Mpps,
  kGpuLookupIpv6Mpps,
  kGpuEspGbitS,
  kGpuEspMpps,
  kGpuGatherCycles,
  kCount,
};

inline constexpr size_t kConstants = static_cast<size_t>(Constant::kCount);

struct ConstantInfo {
  Constant id;
  std::string_view name;
  double value;  // unless a calibration says otherwise
  double most;   // values are above 0 and up to this
  std::string_view unit;
  std::string_view section;
  std::string_view source;  // in words; (e): an estimate
};

std::span<const ConstantInfo> constants_table() noexcept;
const ConstantInfo& info(Constant constant) noexcept;
std::optional<Constant> find_constant(std::string_view name) noexcept;

// Why a value cannot be: "is not above 0; use ...", after the value seen. Nothing when it can.
std::optional<std::string> refused_value(Constant constant, double value);

// A value for each; the table's until set.
class Constants {
 public:
  Constants();

  double operator[](Constant constant) const { return values_[static_cast<size_t>(constant)]; }
  // `source` in words, as "measured on ...". The value must be one that refused_value lets through.
  void set(Constant constant, double value, std::string source);
  bool is_set(Constant constant) const { return sources_.count(constant) != 0; }
  std::string_view source(Constant constant) const;
  // With the table's cycles times `factor`, for another CPU; what was set stays.
  Constants on_cpu(double factor) const;
  // Whether some of the cycles are the table's, and a CPU's factor counts.
  bool has_table_cycles() const;

 private:
  std::array<double, kConstants> values_;
  std::map<Constant, std::string> sources_;
};

struct Calibration {
  std::string machine;  // in words
  std::string written;  // "2026-11-21"
  Constants constants;  // those of `base`, overridden by the file's
};

// The file has `machine`, `written` and `constants`, all of them optional but the last.
tl::expected<Calibration, Problems> read_calibration(const std::string& file,
                                                     const Constants& base = {});
tl::expected<Calibration, Problems> parse_calibration(std::string_view yaml,
                                                      const std::string& file_name,
                                                      const Constants& base = {});

// A calibration file of the constants that were set, each with its unit; `note` becomes a comment.
std::string to_yaml(const Constants& constants, const std::string& machine,
                    const std::string& written, const std::string& note);

// Reads a map of constants, as a calibration file and a box file have it, into `constants`.
void read_constants(const Value& map, const std::string& source, Constants& constants);

}  // namespace hecto::config
