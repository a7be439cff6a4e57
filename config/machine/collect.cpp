#include "config/machine/collect.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "config/box/topology_xml.hpp"
#include "config/machine/pci.hpp"

namespace hecto::config {
namespace {

// A number of sysfs: "16.0 GT/s PCIe", "8", "-1". Nothing for what is none, or is below zero.
std::optional<double> positive(const MachineFiles& files, const std::string& path) {
  const auto text = files.text(path);
  if (!text) return std::nullopt;
  const double value = std::strtod(text->c_str(), nullptr);
  if (!(value > 0)) return std::nullopt;
  return value;
}

unsigned word_at(const std::string& table, size_t at) {
  return static_cast<unsigned char>(table[at]) |
         static_cast<unsigned>(static_cast<unsigned char>(table[at + 1])) << 8;
}

// A structure's text: strings follow it, each ended by a zero, numbered from 1.
std::string string_of(const std::string& table, size_t strings, unsigned number) {
  for (; number > 1 && strings < table.size(); --number) {
    const size_t end = table.find('\0', strings);
    if (end == std::string::npos) return "";
    strings = end + 1;
  }
  if (number == 0 || strings >= table.size()) return "";
  return table.substr(strings, table.find('\0', strings) - strings);
}

// SMBIOS 3, "Memory Device" (type 17): offsets of its fields.
constexpr unsigned char kMemoryDevice = 17;
constexpr size_t kSizeAt = 0x0c, kLocatorAt = 0x10, kSpeedAt = 0x15, kLargeSizeAt = 0x1c,
                 kConfiguredSpeedAt = 0x20;

// MT/s; 0: not told, as by QEMU and Hyper-V, or in a later field.
unsigned speed_at(const std::string& table, size_t at) {
  constexpr unsigned kInLaterField = 0xffff;
  const unsigned speed = word_at(table, at);
  return speed == kInLaterField ? 0 : speed;
}

std::optional<MemoryModule> module_at(const std::string& table, size_t at, size_t length) {
  constexpr unsigned kEmpty = 0, kUnknown = 0xffff, kLarge = 0x7fff, kInKilobytes = 0x8000;
  if (length < kSpeedAt + 2) return std::nullopt;
  const unsigned size = word_at(table, at + kSizeAt);
  if (size == kEmpty || size == kUnknown) return std::nullopt;
  MemoryModule out;
  double mbyte = (size & kInKilobytes) != 0 ? (size & ~kInKilobytes) / 1024.0 : size;
  if (size == kLarge && length >= kLargeSizeAt + 4)
    mbyte = word_at(table, at + kLargeSizeAt) + 65536.0 * word_at(table, at + kLargeSizeAt + 2);
  out.gbyte = mbyte / 1024;
  out.mt_s = speed_at(table, at + kSpeedAt);
  if (length >= kConfiguredSpeedAt + 2)
    if (const unsigned configured = speed_at(table, at + kConfiguredSpeedAt); configured > 0)
      out.mt_s = configured;
  out.name = string_of(table, at + length, static_cast<unsigned char>(table[at + kLocatorAt]));
  return out;
}

}  // namespace

// What the topology has of each comes from the same place.
void collect_nics(const MachineFiles& files, const Ethtool& ethtool, const Topology& topology,
                  Collection& out) {
  for (const Nic& nic : topology.nics) {
    NicFacts& facts = out.facts.nics[nic.pci];
    const std::string device = device_folder(nic.pci);
    facts.gt_s = positive(files, device + "/current_link_speed");
    facts.lanes = positive(files, device + "/current_link_width");
    facts.most_gt_s = positive(files, device + "/max_link_speed");
    facts.most_lanes = positive(files, device + "/max_link_width");
    facts.interface = nic.interface;
    facts.driver = driver_of(files, nic.pci);
    if (nic.interface.empty()) {
      out.notes.push_back(fmt::format(
          "{} is not the kernel's ({}): its wire's rate cannot be read; unbind it, or say "
          "--what-if NIC.gbit_s=N later.",
          nic.pci, facts.driver.empty() ? "no driver" : facts.driver));
      continue;
    }
    const auto mbit = positive(files, "/sys/class/net/" + nic.interface + "/speed");
    if (mbit) facts.gbit_s = *mbit / 1000;
    if (!mbit)
      out.notes.push_back(fmt::format("{} tells no rate: it is down, or virtual.", nic.interface));
    const InterfaceFacts told = ethtool.facts(nic.interface);
    facts.firmware = told.firmware;
    if (told.receive_queues) facts.queues = *told.receive_queues;
  }
}

void collect_modules(const MachineFiles& files, Collection& out) {
  const std::string path = "/sys/firmware/dmi/tables/DMI";
  const auto table = files.text(path);
  if (!table) {
    out.notes.push_back(
        fmt::format("{}: {}; the plan takes a bandwidth of memory instead.", path,
                    files.exists(path) ? "cannot be read, which takes root" : "is not there"));
    return;
  }
  for (size_t at = 0; at + 4 <= table->size();) {
    const size_t length = static_cast<unsigned char>((*table)[at + 1]);
    if (length < 4 || at + length > table->size()) break;
    if (static_cast<unsigned char>((*table)[at]) == kMemoryDevice)
      if (auto module = module_at(*table, at, length))
        out.facts.modules.push_back(std::move(*module));
    // Its strings end with an empty one.
    const size_t end = table->find(std::string(2, '\0'), at + length);
    if (end == std::string::npos) break;
    at = end + 2;
  }
  if (out.facts.modules.empty())
    out.notes.push_back(
        fmt::format("{}: tells of no memory module, as in a virtual machine.", path));
}

void collect_clock(const MachineFiles& files, const Topology& topology, Collection& out) {
  constexpr double kKilohertz = 1e6;
  const std::string folder = "/sys/devices/system/cpu/cpu0/cpufreq";
  out.facts.model = topology.cpu_model;
  out.facts.ghz = topology.ghz;
  if (const auto khz = positive(files, folder + "/base_frequency"))
    out.facts.ghz = *khz / kKilohertz;
  if (const auto khz = positive(files, folder + "/cpuinfo_max_freq"))
    out.facts.most_ghz = *khz / kKilohertz;
  out.facts.governor = files.text(folder + "/scaling_governor").value_or("");
}

tl::expected<Collection, std::string> collect(const MachineFiles& files, const Ethtool& ethtool) {
  const auto topology = read_topology();
  if (!topology) return tl::unexpected(topology.error());
  auto xml = export_topology();
  if (!xml) return tl::unexpected(xml.error());
  Collection out;
  out.facts.machine = files.text("/proc/sys/kernel/hostname").value_or("");
  out.facts.hwloc = std::move(*xml);
  collect_clock(files, *topology, out);
  collect_nics(files, ethtool, *topology, out);
  collect_modules(files, out);
  return out;
}

}  // namespace hecto::config
