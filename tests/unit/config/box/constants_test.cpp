// The model's numbers: the table, calibration files, and the cycles of a packet.
#include "config/box/constants.hpp"

#include <gtest/gtest.h>

#include <set>

#include "config/capacity/cycles.hpp"

namespace hecto::config {
namespace {

using enum Constant;

std::string calibration_problem(const std::string& yaml) {
  const auto read = parse_calibration(yaml, "c.yaml");
  EXPECT_FALSE(read) << yaml;
  return read ? "" : read.error().front();
}

TEST(ConstantsTable, NamesUnitAndSourceOfEach) {
  std::set<std::string_view> names;
  for (const ConstantInfo& row : constants_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.unit.empty() || row.section.empty() || row.source.empty()) << row.name;
    EXPECT_EQ(find_constant(row.name), row.id);
  }
  EXPECT_EQ(find_constant("no_such"), std::nullopt);
}

TEST(Calibration, OverridesByNameAndLeavesTheRest) {
  const auto read = parse_calibration(
      "machine: \"a box\"\nwritten: \"2026-11-21\"\nconstants:\n  classify_ipv4_cycles: 9.5\n",
      "c.yaml");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->machine, "a box");
  EXPECT_EQ(read->constants[kClassifyIpv4Cycles], 9.5);
  EXPECT_EQ(read->constants.source(kClassifyIpv4Cycles), "calibrated 2026-11-21 on a box");
  EXPECT_EQ(read->constants[kLoopCycles], info(kLoopCycles).value);
  EXPECT_FALSE(read->constants.is_set(kLoopCycles));
}

TEST(Calibration, IsWrittenAsItIsRead) {
  Constants constants;
  constants.set(kTscGhz, 2.25, "measured");
  constants.set(kEspByteCycles, 0.1875, "measured");
  const std::string yaml = to_yaml(constants, "EPYC: \"Zen 3\"", "2026-11-21", "two\nlines");
  const auto read = parse_calibration(yaml, "c.yaml");
  ASSERT_TRUE(read) << yaml << read.error().front();
  EXPECT_EQ(read->machine, "EPYC: \"Zen 3\"");
  for (const ConstantInfo& row : constants_table()) {
    EXPECT_EQ(read->constants[row.id], constants[row.id]) << row.name;
    EXPECT_EQ(read->constants.is_set(row.id), constants.is_set(row.id)) << row.name;
  }
}

TEST(Calibration, RefusesWhatCannotBe) {
  EXPECT_EQ(calibration_problem("constants: {lookup_ipv4_cycle: 3}"),
            "c.yaml:1: constants.lookup_ipv4_cycle: no such constant; did you mean "
            "lookup_ipv4_cycles?");
  EXPECT_EQ(calibration_problem("constants:\n  tsc_ghz: 0"),
            "c.yaml:2: constants.tsc_ghz: 0 cannot be; use 1e-06 to 100 (GHz, usually 2.6)");
  EXPECT_NE(calibration_problem("constants: {smt_gain: 1.5}").find("use 1e-06 to 1 "),
            std::string::npos);
  for (const char* value :
       {"-1", "1e-300", ".inf", "inf", "nan", ".nan", "1e999", "many", "\"3\"", "[1]"})
    EXPECT_NE(
        calibration_problem(std::string("constants: {loop_cycles: ") + value + "}").find("use "),
        std::string::npos)
        << value;
  EXPECT_NE(calibration_problem("constants: {}\nmachines: x").find("did you mean machine?"),
            std::string::npos);
  EXPECT_NE(calibration_problem("machine: x").find("has no constants"), std::string::npos);
  EXPECT_NE(calibration_problem("").find("empty"), std::string::npos);
  EXPECT_NE(calibration_problem("constants: {loop_cycles: 1, loop_cycles: 2}").find("here again"),
            std::string::npos);
  const auto missing = read_calibration("/no/such/file.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().front(),
            "/no/such/file.yaml: cannot be opened: No such file or directory");
}

