// A NIC by PCI address, as sysfs and VFIO tell of it.
#pragma once

#include <string>

namespace hecto::router {

// Why DPDK may have no port for the device ("0000:17:00.0"), and what to do about it: one sentence.
// `complaint` is DPDK's own last word, for where sysfs knows no better. Tests keep sysfs and devfs
// elsewhere.
std::string why_no_port(const std::string& pci, const std::string& complaint,
                        const std::string& sys = "/sys", const std::string& dev = "/dev");

// Bound to UIO: queues and link share one interrupt.
bool has_one_interrupt(const std::string& pci, const std::string& sys = "/sys");

}  // namespace hecto::router
