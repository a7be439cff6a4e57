#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "config/doctor/checks.hpp"
#include "config/machine/hugepages.hpp"

namespace hecto::config {
namespace {

constexpr const char* kThp = "/sys/kernel/mm/transparent_hugepage/enabled";
constexpr uint64_t kLeastOpenFiles = 1024;

uint64_t mib(uint64_t bytes) {
  return (bytes + (1 << 20) - 1) >> 20;
}

void check_hugepages(const Machine& machine, Findings& findings) {
  if (!machine.placement) return;
  const bool running = runs(machine.files, "hectod");
  for (const HugepageNeed& need :
       hugepage_needs(*machine.config, *machine.placement, machine.files)) {
    if (need.there_bytes(running) >= need.wanted_bytes) continue;
    Finding finding;
    finding.severity = has_pci_port(machine) ? Severity::kProblem : Severity::kAdvice;
    finding.name = "hugepages";
    finding.what = fmt::format("node {}: {} MiB of hugepages {}, {} MiB wanted", need.socket,
                               mib(need.there_bytes(running)), running ? "reserved" : "free",
                               mib(need.wanted_bytes));
    finding.costs = "hectod takes ordinary pages, and packets miss the TLB";
    if (need.page_bytes == 0) {
      finding.mend = "a kernel with CONFIG_HUGETLBFS";
    } else if (!need.fits()) {
      finding.mend = fmt::format("a file that wants less: the node has {} MiB of memory",
                                 need.memory_bytes >> 20);
    } else {
      const std::string pages = std::to_string(need.target(running));
      finding.mend = fmt::format("echo {} > {}", pages, need.file);
      finding.changes.push_back({need.file, pages, {}, {}});
    }
    findings.push_back(std::move(finding));
  }
}

void check_kernels_memory(const Machine& machine, Findings& findings) {
  const std::string thp = kThp;
  if (machine.files.text(thp).value_or("").find("[always]") != std::string::npos)
    findings.push_back({Severity::kAdvice,
                        "transparent_hugepages",
                        "transparent hugepages are always on",
                        "khugepaged stops threads of hectod to move their memory",
                        "echo madvise > " + thp,
                        {{thp, "madvise", {}, {}}}});
  const std::string ksm = "/sys/kernel/mm/ksm/run";
  if (machine.files.number(ksm) == 1u)
    findings.push_back({Severity::kAdvice,
                        "ksm",
                        "KSM merges pages of processes",
                        "ksmd takes a core's time and caches",
                        "echo 2 > " + ksm,
                        {}});
  const std::string swaps = machine.files.text("/proc/swaps").value_or("");
  if (std::ranges::count(swaps, '\n') > 0)  // behind the header
    findings.push_back({Severity::kAdvice,
                        "swap",
                        "swap is on",
                        "tables that were swapped out stop a worker for milliseconds",
                        "swapoff -a, and its line out of /etc/fstab",
                        {}});
  const std::string balancing = "/proc/sys/kernel/numa_balancing";
  if (machine.topology.sockets.size() > 1 && machine.files.number(balancing).value_or(0) != 0)
    findings.push_back({Severity::kAdvice,
                        "numa_balancing",
                        "the kernel balances memory over nodes",
                        "page faults in workers, on memory that lies where it should",
                        "echo 0 > " + balancing,
                        {}});
}

// The soft limit of a line of /proc/self/limits; nothing: unlimited, or not told.
std::optional<uint64_t> soft_limit(const MachineFiles& files, const std::string& name) {
  std::istringstream lines(files.text("/proc/self/limits").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    uint64_t limit = 0;
    if (line.starts_with(name) && std::sscanf(line.c_str() + name.size(), " %lu", &limit) == 1)
      return limit;
  }
  return std::nullopt;
}

void check_limits(const Machine& machine, Findings& findings) {
  const auto locked = soft_limit(machine.files, "Max locked memory");
  if (locked && machine.placement && *locked < machine.placement->memory_bytes)
    findings.push_back(
        {Severity::kAdvice,
         "memlock",
         fmt::format("{} MiB may be locked from this shell, the plan takes {}", mib(*locked),
                     mib(machine.placement->memory_bytes)),
         "a hectod started here without its service may be refused DMA memory, or AF_XDP",
         "ulimit -l unlimited",
         {}});
  const auto files = soft_limit(machine.files, "Max open files");
  if (files && *files < kLeastOpenFiles)
    findings.push_back({Severity::kAdvice,
                        "open_files",
                        fmt::format("{} files may be open from this shell", *files),
                        "a hectod started here without its service refuses API connections",
                        "ulimit -n 65536",
                        {}});
}

}  // namespace

void right_memory(const Machine& machine, std::vector<Change>& right) {
  if (machine.placement)
    for (const HugepageNeed& need :
         hugepage_needs(*machine.config, *machine.placement, machine.files))
      if (const auto pages = machine.files.number(need.file);
          pages.value_or(0) != 0 && need.page_bytes != 0 &&
          need.there_bytes(runs(machine.files, "hectod")) >= need.wanted_bytes)
        right.push_back({need.file, std::to_string(*pages), {}, {}});
  // `never` does no harm here, but nobody asked to keep it: other programs may want madvise.
  const std::string mode = chosen(machine.files.text(kThp).value_or(""));
  if (mode == "madvise") right.push_back({kThp, mode, {}, {}});
}

void check_memory(const Machine& machine, Findings& findings) {
  check_hugepages(machine, findings);
  check_kernels_memory(machine, findings);
  check_limits(machine, findings);
}

}  // namespace hecto::config