TEST(Cycles, AreTheSumOfTheirTerms) {
  const Constants c;
  PacketWork work;
  work.ports = PortKind::kMemory;
  const PacketCycles ipv4 = cycles_per_packet(c, work);
  EXPECT_DOUBLE_EQ(ipv4.sum, c[kMemoryRxCycles] + c[kMemoryTxCycles] + c[kLoopCycles] +
                                 c[kClassifyIpv4Cycles] + c[kLookupIpv4Cycles] +
                                 c[kRewriteIpv4Cycles]);
  double sum = 0;
  for (const Term& term : ipv4.terms) sum += term.cycles;
  EXPECT_DOUBLE_EQ(ipv4.sum, sum);

  work.copies = 2;
  work.copied_bytes = 128;
  work.crossing = true;
  EXPECT_DOUBLE_EQ(
      cycles_per_packet(c, work).sum,
      ipv4.sum + 2 * c[kCopyPacketCycles] + 128 * c[kCopyByteCycles] + c[kRemoteAccessCycles]);
}

TEST(Cycles, OfCopiesGrowWhereABurstLeavesItsCaches) {
  Constants c;
  c.set(kL1Kbyte, 32, "test");
  c.set(kL2Kbyte, 512, "test");
  const auto extra = [&](double bytes) {
    PacketWork work;
    work.ports = PortKind::kMemory;
    work.frame_bytes = bytes;
    const double alone = cycles_per_packet(c, work).sum;
    work.copies = 2;
    work.copied_bytes = 2 * bytes;
    return cycles_per_packet(c, work).sum - alone - 2 * c[kCopyPacketCycles];
  };
  const double refill = c[kRefillPortCycles] + c[kRefillStageCycles];
  // 64 packets of 64, 384, 1024 and 16,000 bytes with their mbufs: 12, 32, 72 and 1008 KiB.
  EXPECT_NEAR(extra(64), 128 * c[kCopyByteCycles], 1e-9);
  EXPECT_NEAR(extra(384), 384 * (c[kCopyByteCycles] + c[kCopyByteL2Cycles]) + refill / 2, 1e-9);
  EXPECT_NEAR(extra(1024), 2048 * c[kCopyByteL2Cycles] + refill, 1e-9);
  EXPECT_NEAR(extra(16000), 32000 * c[kCopyByteL3Cycles] + refill, 1e-9);
}

TEST(Cycles, OfReceiveAndTransmitHaveNoStages) {
  const Constants c;
  EXPECT_DOUBLE_EQ(cycles_per_packet(c, {.work = Work::kReceive}).sum, c[kNicRxCycles]);
  EXPECT_DOUBLE_EQ(cycles_per_packet(c, {.work = Work::kTransmit}).sum, c[kNicTxCycles]);
}

TEST(Cycles, OfEspGrowWithTheBytes) {
  const Constants c;
  const auto esp = [&](double bytes) {
    return cycles_per_packet(c, {.traffic = Traffic::kIpsec, .frame_bytes = bytes}).sum;
  };
  EXPECT_NEAR(esp(1418) - esp(418), 1000 * c[kEspByteCycles], 1e-9);
  EXPECT_DOUBLE_EQ(esp(18), cycles_per_packet(c, {}).sum + c[kEspPacketCycles]);
}

TEST(Cycles, ScaleWithTheClockOfAnotherCore) {
  const Constants c;
  EXPECT_DOUBLE_EQ(worker_mpps(c, 52), 50);  // 2.6 GHz / 52
  EXPECT_DOUBLE_EQ(worker_mpps(c, 52, c[kCoreGhz]), 50);
  EXPECT_DOUBLE_EQ(worker_mpps(c, 52, c[kCoreGhz] / 2), 25);
}

}  // namespace
}  // namespace hecto::config
