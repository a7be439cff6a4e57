#include "config/box/topology.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <numa.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "config/box/cpu_families.hpp"
#include "config/box/topology_xml.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {
namespace {

constexpr unsigned kNetworkClass = 0x02;  // PCI base class: network controller
constexpr unsigned kEthernetClass = 0x0200;
constexpr unsigned k3dClass = 0x0302;  // PCI class: 3D controller, a GPU without a display

struct Destroy {
  void operator()(hwloc_topology* t) const { hwloc_topology_destroy(t); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

std::optional<double> read_number(const std::string& file) {
  std::ifstream stream(file);
  double number = 0;
  // "Unknown" and the -1 of a port that is down are no numbers to us.
  if (!(stream >> number) || number <= 0) return std::nullopt;
  return number;
}

std::optional<unsigned> read_count(const std::string& file) {
  auto number = read_number(file);
  if (!number || *number > 64) return std::nullopt;
  return static_cast<unsigned>(*number);
}

int socket_of(hwloc_topology_t t, hwloc_const_nodeset_t nodes) {
  int first = nodes == nullptr ? -1 : hwloc_bitmap_first(nodes);
  if (first >= 0) return first;
  hwloc_obj_t node = hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, 0);
  return node == nullptr ? 0 : static_cast<int>(node->os_index);
}

// Which of the objects of a type the object lies in.
std::optional<int> number_of(hwloc_topology_t t, hwloc_obj_type_t type, hwloc_obj_t obj) {
  hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(t, type, obj);
  if (above == nullptr) return std::nullopt;
  return static_cast<int>(above->logical_index);
}

void read_cores(hwloc_topology_t t, hwloc_const_cpuset_t affinity, Topology& out) {
  hwloc_obj_type_t type =
      hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t obj = nullptr; (obj = hwloc_get_next_obj_by_type(t, type, obj)) != nullptr;) {
    std::vector<unsigned> cpus, usable;
    for (int cpu = hwloc_bitmap_first(obj->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(obj->cpuset, cpu)) {
      cpus.push_back(static_cast<unsigned>(cpu));
      if (affinity == nullptr || hwloc_bitmap_isset(affinity, static_cast<unsigned>(cpu)) != 0)
        usable.push_back(static_cast<unsigned>(cpu));
    }
    if (cpus.empty()) continue;
    Core core;
    core.allowed = !usable.empty();
    const std::vector<unsigned>& threads = core.allowed ? usable : cpus;
    core.cpu = threads.front();
    core.siblings.assign(threads.begin() + 1, threads.end());
    core.socket = socket_of(t, obj->nodeset);
    core.package = number_of(t, HWLOC_OBJ_PACKAGE, obj).value_or(-1);
    core.l3 = number_of(t, HWLOC_OBJ_L3CACHE, obj).value_or(-1);
    out.cores.push_back(std::move(core));
  }
  std::sort(out.cores.begin(), out.cores.end(),
            [](const Core& a, const Core& b) { return a.cpu < b.cpu; });
}

// The lowest socket of the package whose cores are all that the device is near to; -1 when those
// of several packages are.
int nic_socket(hwloc_topology_t t, hwloc_obj_t device, const Topology& topology) {
  hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(t, device);
  if (near == nullptr || near->cpuset == nullptr) return -1;
  const Core* lowest = nullptr;
  for (const Core& core : topology.cores) {
    if (hwloc_bitmap_isset(near->cpuset, core.cpu) == 0) continue;
    if (lowest != nullptr &&
        package_of(topology, lowest->socket) != package_of(topology, core.socket))
      return -1;
    if (lowest == nullptr || core.socket < lowest->socket) lowest = &core;
  }
  return lowest == nullptr ? -1 : lowest->socket;
}

std::string words_of(hwloc_obj_t device) {
  const char* vendor = hwloc_obj_get_info_by_name(device, "PCIVendor");
  const char* name = hwloc_obj_get_info_by_name(device, "PCIDevice");
  if (vendor == nullptr || name == nullptr) return vendor != nullptr ? vendor : name ? name : "";
  return fmt::format("{} {}", vendor, name);
}

void read_nics(hwloc_topology_t t, bool here, Topology& out) {
  for (hwloc_obj_t obj = nullptr; (obj = hwloc_get_next_pcidev(t, obj)) != nullptr;) {
    const auto& pci = obj->attr->pcidev;
    const std::string place =
        fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
    if (pci.class_id == k3dClass) {
      Gpu gpu{place, words_of(obj), nic_socket(t, obj, out), std::nullopt};
      if (pci.linkspeed > 0) gpu.pcie_gbit_s = pci.linkspeed * 8.0;
      out.gpus.push_back(std::move(gpu));
    }
    if (pci.class_id >> 8 != kNetworkClass) continue;
    Nic nic;
    nic.pci = place;
    nic.name = words_of(obj);
    nic.socket = nic_socket(t, obj, out);
    nic.vendor = pci.vendor_id;
    nic.device = pci.device_id;
    nic.ethernet = pci.class_id == kEthernetClass;
    if (pci.linkspeed > 0) nic.pcie_gbit_s = pci.linkspeed * 8.0;  // hwloc counts GB/s
    out.nics.push_back(std::move(nic));
  }
  for (hwloc_obj_t obj = nullptr; (obj = hwloc_get_next_osdev(t, obj)) != nullptr;) {
    if (obj->attr->osdev.type != HWLOC_OBJ_OSDEV_NETWORK || obj->name == nullptr) continue;
    hwloc_obj_t parent = obj->parent;
    if (parent == nullptr || parent->type != HWLOC_OBJ_PCI_DEVICE) continue;
    const auto& pci = parent->attr->pcidev;
    std::string address =
        fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
    for (Nic& nic : out.nics)
      if (nic.pci == address && nic.interface.empty()) nic.interface = obj->name;
  }
  if (!here) return;
  for (Nic& nic : out.nics) {
    const std::string device = "/sys/bus/pci/devices/" + nic.pci;
    nic.pcie_gt_s = read_number(device + "/current_link_speed");
    nic.pcie_lanes = read_count(device + "/current_link_width");
    nic.pcie_max_gt_s = read_number(device + "/max_link_speed");
    nic.pcie_max_lanes = read_count(device + "/max_link_width");
    if (auto mbit = nic.interface.empty()
                        ? std::nullopt
                        : read_number("/sys/class/net/" + nic.interface + "/speed"))
      nic.gbit_s = *mbit / 1000;
  }
}

void read_memory(hwloc_topology_t t, bool here, Topology& out) {
  bool have_free = here && numa_available() >= 0;
  for (int socket : out.sockets) {
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node)) != nullptr)
      if (static_cast<int>(node->os_index) == socket) break;
    out.memory_bytes.push_back(node == nullptr ? 0 : node->attr->numanode.local_memory);
    if (!here && node != nullptr) {
      const auto& attributes = node->attr->numanode;
      uint64_t bytes = 0, small = 0;
      for (unsigned i = 0; i < attributes.page_types_len; ++i) {
        if (attributes.page_types[i].size < (1u << 20)) continue;
        bytes += attributes.page_types[i].size * attributes.page_types[i].count;
        if (attributes.page_types[i].size == 2u << 20) small = attributes.page_types[i].count;
      }
      out.hugepage_bytes.push_back(bytes);
      out.hugepages_2m.push_back(small);
    }
    long long free = 0;
    if (have_free && numa_node_size64(socket, &free) >= 0)
      out.free_memory_bytes.push_back(static_cast<uint64_t>(free));
  }
  // A node does not tell of what a virtual machine was given later.
  if (here && out.sockets.size() == 1)
    out.memory_bytes[0] =
        std::max(out.memory_bytes[0], static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                          static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  if (out.free_memory_bytes.size() != out.sockets.size()) out.free_memory_bytes.clear();
  if (out.hugepage_bytes.size() != out.sockets.size()) {
    out.hugepage_bytes.clear();
    out.hugepages_2m.clear();
  }
}

