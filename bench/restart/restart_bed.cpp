#include "bench/restart/restart_bed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "bench/lib/self.hpp"
#include "router/api/http/http.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using router::NamespaceLifetime;
using router::NetworkNamespace;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};
constexpr char kConfig[] =
    "ports:\n  a0: {{device: va, addresses: [10.1.0.254/24]}}\n"
    "  b0: {{device: vb, addresses: [10.2.0.254/24]}}\n"
    "linux: {{namespace: {}}}\napi: {{socket: {}}}\n";

Result<std::unique_ptr<NetworkNamespace>> space_of(const std::string& name) {
  auto made = NetworkNamespace::create(name, NamespaceLifetime::kRemove);
  if (!made) return tl::unexpected(made.error());
  return std::make_unique<NetworkNamespace>(std::move(*made));
}

bool wait_for(const std::function<bool()>& done) {
  const auto until = steady_clock::now() + kPatience;
  while (!done()) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<RestartBed>> RestartBed::create(const std::string& program) {
  std::unique_ptr<RestartBed> bed(new RestartBed);
  if (auto done = bed->build(program); !done) return tl::unexpected(done.error());
  return bed;
}

RestartBed::~RestartBed() {
  child_.reset();
  store_.reset();
  (void)NetworkNamespace::remove(linux_space());
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

Result<void> RestartBed::ip(const std::string& space, const std::string& words) {
  std::vector<std::string> all = {"ip", "-n", space};
  std::istringstream rest(words);
  for (std::string word; rest >> word;) all.push_back(word);
  auto child = Child::start(all, {.log = folder_ / "ip", .cpus = {}});
  if (!child) return tl::unexpected(child.error());
  if (const auto code = (*child)->wait(120); code != 0)
    return fail(fmt::format("ip -n {} {}: {}", space, words,
                            fmt::join(last_lines(folder_ / "ip", 2), " | ")));
  return {};
}

Result<void> RestartBed::build(const std::string& program) {
  if (geteuid() != 0) return fail("needs root: network namespaces", EPERM);
  auto found = program.empty() ? find_hectod() : Result<std::string>(program);
  if (!found) return tl::unexpected(found.error());
  program_ = *found;
  prefix_ = fmt::format("hb{}", getpid());
  std::string name = (fs::temp_directory_path() / "hecto-restart-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return fail(name + ": cannot be made", errno);
  folder_ = name;
  for (const auto& [space, suffix] :
       {std::pair{&near_, "a"}, std::pair{&router_, "r"}, std::pair{&far_, "b"}}) {
    auto made = space_of(prefix_ + suffix);
    if (!made) return tl::unexpected(made.error());
    *space = std::move(*made);
  }
  for (const auto& [host, device, net] :
       {std::tuple{near_->name(), "va", 1}, std::tuple{far_->name(), "vb", 2}}) {
    for (const std::string& words :
         {fmt::format("link add e0 type veth peer name {} netns {}", device, router_->name()),
          fmt::format("address add 10.{}.0.1/24 dev e0", net), std::string("link set e0 up"),
          fmt::format("route add default via 10.{}.0.254", net)})
      if (auto done = ip(host, words); !done) return done;
    if (auto done = ip(router_->name(), fmt::format("link set {} up", device)); !done) return done;
  }
  std::ofstream(folder_ / "hecto.yaml")
      << fmt::format(kConfig, linux_space(), (folder_ / "api.sock").string());
  auto store = ServiceStore::open((folder_ / "notify").string());
  if (!store) return tl::unexpected(store.error());
  store_ = std::move(*store);
  return {};
}

Result<void> RestartBed::start() {
  const auto how = store_->start_of({"nsenter", "--net=/run/netns/" + router_->name(), "--",
                                     program_, (folder_ / "hecto.yaml").string()});
  auto child =
      Child::start(how.words, {.log = folder_ / "log", .cpus = {}, .descriptors = how.descriptors});
  if (!child) return tl::unexpected(child.error());
  child_ = std::move(*child);
  const bool answered = wait_for([&] { return !child_->running() || ask("/v1/summary"); });
  if (answered && child_->running()) return {};
  return fail(fmt::format("hectod does not answer; its log: {}",
                          fmt::join(last_lines(folder_ / "log", 3), " | ")));
}

Result<void> RestartBed::stop(bool kill) {
  if (!kill) {
    if (const int code = child_->stop(30); code != 0)
      return fail("hectod ended with " + describe_exit(code));
    return {};
  }
  ::kill(child_->pid(), SIGKILL);
  (void)child_->wait(30);
  return {};
}

Result<std::string> RestartBed::ask(const std::string& path) const {
  const auto answer = router::http_request((folder_ / "api.sock").string(), {"GET", path, {}, {}},
                                           milliseconds(5000));
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status != 200) return fail(fmt::format("{}: {}", path, answer->status));
  return answer->body;
}

Result<void> RestartBed::add_routes(unsigned count) {
  if (count == 0) return {};
  {
    std::ofstream batch(folder_ / "routes");
    for (unsigned i = 0; i < count; ++i)
      batch << fmt::format("route add {}.{}.{}.0/24 via 10.2.0.1 proto bgp\n", 20 + (i >> 16),
                           i >> 8 & 255, i & 255);
  }
  if (auto done = ip(linux_space(), "-batch " + (folder_ / "routes").string()); !done) return done;
  const bool known = wait_for([&] {
    const auto answer = ask("/v1/routes?limit=1");
    if (!answer) return false;
    const auto counts = nlohmann::json::parse(*answer)["counts"]["by_protocol"];
    return counts.value("bgp", 0U) == count;
  });
  return known ? Result<void>{} : fail("hectod does not know all routes");
}

size_t RestartBed::count_in_log(const std::string& words) const {
  std::ifstream log(folder_ / "log");
  size_t count = 0;
  for (std::string line; std::getline(log, line);) count += line.find(words) != std::string::npos;
  return count;
}

Result<void> RestartBed::wait_settled() {
  const bool inherits = count_in_log("by the tables of the run before") > 0;
  if (!wait_for([&] { return !inherits || count_in_log("all is read; forwarding by it") > 0; }))
    return fail("hectod did not read all routes");
  std::this_thread::sleep_for(
      milliseconds(1200));  // what the next run is left is written each second
  return {};
}

}  // namespace hecto::bench
