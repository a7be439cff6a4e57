#include "bench/lib/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "router/dataplane/ports/eal.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

uint64_t count_in(const fs::path& file) {
  uint64_t number = 0;
  std::ifstream(file) >> number;
  return number;
}

json hugepages() {
  json sizes = json::object();
  std::error_code error;
  for (const auto& size : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    const std::string name = size.path().filename();  // hugepages-2048kB
    sizes[name.substr(name.find('-') + 1)] = {{"free", count_in(size.path() / "free_hugepages")},
                                              {"all", count_in(size.path() / "nr_hugepages")}};
  }
  return sizes;
}

json commit() {
  std::error_code error;
  std::string folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (size_t at = 0; (at = folder.find('\'', at)) != std::string::npos; at += 4)
    folder.replace(at, 1, "'\\''");
  const std::string command = fmt::format(
      "git -C '{}' describe --always --dirty --exclude='*' --abbrev=12 2>/dev/null", folder);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return nullptr;
  char words[128] = {};
  const bool said = std::fgets(words, sizeof words, pipe) != nullptr;
  pclose(pipe);
  std::string text = words;
  if (!said || text.empty()) return nullptr;
  if (text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

std::string machine_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string model = "unknown processor", hypervisor;
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) model = line.substr(colon + 2);
    if (line.starts_with("flags") && line.find(" hypervisor") != std::string::npos)
      hypervisor = ", virtual machine";
    if (line.empty()) break;
  }
  return fmt::format("{}, {} cores{}", model, sysconf(_SC_NPROCESSORS_ONLN), hypervisor);
}

json machine_facts() {
  utsname system = {};
  uname(&system);
  double load = 0;
  getloadavg(&load, 1);
  return {{"name", machine_name()},
          {"host", system.nodename},
          {"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"memory_bytes", static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<uint64_t>(sysconf(_SC_PAGESIZE))},
          {"hugepages", hugepages()},
          {"load", load},
          {"hecto", HECTO_VERSION},
          {"dpdk", router::Eal::version()},
          {"commit", commit()}};
}

}  // namespace hecto::bench