void read_l3(hwloc_topology_t t, Topology& out) {
  for (hwloc_obj_t obj = nullptr;
       (obj = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_L3CACHE, obj)) != nullptr;)
    if (!out.sockets.empty() && socket_of(t, obj->nodeset) == out.sockets.front())
      out.l3_bytes += obj->attr->cache.size;
}

// A virtual machine often has "Intel(R) Xeon(R) Processor": its CPUID model tells more. ARM's have a
// part number instead of a name, 0xd0c of a Neoverse N1.
void name_cpu(hwloc_obj_t package, std::string& model) {
  if (package == nullptr || cpu_family(model).known) return;
  const char* number = hwloc_obj_get_info_by_name(package, "CPUModelNumber");
  const char* vendor = hwloc_obj_get_info_by_name(package, "CPUVendor");
  const char* part = hwloc_obj_get_info_by_name(package, "CPUPart");
  if (number != nullptr && vendor != nullptr && std::string_view(vendor) == "GenuineIntel")
    model += fmt::format("{}(CPUID model {})", model.empty() ? "" : " ", number);
  else if (part != nullptr && model.empty())
    model = fmt::format("ARM part {}", part);
}

// "Intel(R) Xeon(R) Gold 6430 CPU @ 2.10GHz" tells its clock; of others the kernel does, here.
void read_clock(hwloc_topology_t t, bool here, Topology& out) {
  for (hwloc_obj_t obj : {hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(t)}) {
    const char* model = obj == nullptr ? nullptr : hwloc_obj_get_info_by_name(obj, "CPUModel");
    if (model != nullptr && out.cpu_model.empty()) out.cpu_model = model;
  }
  name_cpu(hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0), out.cpu_model);
  double ghz = 0;
  const size_t at = out.cpu_model.rfind("@ ");
  if (at != std::string::npos && std::sscanf(out.cpu_model.c_str() + at, "@ %lfGHz", &ghz) == 1 &&
      ghz > 0)
    out.ghz = ghz;
  if (!here || out.ghz) return;
  if (auto khz = read_number("/sys/devices/system/cpu/cpu0/cpufreq/base_frequency"))
    out.ghz = *khz / 1e6;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; !out.ghz && std::getline(info, line);)
    if (double mhz = 0; std::sscanf(line.c_str(), "cpu MHz : %lf", &mhz) == 1 && mhz > 0)
      out.ghz = mhz / 1000;
}

