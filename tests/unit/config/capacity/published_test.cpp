// The model against what others measured and published. Each row has its source; the table is
// printed with the ratio of predicted and published. What is left out has no figure that we could
// check against its source.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/box/cpu_families.hpp"
#include "config/box/pcie.hpp"
#include "config/capacity/capacity.hpp"
#include "tests/beds/planned.hpp"

namespace hecto::config {
namespace {

using enum Constant;

// PCIe: within 5%. CPU: inside the family's range. Cycles: published cycles a packet, so that the
// arithmetic alone is on trial, within 5%. Fitted: rows that the box's own constants were chosen
// for; they are no predictions, and only their fit is held, within 15%.
enum class Kind { kPcie, kCpu, kCycles, kFitted };

struct Row {
  std::string what;
  Kind kind;
  double published, low, likely, high;
};

void print(const std::vector<Row>& rows) {
  constexpr std::string_view kNames[] = {"PCIe", "CPU", "cycles", "fitted"};
  fmt::print("{:<62} {:<7} {:>9} {:>9} {:>6}  range\n", "", "kind", "published", "predicted",
             "ratio");
  for (const Row& row : rows)
    fmt::print("{:<62} {:<7} {:>9.2f} {:>9.2f} {:>6.2f}  {}\n", row.what,
               kNames[static_cast<size_t>(row.kind)], row.published, row.likely,
               row.likely / row.published,
               row.low == row.high ? "" : fmt::format("{:.2f} to {:.2f}", row.low, row.high));
}

double within(Kind kind) {
  return kind == Kind::kFitted ? 0.15 : 0.05;
}

void hold(const std::vector<Row>& rows) {
  print(rows);
  for (const Row& row : rows)
    if (row.kind == Kind::kCpu) {
      EXPECT_GE(row.published, row.low) << row.what;
      EXPECT_LE(row.published, row.high) << row.what;
    } else {
      EXPECT_NEAR(row.likely / row.published, 1, within(row.kind)) << row.what;
    }
}

Row exact(const std::string& what, Kind kind, double published, double predicted) {
  return {what, kind, published, predicted, predicted, predicted};
}

// Gb/s of data on PCIe 3.0 x8 when a device does nothing but write, or read, so many bytes.
double pcie_gbit_s(double bytes, const Directions& on_link) {
  const Constants c;
  return link_gbit_s(gt_s_of_generation(3), 8) * c[kPcieLinkEfficiency] * bytes /
         std::max(on_link.to_memory, on_link.from_memory);
}

Directions both(double bytes) {
  Directions out = link_bytes_written({}, bytes);
  out += link_bytes_read({}, bytes);
  return out;
}

// R. Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018:
// their measurements with an NFP6000 on PCIe 3.0 x8, github.com/pcie-bench/data, bw_dma_sz_sweep,
// cache warm. Below 256 bytes (reads: 512) the device's own DMA engines are the limit, as the paper
// says, and between them what two directions share: rows that say nothing of the link.
TEST(Published, PcieLinksAreWithinFivePerCent) {
  const std::string broadwell = "pcie-bench, Xeon E5-2630 v4, ",
                    haswell = "pcie-bench, Xeon E5-2637 v3, ";
  hold({
      exact(broadwell + "write 256 B, Gb/s", Kind::kPcie, 50.488,
            pcie_gbit_s(256, link_bytes_written({}, 256))),
      exact(broadwell + "write 1024 B", Kind::kPcie, 53.013,
            pcie_gbit_s(1024, link_bytes_written({}, 1024))),
      exact(haswell + "write 512 B", Kind::kPcie, 54.443,
            pcie_gbit_s(512, link_bytes_written({}, 512))),
      exact(haswell + "write 2048 B", Kind::kPcie, 54.444,
            pcie_gbit_s(2048, link_bytes_written({}, 2048))),
      exact(broadwell + "read 512 B", Kind::kPcie, 55.034,
            pcie_gbit_s(512, link_bytes_read({}, 512))),
      exact(broadwell + "read 1024 B", Kind::kPcie, 55.413,
            pcie_gbit_s(1024, link_bytes_read({}, 1024))),
      exact(haswell + "read 2048 B", Kind::kPcie, 55.248,
            pcie_gbit_s(2048, link_bytes_read({}, 2048))),
      exact(broadwell + "read and write 2048 B, each", Kind::kPcie, 52.000,
            pcie_gbit_s(2048, both(2048))),
  });
}

// FD.io CSIT, methodology, MRR throughput: "limited by PCIeGen3 x8 bandwidth limitation of ~50Gbps"
// for two ports of an XL710 in frames other than the shortest.
TEST(Published, AnXl710CarriesWhatItsSlotDoes) {
  const Planned plan = planned(parsed(
      "cores: 16\nghz: 3\nmemory: {channels: 6, mt_s: 2666}\n"
      "slots: {a: {socket: 0, gen: 3, lanes: 8}}\nnics: {n: {slot: a, id: \"8086:1583\"}}\n"));
  const Point& point = plan.local(k1518);
  EXPECT_EQ(plan.capacity.resources[point.bottleneck].kind, ResourceKind::kPcie);
  hold({exact("CSIT, XL710 on PCIe 3.0 x8, two ports, 1518 B, Gb/s", Kind::kPcie, 50,
              point.gbit_s)});
}

// What another program spends on a packet of the reference, ticks of its time-stamp counter, on
// another CPU, whose factor and range count.
Row on_cpu(const std::string& what, double published, const std::string& model, double ghz,
           double ticks) {
  const Constants c;
  const CpuFamily& family = cpu_family(model);
  auto mpps = [&](double factor) {
    return worker_mpps(c, ticks * factor, ghz) * c[kWorkerEfficiency];
  };
  return {what, Kind::kCpu, published, mpps(family.high), mpps(family.likely), mpps(family.low)};
}

// VPP on the reference: 105 ticks over receive and transmit for a million routes, of which the
// look-up takes 64; with one route 12 (measured beside hecto, 26.06).
constexpr double kVppTicks = 105, kVppLookupTicks = 64, kVppOneRouteTicks = 12;

// L. Rizzo, "netmap: a novel framework for fast packet I/O", USENIX ATC 2012: one core of an i7-870
// at 900 MHz sends or receives 14.88 Mpps on an 82599.
// FD.io CSIT, release notes of 17.01: 64B-1t1c-ethip4-ip4base-ndrdisc on an X520, 9.7 Mpps, and
// ip4scale200k, 9.0 Mpps; Xeon E5-2699 v3 at 2.3 GHz, Turbo off. VPP 17.01.
TEST(Published, CpusAreInsideTheirRange) {
  const Constants c;
  const double ports = c[kNicRxCycles] + c[kNicTxCycles];
  const std::string i7 = "Intel(R) Core(TM) i7 CPU 870 @ 2.93GHz";
  const std::string haswell = "Intel(R) Xeon(R) CPU E5-2699 v3 @ 2.30GHz";
  hold({
      on_cpu("netmap 2012, i7-870 at 0.9 GHz, transmit, Mpps", 14.88, i7, 0.9, c[kNicTxCycles]),
      on_cpu("netmap 2012, i7-870 at 0.9 GHz, receive", 14.88, i7, 0.9, c[kNicRxCycles]),
      on_cpu("CSIT 17.01, VPP, one route, E5-2699 v3", 9.7, haswell, 2.3,
             ports + kVppTicks - kVppLookupTicks + kVppOneRouteTicks),
      on_cpu("CSIT 17.01, VPP, 200,000 routes, E5-2699 v3", 9.0, haswell, 2.3, ports + kVppTicks),
  });
}

// M. Dobrescu et al., "RouteBricks: exploiting parallelism to scale software routers", SOSP 2009:
// eight Nehalem cores of 2.8 GHz, 64-byte packets. Instructions a packet and cycles an instruction
// (table 3): 1,033 x 1.19 to forward, 1,512 x 1.23 to route, 14,221 x 0.55 for IPsec; 9.7, 6.35 and
// 1.4 Gb/s of frames.
TEST(Published, RouteBricksIsCoresTimesClockOverCycles) {
  auto gbit_s = [](double instructions, double cycles_each) {
    Constants c;
    c.set(kTscGhz, 2.8, "a test");
    c.set(kCoreGhz, 2.8, "a test");
    return 8 * worker_mpps(c, instructions * cycles_each, 2.8) * 64 * 8 / 1000;
  };
  hold({
      exact("RouteBricks 2009, forwarding, 64 B, Gb/s", Kind::kCycles, 9.7, gbit_s(1033, 1.19)),
      exact("RouteBricks 2009, routing", Kind::kCycles, 6.35, gbit_s(1512, 1.23)),
      exact("RouteBricks 2009, IPsec", Kind::kCycles, 1.4, gbit_s(14221, 0.55)),
  });
}

// S. Han et al., "PacketShader: a GPU-accelerated software router", SIGCOMM 2010. The paper counts
// 88 bytes of wire for its 64-byte packets. And S. Han et al., "Building a single-box 100 Gbps
// software router", LANMAN 2010, where I/O hubs stop forwarding "well before" 50 Gb/s: an upper
// bound, no figure.
TEST(Published, TheBoxesOf2010FitTheirPapers) {
  constexpr double kGbit = 88.0 * 8 / 1000;
  const Box box = shipped("packetshader2010");
  Box no_gpu = box;
  no_gpu.gpus.clear();
  const Planned gpu = planned(box), cpu = planned(no_gpu);
  hold({
      exact("PacketShader, IPv4, 64 B, Gb/s", Kind::kFitted, 39, gpu.local(k64).mpps * kGbit),
      exact("PacketShader, IPv6, 64 B", Kind::kFitted, 38,
            gpu.local(k64, Traffic::kIpv6).mpps * kGbit),
      exact("PacketShader, IPsec, 64 B", Kind::kFitted, 10.2,
            gpu.local(k64, Traffic::kIpsec).mpps * kGbit),
      exact("PacketShader, IPsec, 1514 B", Kind::kFitted, 20,
            gpu.local(k1518, Traffic::kIpsec).gbit_s),
      exact("PacketShader without GPUs, IPv4, 64 B", Kind::kFitted, 28,
            cpu.local(k64).mpps * kGbit),
      exact("PacketShader without GPUs, IPv6, 64 B", Kind::kFitted, 8,
            cpu.local(k64, Traffic::kIpv6).mpps * kGbit),
  });
  EXPECT_LT(planned(shipped("lanman2010")).local(k1518).gbit_s, 50);
}

}  // namespace
}  // namespace hecto::config
