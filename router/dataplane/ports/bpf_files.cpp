#include "router/dataplane/ports/bpf_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace hecto::router {
namespace {

// Empty: it is none of BPF's.
std::string identity(int fd) {
  char target[64] = "";
  const ssize_t bytes =
      readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target, sizeof target - 1);
  if (bytes <= 0 || !std::string_view(target).starts_with("anon_inode:")) return {};
  const std::string_view kind = std::string_view(target).substr(11);
  if (kind.find("bpf") == std::string_view::npos && kind.find("btf") == std::string_view::npos)
    return {};
  std::ifstream info(fmt::format("/proc/self/fdinfo/{}", fd));
  for (std::string line; std::getline(info, line);)
    for (const char* id : {"prog_id:", "map_id:", "link_id:", "btf_id:"})
      if (line.starts_with(id)) return line;
  return {};
}

}  // namespace

std::vector<BpfFile> bpf_files() {
  std::vector<BpfFile> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename();
    BpfFile file;
    std::from_chars(name.data(), name.data() + name.size(), file.fd);
    file.what = identity(file.fd);
    if (!file.what.empty()) found.push_back(std::move(file));
  }
  return found;
}

std::vector<BpfFile> bpf_files_since(const std::vector<BpfFile>& before,
                                     const std::vector<BpfFile>& now) {
  std::vector<BpfFile> fresh;
  for (const BpfFile& file : now)
    if (std::find(before.begin(), before.end(), file) == before.end()) fresh.push_back(file);
  return fresh;
}

unsigned close_bpf_files(const std::vector<BpfFile>& files) {
  unsigned closed = 0;
  for (const BpfFile& file : files)
    if (identity(file.fd) == file.what && close(file.fd) == 0) ++closed;
  return closed;
}

}  // namespace hecto::router
