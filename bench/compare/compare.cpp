#include "bench/compare/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "bench/compare/trial.hpp"
#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/text_table.hpp"

namespace hecto::bench {
namespace {

using nlohmann::json;

constexpr double kNoisySpread = 0.1;
std::atomic<bool> stop_asked = false;

// Control, generator, worker: each a core of its own where there are three, else control shares
// the generator's.
Result<void> place(CompareResult& result) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  const CompareOptions& options = result.options;
  if (cpus.size() < 2 && !options.worker_cpu)
    return fail(
        "one CPU: a generator and a router need one each; name them with --worker-cpu and "
        "--generator-cpu to measure nevertheless");
  result.control_cpu = options.control_cpu.value_or(cpus[0]);
  result.generator_cpu = options.generator_cpu.value_or(cpus[cpus.size() > 2 ? 1 : 0]);
  result.worker_cpu = options.worker_cpu.value_or(cpus.back());
  return {};
}

json summary_json(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  const Summary s = summarize(values);
  return {{"median", s.median}, {"min", s.least},   {"max", s.most},
          {"spread", s.spread}, {"count", s.count}, {"rounds", values}};
}

std::vector<std::string> notes(const CompareResult& result) {
  std::vector<std::string> lines;
  double noise = 0;
  for (const PeerResult& peer : result.peers) {
    if (!peer.failures.empty())
      lines.push_back(fmt::format("partial: {} failed {} of {} times: {}", peer.peer->name,
                                  peer.failures.size(), result.options.rounds, peer.failures[0]));
    if (!peer.peer->tried)
      lines.push_back(
          fmt::format("{}: started as its documentation says; not tried by us", peer.peer->name));
    for (const Compared& size : peer.sizes) {
      if (!size.mpps.empty()) noise = std::max(noise, spread(size.mpps));
      for (const std::string& line : size.wrong.lines())
        lines.push_back(fmt::format("{}, {} bytes: {}", peer.peer->name, size.size, line));
      if (result.options.rate == "max" && size.generator_was_the_limit())
        lines.push_back(
            fmt::format("{}, {} bytes: the generator is the limit: nothing was lost, no queue was "
                        "full; it may do more, give --generator-cpu a core of its own",
                        peer.peer->name, size.size));
    }
  }
  if (result.interrupted) lines.push_back("partial: interrupted");
  if (noise > kNoisySpread)
    lines.push_back(
        fmt::format("noise: figures spread over up to {:.0f}%: stop other work on this machine, "
                    "run on isolated "
                    "cores, or raise --rounds; compare none that lie closer than this",
                    noise * 100));
  for (const std::string& line : result.left_out) lines.push_back("left out: " + line);
  if (!result.missing.empty())
    lines.push_back(
        fmt::format("partial: asked for and not measured: {}; install it, or leave it "
                    "out of --peers",
                    fmt::join(result.missing, ", ")));
  return lines;
}

// What is there already, in case that the rest does not come.
void keep(const CompareResult& result) {
  const std::string& file = result.options.json;
  if (file.empty() || file == "-") return;
  json partial = to_json(result);
  partial["partial"] = true;
  std::ofstream(file + ".partial") << partial.dump(2) << '\n';
}

void measure(CompareResult& result) {
  for (unsigned round = 0; round < result.options.rounds; ++round)
    for (size_t turn = 0; turn < result.peers.size(); ++turn) {
      if (stop_asked) return;
      PeerResult& peer = result.peers[(turn + round) % result.peers.size()];
      fmt::print(stderr, "round {} of {}: {}\n", round + 1, result.options.rounds, peer.peer->name);
      if (auto done = measure_peer(result, peer, stop_asked); !done && !stop_asked) {
        fmt::print(stderr, "{}: {}\n", peer.peer->name, done.error().message);
        peer.failures.push_back(done.error().message);
      }
      keep(result);
    }
}

}  // namespace

bool Compared::generator_was_the_limit() const {
  constexpr double kHeldBack = 0.01, kLost = 0.001;
  return !held_back.empty() && median(held_back) < kHeldBack &&
         static_cast<double>(lost) <= kLost * static_cast<double>(sent);
}

Result<void> add_counts(Compared& compared, const json& counts) {
  const double seconds = counts.at("seconds"), sent = counts.at("sent"),
               received = counts.at("received");
  const double bytes = counts.at("sent_bytes").get<double>() / sent;
  compared.sent += counts.at("sent").get<uint64_t>();
  compared.lost += counts.at("lost").get<uint64_t>();
  const WrongCounts wrong = wrong_counts(counts.at("wrong"));
  compared.wrong.add(wrong);
  if (received == 0)
    return fail(fmt::format("nothing of {} packets of {} bytes came back{}{}", sent, compared.size,
                            wrong.total() > 0 ? " as it should: " : "", wrong.text()));
  compared.mpps.push_back(received / seconds / 1e6);
  compared.gbps.push_back(received * bytes * 8 / seconds / 1e9);
  compared.held_back.push_back(counts.at("held_back"));
  return {};
}

bool CompareResult::partial() const {
  return interrupted || !missing.empty() ||
         std::any_of(peers.begin(), peers.end(),
                     [](const PeerResult& peer) { return !peer.failures.empty(); });
}