tl::expected<Topology, std::string> read(const std::string* xml, const std::string& source) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return tl::unexpected(source + ": hwloc does not start");
  Handle t(raw);
  if (xml != nullptr &&
      hwloc_topology_set_xmlbuffer(raw, xml->c_str(), static_cast<int>(xml->size() + 1)) != 0)
    return tl::unexpected(source + ": " + std::string(kNoExport));
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0)
    return tl::unexpected(
        xml == nullptr
            ? fmt::format("{}: hwloc cannot read it: {}", source, std::strerror(errno))
            : fmt::format("{}: hwloc finds something in it that cannot be; {}", source, kAgain));

  Topology out;
  out.source = source;
  hwloc_cpuset_t affinity = nullptr;
  if (xml == nullptr) {
    affinity = hwloc_bitmap_alloc();
    if (affinity != nullptr && hwloc_get_cpubind(raw, affinity, HWLOC_CPUBIND_PROCESS) != 0) {
      hwloc_bitmap_free(affinity);
      affinity = nullptr;
    }
  }
  read_cores(raw, affinity, out);
  if (affinity != nullptr) hwloc_bitmap_free(affinity);
  for (const Core& core : out.cores) out.sockets.push_back(core.socket);
  std::sort(out.sockets.begin(), out.sockets.end());
  out.sockets.erase(std::unique(out.sockets.begin(), out.sockets.end()), out.sockets.end());
  if (out.sockets.empty()) return tl::unexpected(source + ": no core in it");
  read_nics(raw, xml == nullptr, out);
  read_memory(raw, xml == nullptr, out);
  read_l3(raw, out);
  read_clock(raw, xml == nullptr, out);
  if (xml == nullptr) read_hugepages(out);
  return out;
}

}  // namespace

void read_hugepages(Topology& topology, const std::string& sys) {
  namespace fs = std::filesystem;
  topology.hugepage_bytes.assign(topology.sockets.size(), 0);
  topology.hugepages_2m.assign(topology.sockets.size(), 0);
  for (size_t i = 0; i < topology.sockets.size(); ++i) {
    fs::path folder =
        fmt::format("{}/devices/system/node/node{}/hugepages", sys, topology.sockets[i]);
    std::error_code error;
    // A kernel without NUMA has one count for the whole machine.
    if (!fs::is_directory(folder, error) && i == 0) folder = sys + "/kernel/mm/hugepages";
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      uint64_t kilobytes = 0;
      if (std::sscanf(entry.path().filename().c_str(), "hugepages-%lukB", &kilobytes) != 1)
        continue;
      auto count = [&](const char* file) {
        return static_cast<uint64_t>(read_number((entry.path() / file).string()).value_or(0));
      };
      topology.hugepage_bytes[i] += count("free_hugepages") * kilobytes * 1024;
      if (kilobytes == 2048) topology.hugepages_2m[i] = count("nr_hugepages");
    }
  }
}

tl::expected<std::string, std::string> export_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return tl::unexpected(std::string("hwloc does not start"));
  Handle t(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  char* xml = nullptr;
  int bytes = 0;
  if (hwloc_topology_load(raw) != 0 || hwloc_topology_export_xmlbuffer(raw, &xml, &bytes, 0) != 0)
    return tl::unexpected(fmt::format("hwloc: {}", std::strerror(errno)));
  std::string out(xml);
  hwloc_free_xmlbuffer(raw, xml);
  return out;
}

tl::expected<Topology, std::string> read_topology() {
  return read(nullptr, "this machine");
}

tl::expected<Topology, std::string> parse_topology(const std::string& xml,
                                                   const std::string& source) {
  const auto readable = readable_xml(xml, source);
  if (!readable) return tl::unexpected(readable.error());
  return read(&*readable, source);
}

tl::expected<Topology, std::string> read_topology(const std::string& xml_file) {
  const auto text = read_file(xml_file);
  if (!text) return tl::unexpected(text.error().front());
  return parse_topology(*text, xml_file);
}

int package_of(const Topology& topology, int socket) {
  for (const Core& core : topology.cores)
    if (core.socket == socket && core.package >= 0) return core.package;
  return socket;
}

}  // namespace hecto::config
