#include "bench/throughput/router_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/lib/self.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kStart_s = 120;  // a full table on a slow machine
constexpr double kLinks_s = 15;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of all its threads, seconds.
double cpu_seconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');  // of the name, which may hold anything
  if (end == std::string::npos) return 0;
  std::istringstream rest(line.substr(end + 1));
  std::string skipped;
  for (unsigned i = 0; i < 11; ++i) rest >> skipped;  // fields 3 to 13
  double user = 0, system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Of the worker threads, seconds: what the scheduler has given them.
double worker_seconds(pid_t pid) {
  double sum = 0;
  std::error_code error;
  for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    double ran_ns = 0;
    if (name.find("-worker-") != std::string::npos &&
        std::ifstream(task.path() / "schedstat") >> ran_ns)
      sum += ran_ns / 1e9;
  }
  return sum;
}

// What a hectod that was killed could not give back.
void remove_remains(pid_t pid) {
  std::error_code error;
  const std::string prefix = fmt::format("hecto-{}", pid);
  for (const char* runtime : {"/var/run/dpdk", "/tmp/dpdk"})
    fs::remove_all(fs::path(runtime) / prefix, error);
  std::ifstream mounts("/proc/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device, mount, type;
    words >> device >> mount >> type;
    if (type != "hugetlbfs") continue;
    for (const auto& entry : fs::directory_iterator(mount, error))
      if (entry.path().filename().string().starts_with(prefix + "map_"))
        fs::remove(entry.path(), error);
  }
}

}  // namespace

Result<std::unique_ptr<RouterProcess>> RouterProcess::start(const RouterOptions& options,
                                                            const RouteSet& routes,
                                                            const std::atomic<bool>& stop) {
  std::unique_ptr<RouterProcess> process(new RouterProcess);
  process->options_ = options;
  if (options.program.empty()) {
    auto found = find_hectod();
    if (!found) return tl::unexpected(found.error());
    process->options_.program = *found;
  }
  if (auto done = process->launch(routes, stop); !done) return tl::unexpected(done.error());
  return process;
}

Result<void> RouterProcess::launch(const RouteSet& routes, const std::atomic<bool>& stop) {
  std::string name = (fs::temp_directory_path() / "hecto-throughput-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    return fail("no folder for the router's files: " + name + " cannot be made", errno);
  folder_ = name;
  const fs::path config = folder_ / "hecto.yaml";
  std::ofstream(config) << router_yaml(options_, folder_);
  if (auto done = write_routes(routes, options_.next_hops, folder_ / "routes.txt"); !done)
    return done;
  const double started = now();
  auto child =
      Child::start({options_.program, config.string()}, {.log = folder_ / "log", .cpus = {}});
  if (!child) return tl::unexpected(child.error());
  child_ = std::move(*child);
  while (true) {
    if (auto still = alive(); !still) return still;
    if (auto answer = ask({"GET", "/v1/summary", {}, {}}, 5)) {
      const json summary = json::parse(*answer);
      version_ =
          fmt::format("{}, {}", summary.value("version", "?"), summary.value("dpdk_version", "?"));
      break;
    }
    if (stop) return fail("interrupted while hectod started");
    if (now() - started > kStart_s)
      return fail(fmt::format("hectod did not answer within {} s; its log: {}", kStart_s,
                              fmt::join(last_lines(folder_ / "log", 3), " | ")));
    usleep(20'000);
  }
  load_seconds_ = now() - started;
  return {};
}

RouterProcess::~RouterProcess() {
  std::error_code error;
  if (child_) {
    child_->stop(15);
    remove_remains(child_->pid());
  }
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

Result<void> RouterProcess::alive(double patience_s) {
  const auto code = child_->wait(patience_s);
  if (!code) return {};
  return fail(fmt::format("hectod (process {}) has ended: {}; its last words: {}", child_->pid(),
                          describe_exit(*code), fmt::join(last_lines(folder_ / "log", 3), " | ")));
}

Result<std::string> RouterProcess::ask(const router::HttpRequest& request, double seconds) const {
  const auto answer =
      router::http_request((folder_ / "api.sock").string(), request,
                           std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)));
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status == 200) return answer->body;
  const json body = json::parse(answer->body, nullptr, false);
  return fail(fmt::format("hectod refused {} {}: {}", request.method, request.path,
                          body.is_object() ? body.value("error", "?") : answer->body));
}

