#include "bench/compare/trial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "bench/lib/child.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

constexpr double kReady_s = 60;      // until a peer serves its ports
constexpr double kCommand_s = 60;    // a command that sets something up
constexpr double kGenerator_s = 60;  // beyond the seconds that it sends
// A router that its memif driver killed as the generator left had forwarded until then.
constexpr double kDiedBefore = 0.02;           // lost by one that died earlier, at least
constexpr uint64_t kHugeBytes = 512ull << 20;  // of one side

// Puts `words` into a network namespace.
Words inside(const std::string& name, Words words) {
  words.insert(words.begin(), {"nsenter", "--net=/run/netns/" + name, "--"});
  return words;
}

std::string said(const fs::path& log) {
  const auto lines = last_lines(log, 3);
  return lines.empty() ? "it said nothing"
                       : fmt::format("it last said: {}", fmt::join(lines, " | "));
}

class Trial {
 public:
  Trial(const CompareResult& setting, const Peer& peer, const std::atomic<bool>& stop)
      : setting_(setting), peer_(peer), stop_(stop) {
    const CompareOptions& options = setting.options;
    bed_.ports = options.ports == "veth" ? PortKind::kVeth : PortKind::kMemif;
    bed_.control_cpu = setting.control_cpu;
    bed_.worker_cpu = setting.worker_cpu;
    bed_.burst = options.burst;
    bed_.family = options.family == 4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6;
    bed_.prefixes = compared_prefixes(bed_.family, options.routes);
    bed_.hugepages = router::free_hugepage_bytes() >= 2 * kHugeBytes;
  }
  ~Trial() {
    if (child_) child_->stop();
    if (veth_)
      for (const std::string& name : {space(), wire()})
        (void)command({"ip", "netns", "delete", name});
    std::error_code error;
    if (!bed_.folder.empty()) fs::remove_all(bed_.folder, error);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  Result<void> start(const Words& programs) {
    std::string name = (fs::temp_directory_path() / "hecto-compare-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return fail(name + ": cannot be made", errno);
    bed_.folder = name;
    if (bed_.ports == PortKind::kVeth)
      if (auto made = make_veth(); !made) return made;
    launch_ = peer_.launch(bed_, programs);
    if (!launch_.words.empty()) {
      auto child = Child::start(placed(launch_.words), {.log = log(), .cpus = {}});
      if (!child) return tl::unexpected(child.error());
      child_ = std::move(*child);
    }
    if (auto ready = wait_ready(); !ready) return ready;
    for (const Words& words : launch_.after)
      if (auto done = command(placed(words)); !done) return done;
    return {};
  }

  Result<json> generate(const std::string& size) {
    const CompareOptions& options = setting_.options;
    const double seconds = options.seconds;
    std::ofstream(bed_.folder / "traffic.yaml") << traffic_yaml(options, peer_, bed_, size);
    const fs::path result = bed_.folder / "result.json", told = bed_.folder / "generator.log";
    Words words = {fs::read_symlink("/proc/self/exe"),
                   "generate",
                   bed_.folder / "traffic.yaml",
                   fmt::format("--cpus={}", setting_.generator_cpu),
                   fmt::format("--duration={}", seconds),
                   "--rate=" + options.rate,
                   "--no-timestamps",
                   "--json=" + result.string()};
    if (bed_.ports == PortKind::kVeth) words = inside(wire(), words);
    fs::remove(result);
    auto child = Child::start(words, {.log = told, .cpus = {}});
    if (!child) return tl::unexpected(child.error());
    std::optional<int> code;
    for (double left = seconds + kGenerator_s; !code && left > 0 && !stop_; left -= 0.1)
      code = (*child)->wait(0.1);
    if (!code) (*child)->stop();
    if (stop_) return fail("interrupted");
    std::ifstream stream(result);
    json counts = json::parse(stream, nullptr, false);
    // Less sent than asked for is exit code 1, and a result nevertheless.
    const bool counted = !counts.is_discarded() && counts.value("sent", 0.0) > 0;
    if (auto still = alive();
        !still && !(counted && counts.value("lost", 0.0) < kDiedBefore * counts.value("sent", 0.0)))
      return tl::unexpected(still.error());
    if (counted) return counts;
    return fail(fmt::format("the generator {}; {}",
                            code ? "ended: " + describe_exit(*code) : "hung", said(told)));
  }

 private:
  fs::path log() const { return bed_.folder / "log"; }
  static std::string space() { return fmt::format("hcmp{}r", getpid()); }
  static std::string wire() { return fmt::format("hcmp{}g", getpid()); }
  Words placed(const Words& words) const {
    return bed_.ports == PortKind::kVeth ? inside(space(), words) : words;
  }

  Result<void> command(const Words& words) {
    const fs::path told = bed_.folder / "command.log";
    auto child = Child::start(words, {.log = told, .cpus = {}});
    if (!child) return tl::unexpected(child.error());
    const auto code = (*child)->wait(kCommand_s);
    if (code == 0) return {};
    return fail(fmt::format("{}: {}; {}", fmt::join(words, " "),
                            code ? describe_exit(*code) : "no end", said(told)));
  }

  // left and right in a namespace for the peer; their other ends in the generator's.
  Result<void> make_veth() {
    veth_ = true;
    for (const std::string& name : {space(), wire()})
      if (auto done = command({"ip", "netns", "add", name}); !done) return done;
    const struct {
      const char *end, *mac, *peer, *peer_mac;
    } pairs[] = {{"left-wire", "02:00:00:00:01:00", "left", kPeerMac},
                 {"right-wire", kNextHopMac, "right", "02:00:00:00:00:02"}};
    for (const auto& pair : pairs) {
      const Words words[] = {
          {"ip", "link", "add", "name", pair.end, "address", pair.mac, "netns", wire(), "type",
           "veth", "peer", "name", pair.peer, "address", pair.peer_mac, "netns", space()},
          {"ip", "-n", wire(), "link", "set", pair.end, "up"},
          {"ip", "-n", space(), "link", "set", pair.peer, "up"}};
      for (const Words& line : words)
        if (auto done = command(line); !done) return done;
    }
    return {};
  }

  Result<void> alive() {
    if (!child_) return {};
    const auto code = child_->wait(0);
    if (!code) return {};
    return fail(fmt::format("{} ended: {}; {}", peer_.name, describe_exit(*code), said(log())));
  }

  Result<void> wait_ready() {
    const auto start = std::chrono::steady_clock::now();
    for (const fs::path& file : launch_.files)
      while (!fs::exists(file)) {
        if (auto still = alive(); !still) return still;
        if (stop_) return fail("interrupted");
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (taken.count() > kReady_s)
          return fail(fmt::format("{} has no {} after {} s; {}", peer_.name,
                                  file.filename().string(), kReady_s, said(log())));
        usleep(20'000);
      }
    return alive();
  }

  const CompareResult& setting_;
  const Peer& peer_;
  const std::atomic<bool>& stop_;
  PeerBed bed_;
  Launch launch_;
  std::unique_ptr<Child> child_;
  bool veth_ = false;
};

}  // namespace

std::string traffic_yaml(const CompareOptions& options, const Peer& peer, const PeerBed& bed,
                         const std::string& size) {
  const Forwards forwards = options.family == 4 ? peer.ipv4 : peer.ipv6;
  const std::string expect = forwards == Forwards::kWire
                                 ? "wire"
                                 : fmt::format("{{hops: {}, destination_mac: \"{}\"}}",
                                               forwards == Forwards::kRouter ? 1 : 0, kNextHopMac);
  std::ofstream routes(bed.folder / "destinations");
  for (const std::string& prefix : bed.prefixes) routes << prefix << '\n';
  std::string yaml = "ports:\n";
  for (const auto& [name, side] : {std::pair("a", "left"), std::pair("b", "right")})
    yaml += bed.ports == PortKind::kVeth
                ? fmt::format("  {}: {{device: {}-wire}}\n", name, side)
                : fmt::format(
                      "  {}: {{device: \"net_memif{},role=client,id=0,socket={}/{}.sock,"
                      "socket-abstract=no,rsize=11,bsize=2048\"}}\n",
                      name, name[0] - 'a', bed.folder.string(), side);
  return yaml +
         fmt::format(
             "streams:\n  there: {{from: a, to: b, family: ipv{}, size: {}, flows: 256, "
             "expect: {}, destination_mac: \"{}\", destinations: {{routes: \"{}/destinations\", "
             "count: 16384}}}}\n",
             options.family, size, expect, kPeerMac, bed.folder.string());
}

Result<void> measure_peer(const CompareResult& setting, PeerResult& peer,
                          const std::atomic<bool>& stop) {
  for (Compared& compared : peer.sizes) {
    // Started anew for each: no port has to bear that a generator goes and another comes.
    Trial trial(setting, *peer.peer, stop);
    if (auto started = trial.start(peer.programs); !started) return started;
    const auto counts = trial.generate(compared.size);
    if (!counts) return tl::unexpected(counts.error());
    if (auto added = add_counts(compared, *counts); !added) return added;
  }
  return {};
}

}  // namespace hecto::bench
