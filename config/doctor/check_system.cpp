#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "config/doctor/checks.hpp"

namespace hecto::config {
namespace {

constexpr std::array<uint32_t, 3> kNeighbors = {65536, 98304, 131072};  // as hectod raises them

void check_vfio(const Machine& machine, Findings& findings) {
  if (!has_pci_port(machine)) return;
  const MachineFiles& files = machine.files;
  if (!files.exists("/sys/bus/pci/drivers/vfio-pci"))
    findings.push_back({Severity::kProblem,
                        "vfio",
                        "the kernel's module vfio-pci is not loaded",
                        "no NIC can be given to DPDK",
                        "modprobe vfio-pci",
                        {}});
  if (files.names("/sys/kernel/iommu_groups").empty()) {
    const bool unsafe = files.text("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode") == "Y";
    findings.push_back(
        {unsafe ? Severity::kAdvice : Severity::kProblem,
         "iommu",
         "the IOMMU is off",
         unsafe ? "a NIC may write to all of the memory (noiommu mode)" : "VFIO gives no NIC away",
         "in the firmware: VT-d or AMD-Vi; kernel command line: intel_iommu=on "
         "iommu=pt (amd_iommu=on)",
         {}});
    return;
  }
  const std::string words = " " + files.text("/proc/cmdline").value_or("") + " ";
  if (words.find(" iommu=pt ") == std::string::npos &&
      words.find(" iommu.passthrough=1 ") == std::string::npos)
    findings.push_back({Severity::kAdvice,
                        "iommu_passthrough",
                        "the IOMMU translates for the kernel's drivers, too",
                        "NICs that the kernel keeps (mlx5, AF_XDP) pay for each page",
                        "kernel command line: iommu=pt",
                        {}});
}

void check_programs(const Machine& machine, Findings& findings) {
  if (!runs(machine.files, "irqbalance")) return;
  const std::set<unsigned> workers = worker_cpus(machine);
  findings.push_back(
      {Severity::kAdvice,
       "irqbalance",
       "irqbalance runs",
       "it moves interrupts onto workers' cores",
       workers.empty() ? "systemctl disable --now irqbalance"
                       : fmt::format("IRQBALANCE_BANNED_CPULIST={} in /etc/default/irqbalance, or: "
                                     "systemctl disable --now irqbalance",
                                     cpu_words(workers)),
       {}});
}

std::string neighbor_file(int family, size_t number) {
  return fmt::format("/proc/sys/net/ipv{}/neigh/default/gc_thresh{}", family, number);
}

void check_neighbors(const Machine& machine, Findings& findings) {
  Finding finding{Severity::kAdvice,
                  "neighbor_limits",
                  "",
                  "hosts beyond are not found; hectod raises it at its start where it may",
                  "",
                  {}};
  for (const int family : {4, 6}) {
    const auto file = [&](size_t number) { return neighbor_file(family, number); };
    const auto most = machine.files.number(file(3));
    if (!most || *most >= kNeighbors[2]) continue;
    finding.what += fmt::format("{}Linux keeps {} IPv{} neighbors",
                                finding.what.empty() ? "" : ", ", *most, family);
    finding.mend += fmt::format("{}sysctl net.ipv{}.neigh.default.gc_thresh3={}",
                                finding.mend.empty() ? "" : "; ", family, kNeighbors[2]);
    // The third first: none is ever above the next.
    for (const size_t number : {3, 2, 1})
      if (machine.files.number(file(number)).value_or(0) < kNeighbors[number - 1])
        finding.changes.push_back({file(number), std::to_string(kNeighbors[number - 1]), {}, {}});
  }
  if (!finding.what.empty()) findings.push_back(std::move(finding));
}

void check_features(const Machine& machine, Findings& findings) {
  if (!machine.config) return;
  const MachineFiles& files = machine.files;
  const Config& config = *machine.config;
  const auto lacks = [&](Severity severity, const char* name, const char* what, const char* costs,
                         const char* mend) {
    findings.push_back({severity, name, what, costs, mend, {}});
  };
  if (config.linux_side.enabled && !files.exists("/dev/net/tun"))
    lacks(Severity::kProblem, "tun", "there is no /dev/net/tun",
          "ports have no twins in Linux, and hectod does not start", "modprobe tun");
  if (config.linux_side.enabled && !files.exists("/proc/self/ns/net"))
    lacks(Severity::kProblem, "namespaces", "the kernel has no network namespaces",
          "there is no place for the twins, and hectod does not start",
          "a kernel with CONFIG_NET_NS");
  if (config.linux_side.enabled && config.linux_side.mirror_ipsec &&
      !files.exists("/proc/sys/net/core/xfrm_acq_expires"))
    lacks(Severity::kAdvice, "xfrm", "the kernel has no XFRM",
          "no SA or policy comes from Linux: IPsec is the file's alone",
          "a kernel with CONFIG_XFRM_USER and CONFIG_INET_ESP");
  const bool kernel_port = std::ranges::any_of(
      devices(machine), [](const PortConfig& port) { return port.kind == DeviceKind::kKernel; });
  const auto protocols = files.text("/proc/net/protocols");
  if (kernel_port && protocols && protocols->find("\nXDP ") == std::string::npos)
    lacks(Severity::kAdvice, "af_xdp", "the kernel has no AF_XDP",
          "kernel interfaces are served by AF_PACKET, at a fraction of the rate",
          "a kernel with CONFIG_XDP_SOCKETS");
}

void check_kernel(const Machine& machine, Findings& findings) {
  const std::string release = machine.files.text("/proc/sys/kernel/osrelease").value_or("");
  unsigned major = 0, minor = 0;
  if (std::sscanf(release.c_str(), "%u.%u", &major, &minor) != 2) return;
  constexpr unsigned kMajor = 5, kMinor = 8;  // CAP_BPF
  if (major > kMajor || (major == kMajor && minor >= kMinor)) return;
  findings.push_back({Severity::kProblem,
                      "kernel",
                      fmt::format("the kernel is {}", release),
                      "before 5.8 there is no CAP_BPF, which hectod.service asks for",
                      "Debian 12's kernel, 6.1",
                      {}});
}

}  // namespace

void right_system(const Machine& machine, std::vector<Change>& right) {
  for (const int family : {4, 6})
    for (const size_t number : {3, 2, 1}) {
      const std::string file = neighbor_file(family, number);
      if (const auto now = machine.files.number(file); now && *now >= kNeighbors[number - 1])
        right.push_back({file, std::to_string(*now), {}, {}});
    }
}

void check_system(const Machine& machine, Findings& findings) {
  for (const auto check :
       {check_vfio, check_programs, check_neighbors, check_features, check_kernel})
    check(machine, findings);
}

}  // namespace hecto::config