Result<CompareResult> choose_peers(const CompareOptions& options) {
  CompareResult result;
  result.options = options;
  const PortKind kind = options.ports == "veth" ? PortKind::kVeth : PortKind::kMemif;
  std::vector<std::string> names;
  for (const Peer& peer : all_peers()) names.push_back(peer.name);
  for (const std::string& name : options.peers)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fail(
          fmt::format("--peers: {} is not known; use some of {}", name, fmt::join(names, ", ")));
  for (const Peer& peer : all_peers()) {
    if (!options.peers.empty() &&
        std::find(options.peers.begin(), options.peers.end(), peer.name) == options.peers.end())
      continue;
    auto programs = find_peer(peer);
    const size_t left_out = result.left_out.size();
    if (std::find(peer.ports.begin(), peer.ports.end(), kind) == peer.ports.end()) {
      result.left_out.push_back(fmt::format("{}: has no {} ports; use --ports {}", peer.name,
                                            options.ports,
                                            options.ports == "veth" ? "memif" : "veth"));
    } else if (!programs) {
      result.left_out.push_back(fmt::format("{}: {}", peer.name, programs.error().message));
    } else {
      PeerResult entry{&peer, *programs, {}, {}};
      for (const std::string& size : options.sizes)
        entry.sizes.push_back({size, {}, {}, 0, 0, {}, {}});
      result.peers.push_back(std::move(entry));
    }
    if (!options.peers.empty() && result.left_out.size() > left_out)
      result.missing.push_back(peer.name);
  }
  if (result.peers.empty())
    return fail(fmt::format("nobody to compare: {}", fmt::join(result.left_out, "; ")));
  return result;
}

json to_json(const CompareResult& result) {
  const CompareOptions& options = result.options;
  json out = {{"tool", "compare"},
              {"machine", result.machine},
              {"ports", options.ports},
              {"family", options.family},
              {"routes", options.routes},
              {"rounds", options.rounds},
              {"seconds", options.seconds},
              {"rate", options.rate},
              {"burst", options.burst},
              {"cpus",
               {{"control", result.control_cpu},
                {"generator", result.generator_cpu},
                {"worker", result.worker_cpu}}},
              {"partial", result.partial()},
              {"notes", notes(result)},
              {"left_out", result.left_out},
              {"missing", result.missing},
              {"peers", json::array()}};
  for (const PeerResult& peer : result.peers) {
    json entry = {{"name", peer.peer->name},   {"what", peer.peer->what},
                  {"programs", peer.programs}, {"tried", peer.peer->tried},
                  {"failures", peer.failures}, {"sizes", json::array()}};
    for (const Compared& size : peer.sizes)
      entry["sizes"].push_back({{"size", size.size},
                                {"mpps", summary_json(size.mpps)},
                                {"gbps", summary_json(size.gbps)},
                                {"sent", size.sent},
                                {"lost", size.lost},
                                {"wrong", to_json(size.wrong)},
                                {"held_back", summary_json(size.held_back)}});
    out["peers"].push_back(std::move(entry));
  }
  return out;
}

std::string to_text(const CompareResult& result) {
  const CompareOptions& options = result.options;
  std::vector<std::vector<std::string>> rows = {
      {"", "bytes", "Mpps", "spread", "Gbps", "lost", ""}};
  for (const PeerResult& peer : result.peers)
    for (const Compared& size : peer.sizes) {
      const bool there = !size.mpps.empty();
      rows.push_back({peer.peer->name, size.size, there ? four_digits(median(size.mpps)) : "failed",
                      there ? fmt::format("{:.1f}%", spread(size.mpps) * 100) : "",
                      there ? four_digits(median(size.gbps)) : "",
                      size.sent == 0 ? ""
                                     : fmt::format("{:.2f}%", 100 * static_cast<double>(size.lost) /
                                                                  static_cast<double>(size.sent)),
                      peer.peer->what});
    }
  std::string text = fmt::format(
      "side by side over {}, IPv{}, {} routes, rate {}; router on CPU {}, generator on {}, control "
      "on "
      "{}\n{}; medians of {} rounds of {:g} s, peers in turn\n\n{}",
      options.ports, options.family, options.routes, options.rate, result.worker_cpu,
      result.generator_cpu, result.control_cpu, result.machine.value("name", "?"), options.rounds,
      options.seconds, align_columns(rows, 1));
  for (const std::string& note : notes(result)) text += note + '\n';
  return text;
}

int compare(const CompareOptions& options) {
  spdlog::set_level(spdlog::level::warn);
  auto result = choose_peers(options);
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message);
    return 2;
  }
  if (options.ports == "veth" && geteuid() != 0)
    return complain(
        {"--ports veth needs root: network namespaces; run as root, or use --ports memif"});
  if (auto placed = place(*result); !placed) return complain(placed.error());
  result->machine = machine_facts();
  for (const int number : {SIGINT, SIGTERM}) signal(number, [](int) { stop_asked = true; });
  measure(*result);
  result->interrupted = stop_asked;
  if (options.json != "-") fmt::print("{}", to_text(*result));
  if (auto written = write_json(options.json, to_json(*result)); !written)
    return complain(written.error());
  if (!options.json.empty()) std::remove((options.json + ".partial").c_str());
  return result->partial() ? 1 : 0;
}

}  // namespace hecto::bench
