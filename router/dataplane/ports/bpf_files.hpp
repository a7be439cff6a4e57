// Programs and maps of BPF that this process holds. DPDK's net_af_xdp (22.11) and libxdp under it
// leave two open with each port that is closed: its program and the map of its sockets.
//
// Control thread only. Source: /proc/self/fd, and what the kernel says of each in fdinfo.
#pragma once

#include <string>
#include <vector>

namespace hecto::router {

struct BpfFile {
  int fd = -1;
  std::string what;  // "prog_id: 57": the number may be another file's by now
  bool operator==(const BpfFile&) const = default;
};

std::vector<BpfFile> bpf_files();  // all of this process
// Those in `now` that are not in `before`.
std::vector<BpfFile> bpf_files_since(const std::vector<BpfFile>& before,
                                     const std::vector<BpfFile>& now);
// Closes those that are still open and still the same; how many.
unsigned close_bpf_files(const std::vector<BpfFile>& files);

}  // namespace hecto::router