Result<void> RouterProcess::wait_links(const std::atomic<bool>& stop) {
  for (const double started = now(); now() - started < kLinks_s && !stop; usleep(20'000)) {
    if (auto still = alive(); !still) return still;
    const auto answer = ask({"GET", "/v1/summary", {}, {}}, 5);
    if (answer && json::parse(*answer).value("ports_up", 0) == 2) return {};
  }
  return fail(stop ? "interrupted" : "hectod does not see the generator's memif ports");
}

std::optional<DeviceLoad> RouterProcess::load() {
  const double at = now(), cpu = cpu_seconds(child_->pid());
  DeviceLoad load;
  const double workers_ran = worker_seconds(child_->pid());
  if (cpu_at_ > 0 && at > cpu_at_) {
    load.cpu_percent = (cpu - cpu_seconds_) / (at - cpu_at_) * 100;
    load.worker_percent = (workers_ran - worker_seconds_) / (at - cpu_at_) * 100;
    if (const auto joules = energy_.used().cpu) load.watts = *joules / (at - cpu_at_);
  }
  cpu_at_ = at;
  cpu_seconds_ = cpu;
  worker_seconds_ = workers_ran;
  energy_.start();
  const auto answer = ask({"GET", "/v1/workers", {}, {}}, 5);
  if (!answer) return std::nullopt;
  double pps = 0, workers = 0;
  const json all = json::parse(*answer);
  for (const json& worker : all["workers"]) {
    workers += 1;
    load.load_percent += worker["load_percent"].get<double>();
    if (worker["cycles_per_packet"].is_null()) continue;
    const double weight = worker["pps"].get<double>();
    pps += weight;
    load.cycles_per_packet += worker["cycles_per_packet"].get<double>() * weight;
    load.burst_fill += worker["burst_fill"].get<double>() * weight;
  }
  if (workers > 0) load.load_percent /= workers;
  if (pps > 0) {
    load.cycles_per_packet /= pps;
    load.burst_fill /= pps;
  }
  return load;
}

std::optional<RouterCounters> RouterProcess::counters() {
  const auto answer = ask({"GET", "/v1/drops", {}, {}}, 5);
  if (!answer) return std::nullopt;
  const json all = json::parse(*answer);
  RouterCounters counters;
  counters.received = all["totals"]["received"];
  counters.transmitted = all["totals"]["transmitted"];
  for (const json& drop : all["drops"]) counters.drops[drop["reason"]] = drop["packets"];
  for (const char* lost : {"missed", "no_mbuf"})
    if (all["totals"][lost] > 0) counters.drops[lost] = all["totals"][lost];
  return counters;
}

Result<void> RouterProcess::reload(const RouterChanges& changes) {
  std::ofstream(folder_ / "hecto.yaml") << router_yaml(options_, folder_, changes);
  const auto answer = ask({"POST", "/v1/reload", {}, {}}, 60);
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

Result<uint64_t> RouterProcess::change_routes(const std::string& method, const std::string& list) {
  const bool add = method == "POST";
  const auto answer = ask({method, add ? "/v1/routes/load" : "/v1/routes", {}, list}, 60);
  if (!answer) return tl::unexpected(answer.error());
  const json body = json::parse(*answer);
  return add ? body["added"].get<uint64_t>() + body["replaced"].get<uint64_t>()
             : body["changed"].get<uint64_t>();
}

Result<TrialResult> WatchedRunner::run(const TrialRequest& request) {
  auto result = runner_.run(request);
  // A generator that has lost its link knows before we do that the router ends.
  if (router_ != nullptr)
    if (auto alive = router_->alive(result ? 0 : 2); !alive) return tl::unexpected(alive.error());
  return result;
}

}  // namespace hecto::bench
