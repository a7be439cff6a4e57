#include "router/dataplane/ports/eal.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/tsc_measuring.hpp"

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

constexpr double kMostTscError = 0.01;  // DPDK rounds to 10 MHz

std::mutex complaint_mutex;
std::string complaint;

// DPDK writes its log to a stream of ours: errors are kept for the next error line, all of it goes
// to the debug level of our log.
ssize_t take_log(void*, const char* text, size_t bytes) {
  std::string line(text, bytes);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  if (line.empty()) return static_cast<ssize_t>(bytes);
  spdlog::debug("dpdk: {}", line);
  // It is about to end this process, and nobody would write what waits in a log.
  if (rte_log_cur_msg_loglevel() <= static_cast<int>(RTE_LOG_CRIT)) [[maybe_unused]]
    const ssize_t told = write(STDERR_FILENO, text, bytes);
  if (rte_log_cur_msg_loglevel() <= static_cast<int>(RTE_LOG_ERR)) {
    const std::lock_guard lock(complaint_mutex);
    complaint = line;
  }
  return static_cast<ssize_t>(bytes);
}

// The AF_XDP driver brings libxdp and libbpf along, which tell standard error how they fare. Their
// words go where DPDK's go. Both print functions take (level, format, va_list).
int take_bpf_log(int, const char* format, va_list arguments) {
  char line[512];
  const int bytes = vsnprintf(line, sizeof line, format, arguments);
  while (bytes > 0 && strlen(line) > 0 && line[strlen(line) - 1] == '\n')
    line[strlen(line) - 1] = 0;
  spdlog::debug("bpf: {}", line);
  return bytes;
}

void quiet_bpf_libraries() {
  using SetPrint = void* (*)(int (*)(int, const char*, va_list));
  for (const auto& [library, function] : {std::pair("libxdp.so.1", "libxdp_set_print"),
                                          std::pair("libbpf.so.1", "libbpf_set_print")}) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    if (auto set_print = reinterpret_cast<SetPrint>(dlsym(handle, function)))
      set_print(take_bpf_log);
    dlclose(handle);
  }
}

FILE* log_stream() {
  cookie_io_functions_t functions{};
  functions.write = take_log;
  FILE* stream = fopencookie(nullptr, "w", functions);
  if (stream != nullptr) setvbuf(stream, nullptr, _IOLBF, 4096);
  return stream;
}

std::string hugetlbfs_mount() {
  std::ifstream mounts("/proc/mounts");
  for (std::string line; std::getline(mounts, line);) {
    const auto first = line.find(' ');
    const auto second = line.find(' ', first + 1);
    if (second != std::string::npos && line.compare(second, 11, " hugetlbfs ") == 0)
      return line.substr(first + 1, second - first - 1);
  }
  return {};
}

std::string lcores(const EalOptions& options) {
  std::string text = fmt::format("0@{}", options.control_cpu);
  for (size_t i = 0; i < options.worker_cpus.size(); ++i)
    text += fmt::format(",{}@{}", i + 1, options.worker_cpus[i]);
  return text;
}

}  // namespace

uint64_t free_hugepage_bytes() {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    const std::string name = entry.path().filename();  // hugepages-2048kB
    const auto dash = name.find('-');
    if (dash == std::string::npos) continue;
    uint64_t pages = 0;
    std::ifstream(entry.path() / "free_hugepages") >> pages;
    bytes += pages * strtoull(name.c_str() + dash + 1, nullptr, 10) * 1024;
  }
  return bytes;
}

uint64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return strtoull(line.c_str() + 13, nullptr, 10) * 1024;
  return 0;
}

std::string Eal::version() {
  return rte_version();
}

std::string Eal::last_complaint() {
  const std::lock_guard lock(complaint_mutex);
  return std::exchange(complaint, {});
}

Result<std::unique_ptr<Eal>> Eal::start(const EalOptions& options) {
  std::unique_ptr<Eal> eal(new Eal);
  eal->prefix_ = RuntimeFolder::prefix_of(getpid());
  const uint64_t available = free_hugepage_bytes();
  const std::string mount = hugetlbfs_mount();
  eal->hugepages_ = geteuid() == 0 && available >= options.memory_bytes &&
                    (!options.shared_memory || !mount.empty());
  const uint64_t wanted = eal->hugepages_ ? options.memory_bytes
                                          : std::max(options.memory_bytes, options.ordinary_bytes);
  const uint64_t megabytes = (wanted >> 20) + 1;
  if (const uint64_t there = available_memory_bytes();
      !eal->hugepages_ && there != 0 && wanted > there)
    return fail(fmt::format("{}: {} MiB are not there: {} MiB of hugepages are free, and {} MiB of "
                            "ordinary pages; use less, or reserve hugepages",
                            options.memory_key, megabytes, available >> 20, there >> 20),
                ENOMEM);

  eal->folder_ = std::make_unique<RuntimeFolder>(eal->prefix_);
  (void)eal->folder_->sweep();
  std::vector<std::string> arguments = {"hectod", "--lcores=" + lcores(options),
                                        "--file-prefix=" + eal->prefix_};
  if (!eal->hugepages_) {
    arguments.insert(arguments.end(), {"--no-huge", "-m", std::to_string(megabytes)});
    eal->note_ = fmt::format(
        "{} MB of ordinary pages (hugepages free: {} MB, wanted: {} MB); slower, works everywhere",
        megabytes, available >> 20, megabytes);
  } else if (options.shared_memory) {
    arguments.push_back("--huge-dir=" + mount);
    eal->note_ = fmt::format("hugepages of {}, shared for memif", mount);
  } else {
    arguments.push_back("--in-memory");
    eal->note_ = fmt::format("hugepages, {} MB wanted of {} MB free", megabytes, available >> 20);
  }
  // A reload may bring the first NIC, so the bus is there; DPDK takes no device that is not named,
  // and 00:00.0 is a bridge.
  arguments.insert(arguments.end(), {"-a", "0000:00:00.0"});
  for (const std::string& device : options.pci) arguments.insert(arguments.end(), {"-a", device});

  if (FILE* stream = log_stream()) rte_openlog_stream(stream);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  const TscMeasuring measuring;
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    return fail(fmt::format("DPDK did not start ({}): {}; arguments: {}", rte_strerror(rte_errno),
                            last_complaint(), fmt::join(arguments, " ")),
                rte_errno);
  }
  if (const double error = measuring.error_of(rte_get_tsc_hz()); error > kMostTscError)
    spdlog::warn(
        "DPDK measured the TSC's frequency wrong by {:.0f} %: rates of punts and times of "
        "captures are as wrong till hectod starts again",
        error * 100);
  quiet_bpf_libraries();
  return eal;
}

Eal::~Eal() {
  rte_eal_cleanup();
  folder_.reset();
  if (!hugepages_) return;
  // Shared hugepage files carry our prefix; nobody else's are touched.
  std::error_code error;
  const std::string mount = hugetlbfs_mount();
  if (mount.empty()) return;
  for (const auto& entry : fs::directory_iterator(mount, error))
    if (entry.path().filename().string().starts_with(prefix_ + "map_"))
      fs::remove(entry.path(), error);
}

}  // namespace hecto::router
