#include "config/box/nic_models.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace hecto::config {
namespace {

// Names and ids: pci.ids of 2026-08-22 (pci-ids.ucw.cz). Wires and links: the makers' data sheets
// and product briefs. Packets a second where line rate is beyond the card:
// - 82599, X710: line rate, 14.88 Mpps a port (FD.io CSIT, methodology, MRR throughput).
// - XL710: 37 Mpps, nominal for one of its family (FD.io CSIT, release notes of 20.05).
// - XXV710: 18.75 Mpps a port with both ports in use (FD.io CSIT, methodology, MRR throughput).
// - ConnectX-6, and Dx: 215 million messages a second (product brief of ConnectX-6 EN).
// - E810-C: 100 Gb/s of all its ports together, whatever they are (Intel's support article
//   000093702, of E810-CQDA2). E810-2CQDA2 has two controllers, which are two cards on PCIe.
// Of others no rate of the card alone is published that we know of, and the wires bound them.
// Descriptors: as DPDK 22.11 builds its drivers: ixgbe 16 and 16, i40e and ice 32 to receive, 16
// to transmit; mlx5 compresses completions, and from ConnectX-5 on has 16 a packet in transmit
// elements of several packets (txq_mpw_en), before 64.
constexpr bool kOne = true, kSeveral = false;
// clang-format off
constexpr NicModel kModels[] = {
  {0x1425, 0x5401, "T520-CR",             2,   10, kOne,        0, 3,  8,  8, 64},
  {0x1425, 0x540d, "T580-CR",             2,   40, kOne,        0, 3,  8,  8, 64},
  {0x1425, 0x5410, "T580-LP-CR",          2,   40, kOne,        0, 3,  8,  8, 64},
  {0x1425, 0x6401, "T6225-CR",            2,   25, kOne,        0, 3,  8,  8, 64},
  {0x1425, 0x6407, "T62100-LP-CR",        2,  100, kOne,        0, 3, 16,  8, 64},
  {0x1425, 0x640d, "T62100-CR",           2,  100, kOne,        0, 3, 16,  8, 64},
  {0x14e4, 0x1657, "BCM5719",             4,    1, kOne,        0, 2,  4, 32, 16},
  {0x14e4, 0x165f, "BCM5720",             2,    1, kOne,        0, 2,  2, 32, 16},
  {0x14e4, 0x168e, "BCM57810",            2,   10, kOne,        0, 2,  8, 16, 16},
  {0x14e4, 0x16d6, "BCM57412",            2,   10, kOne,        0, 3,  8, 32, 16},
  {0x14e4, 0x16d7, "BCM57414",            2,   25, kSeveral,    0, 3,  8, 32, 16},
  {0x14e4, 0x16d8, "BCM57416",            2,   10, kOne,        0, 3,  8, 32, 16},
  {0x14e4, 0x16dc, "NetXtreme-E VF",      0,    0, kSeveral,    0, 0,  0, 32, 16},
  {0x14e4, 0x1750, "BCM57508",            2,  100, kSeveral,    0, 4, 16, 32, 16},
  {0x14e4, 0x1751, "BCM57504",            4,   25, kSeveral,    0, 4, 16, 32, 16},
  {0x15ad, 0x07b0, "VMXNET3",             0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x15b3, 0x1003, "ConnectX-3",          2,   40, kSeveral,    0, 3,  8, 16, 64},
  {0x15b3, 0x1007, "ConnectX-3 Pro",      2,   40, kSeveral,    0, 3,  8, 16, 64},
  {0x15b3, 0x1013, "ConnectX-4",          2,  100, kSeveral,    0, 3, 16, 16, 64},
  {0x15b3, 0x1014, "ConnectX-4 VF",       0,    0, kSeveral,    0, 0,  0, 16, 64},
  {0x15b3, 0x1015, "ConnectX-4 Lx",       2,   25, kSeveral,    0, 3,  8, 16, 64},
  {0x15b3, 0x1016, "ConnectX-4 Lx VF",    0,    0, kSeveral,    0, 0,  0, 16, 64},
  {0x15b3, 0x1017, "ConnectX-5",          2,  100, kSeveral,    0, 3, 16, 16, 16},
  {0x15b3, 0x1018, "ConnectX-5 VF",       0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x15b3, 0x1019, "ConnectX-5 Ex",       2,  100, kSeveral,    0, 4, 16, 16, 16},
  {0x15b3, 0x101a, "ConnectX-5 Ex VF",    0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x15b3, 0x101b, "ConnectX-6",          2,  200, kSeveral,  215, 4, 16, 16, 16},
  {0x15b3, 0x101c, "ConnectX-6 VF",       0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x15b3, 0x101d, "ConnectX-6 Dx",       2,  100, kSeveral,  215, 4, 16, 16, 16},
  {0x15b3, 0x101e, "ConnectX VF",         0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x15b3, 0x101f, "ConnectX-6 Lx",       2,   25, kSeveral,    0, 4,  8, 16, 16},
  {0x15b3, 0x1021, "ConnectX-7",          2,  200, kSeveral,    0, 5, 16, 16, 16},
  {0x15b3, 0xa2d2, "BlueField",           2,  100, kSeveral,    0, 4, 16, 16, 16},
  {0x15b3, 0xa2d6, "BlueField-2",         2,  100, kSeveral,    0, 4, 16, 16, 16},
  {0x15b3, 0xa2dc, "BlueField-3",         2,  200, kSeveral,    0, 5, 16, 16, 16},
  {0x1924, 0x0903, "SFC9120",             2,   10, kOne,        0, 3,  8,  8,  8},
  {0x1924, 0x0923, "SFC9140",             2,   40, kSeveral,    0, 3,  8,  8,  8},
  {0x1924, 0x0a03, "SFC9220",             2,   10, kSeveral,    0, 3,  8,  8,  8},
  {0x1924, 0x0b03, "SFC9250",             2,  100, kSeveral,    0, 3, 16,  8,  8},
  {0x1ae0, 0x0042, "gVNIC",               0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x1af4, 0x1000, "virtio",              0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x1af4, 0x1041, "virtio 1.0",          0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x1d0f, 0xec20, "ENA",                 0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x8086, 0x10c9, "82576",               2,    1, kOne,        0, 2,  4, 16, 16},
  {0x8086, 0x10d3, "82574L",              1,    1, kOne,        0, 1,  1, 16, 16},
  {0x8086, 0x10ed, "82599 VF",            0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x8086, 0x10fb, "82599",               2,   10, kOne,        0, 2,  8, 16, 16},
  {0x8086, 0x125b, "I226-LM",             1,  2.5, kOne,        0, 3,  1, 16, 16},
  {0x8086, 0x125c, "I226-V",              1,  2.5, kOne,        0, 3,  1, 16, 16},
  {0x8086, 0x150e, "82580",               4,    1, kOne,        0, 2,  4, 16, 16},
  {0x8086, 0x1515, "X540 VF",             0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x8086, 0x1520, "I350 VF",             0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x8086, 0x1521, "I350",                4,    1, kOne,        0, 2,  4, 16, 16},
  {0x8086, 0x1522, "I350 fiber",          4,    1, kOne,        0, 2,  4, 16, 16},
  {0x8086, 0x1523, "I350 backplane",      4,    1, kOne,        0, 2,  4, 16, 16},
  {0x8086, 0x1528, "X540",                2,   10, kOne,        0, 2,  8, 16, 16},
  {0x8086, 0x1533, "I210",                1,    1, kOne,        0, 2,  1, 16, 16},
  {0x8086, 0x1536, "I210 fiber",          1,    1, kOne,        0, 2,  1, 16, 16},
  {0x8086, 0x1539, "I211",                1,    1, kOne,        0, 2,  1, 16, 16},
  {0x8086, 0x154c, "700 series VF",       0,    0, kSeveral,    0, 0,  0, 32, 16},
  {0x8086, 0x1563, "X550",                2,   10, kOne,        0, 3,  4, 16, 16},
  {0x8086, 0x1565, "X550 VF",             0,    0, kSeveral,    0, 0,  0, 16, 16},
  {0x8086, 0x1572, "X710",                4,   10, kOne,        0, 3,  8, 32, 16},
  {0x8086, 0x1583, "XL710",               2,   40, kOne,       37, 3,  8, 32, 16},
  {0x8086, 0x1584, "XL710",               1,   40, kOne,       37, 3,  8, 32, 16},
  {0x8086, 0x1589, "X710 10GBASE-T",      4,   10, kOne,        0, 3,  8, 32, 16},
  {0x8086, 0x158a, "XXV710 backplane",    2,   25, kOne,     37.5, 3,  8, 32, 16},
  {0x8086, 0x158b, "XXV710",              2,   25, kOne,     37.5, 3,  8, 32, 16},
  {0x8086, 0x1591, "E810-C backplane",    2,  100, kSeveral,    0, 4, 16, 32, 16, 100},
  {0x8086, 0x1592, "E810-C",              2,  100, kOne,        0, 4, 16, 32, 16, 100},
  {0x8086, 0x1593, "E810-C SFP",          4,   25, kOne,        0, 4, 16, 32, 16},
  {0x8086, 0x1599, "E810-XXV backplane",  2,   25, kOne,        0, 4,  8, 32, 16},
  {0x8086, 0x159a, "E810-XXV QSFP",       2,   25, kOne,        0, 4,  8, 32, 16},
  {0x8086, 0x159b, "E810-XXV",            2,   25, kOne,        0, 4,  8, 32, 16},
  {0x8086, 0x15f2, "I225-LM",             1,  2.5, kOne,        0, 3,  1, 16, 16},
  {0x8086, 0x15f3, "I225-V",              1,  2.5, kOne,        0, 3,  1, 16, 16},
  {0x8086, 0x15ff, "X710 10GBASE-T",      4,   10, kOne,        0, 3,  8, 32, 16},
  {0x8086, 0x1889, "E8xx VF",             0,    0, kSeveral,    0, 0,  0, 32, 16},
};
// clang-format on

constexpr uint32_t id_of(uint16_t vendor, uint16_t device) {
  return uint32_t{vendor} << 16 | device;
}

constexpr bool by_ids() {
  for (size_t i = 1; i < std::size(kModels); ++i)
    if (id_of(kModels[i - 1].vendor, kModels[i - 1].device) >=
        id_of(kModels[i].vendor, kModels[i].device))
      return false;
  return true;
}
static_assert(by_ids(), "sorted by ids, each once");

std::optional<uint16_t> hexadecimal(std::string_view text) {
  uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

const NicModel* find_nic_model(uint16_t vendor, uint16_t device) noexcept {
  const uint32_t id = id_of(vendor, device);
  const auto* at = std::lower_bound(std::begin(kModels), std::end(kModels), id,
                                    [](const NicModel& model, uint32_t wanted) {
                                      return id_of(model.vendor, model.device) < wanted;
                                    });
  return at != std::end(kModels) && id_of(at->vendor, at->device) == id ? at : nullptr;
}

std::optional<PciId> parse_pci_id(std::string_view text) noexcept {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto vendor = hexadecimal(text.substr(0, colon)),
             device = hexadecimal(text.substr(colon + 1));
  if (!vendor || !device) return std::nullopt;
  return PciId{*vendor, *device};
}

}  // namespace hecto::config
