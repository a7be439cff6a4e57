#include "router/cli/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "config/capacity/capacity.hpp"
#include "router/api/backend.hpp"
#include "router/cli/help.hpp"

namespace hecto::cli {
namespace {

const std::vector<std::string> kVerbs = {"show",    "check",       "plan",  "reload", "trace",
                                         "capture", "load-routes", "route", "version"};

std::vector<std::string> plan_sizes() {
  std::vector<std::string> out;
  for (const config::PacketSize& size : config::packet_sizes()) out.emplace_back(size.name);
  return out;
}

std::vector<std::string> plan_traffic() {
  std::vector<std::string> out;
  for (auto each : {config::Traffic::kIpv4, config::Traffic::kIpv6, config::Traffic::kIpsec})
    out.emplace_back(config::name_of(each));
  return out;
}

std::vector<std::string> nouns() {
  return {std::begin(kNouns), std::end(kNouns)};
}

std::string default_socket() {
  const char* set = std::getenv("HECTO_SOCKET");
  return set != nullptr && *set != '\0' ? set : "/run/hecto/hecto.sock";
}

Ending wrong(const std::string& line, const std::string& verb = {}) {
  return {kWrongUsage, fmt::format("hecto: {} (see hecto {}--help)\n", line,
                                   verb.empty() ? std::string() : verb + " ")};
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? fmt::format("use {}", fmt::join(known, ", "))
                      : "did you mean " + near + "?";
}

void add_verbs(CLI::App& app, Arguments& a) {
  const auto limits = CLI::Range(1, 10000);
  CLI::App* show = app.add_subcommand("show");
  show->add_option("OBJECT", a.object)->required();
  show->add_option("NAME", a.filter);
  show->add_flag("--all", a.all);
  show->add_option("--limit", a.limit)->check(limits);
  app.add_subcommand("check")->add_option("FILE", a.object)->required();
  CLI::App* plan = app.add_subcommand("plan");
  plan->add_option("FILE", a.object);
  plan->add_option("--topology", a.topology);
  plan->add_option("--box", a.box);
  plan->add_option("--calibration", a.calibration);
  plan->add_option("--svg", a.svg);
  plan->add_option("--size", a.size)->check(CLI::IsMember(plan_sizes()));
  plan->add_option("--traffic", a.traffic)->check(CLI::IsMember(plan_traffic()));
  plan->add_flag("--explain", a.explain);
  app.add_subcommand("reload")->add_option("FILE", a.object);
  CLI::App* load = app.add_subcommand("load-routes");
  load->add_option("FILE", a.object)->required();
  load->add_option("--via", a.via);
  load->add_option("--metric", a.metric);
  load->add_flag("--replace", a.replace);
  load->add_flag("--skip-bad", a.skip_bad);
  CLI::App* route = app.add_subcommand("route");
  route->add_option("WORDS", a.words)->required();
  route->add_flag("--all", a.all);
  CLI::App* trace = app.add_subcommand("trace");
  trace->add_option("--from", a.from);
  trace->add_option("--to", a.to);
  trace->add_option("--port", a.port);
  trace->add_option("--interface", a.interface);
  trace->add_option("-n,--count", a.count)->check(CLI::Range(1, 1000));
  trace->add_option("--timeout", a.timeout_s)->check(CLI::Range(0.1, 3600.0));
  CLI::App* capture = app.add_subcommand("capture");
  capture->add_option("--from", a.from);
  capture->add_option("--to", a.to);
  capture->add_option("--port", a.port);
  capture->add_option("--interface", a.interface);
  capture->add_option("--where", a.where)
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>{std::begin(router::kCaptureWhere),
                                                     std::end(router::kCaptureWhere)}));
  capture->add_option("-n,--count", a.packets)->check(CLI::Range(uint64_t{1}, UINT64_MAX));
  capture->add_option("--seconds", a.seconds)->check(CLI::Range(0.1, 1e6));
  capture->add_option("--snaplen", a.snaplen)->check(CLI::Range(14, 65535));
  capture->add_option("--buffer", a.buffer_mib)->check(CLI::Range(1, 4096));
  capture->add_option("-w,--write", a.write);
  capture->add_option("--esp-keys", a.esp_keys);
  app.add_subcommand("version");
}

// "show port" means ports.
tl::expected<void, Ending> check_noun(Arguments& a) {
  const auto known = nouns();
  if (a.object == "neighbours") a.object = "neighbors";
  if (std::find(known.begin(), known.end(), a.object + "s") != known.end()) a.object += "s";
  if (std::find(known.begin(), known.end(), a.object) == known.end()) {
    return tl::unexpected<Ending>(
        wrong(fmt::format("show: \"{}\" is not known; {}", a.object, did_you_mean(a.object, known)),
              "show"));
  }
  const bool routes = a.object == "routes";
  if (!a.filter.empty() && !routes && a.object != "ports" && a.object != "interfaces") {
    return tl::unexpected<Ending>(
        wrong(fmt::format("show {}: \"{}\" is one word too many", a.object, a.filter), "show"));
  }
  if (a.all && !routes) {
    return tl::unexpected<Ending>(wrong("show " + a.object + ": --all goes with routes", "show"));
  }
  return {};
}

}  // namespace

// Damerau's distance without the transposition's cost: small words, so the plain table will do.
std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = 3;
  for (const std::string& candidate : known) {
    if (word.size() >= 3 && candidate.rfind(word, 0) == 0) return candidate;
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = std::exchange(row[0], i);
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t change = diagonal + (word[i - 1] != candidate[j - 1]);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

tl::expected<Arguments, Ending> parse_arguments(int argc, const char* const* argv) {
  Arguments a;
  a.socket = default_socket();
  CLI::App app("hecto");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", a.json);
  app.add_option("--socket", a.socket);
  add_verbs(app, a);

  if (argc < 2) return tl::unexpected<Ending>(Ending{kWrongUsage, help({})});
  const std::string first = argv[1];
  if (first[0] != '-' && std::find(kVerbs.begin(), kVerbs.end(), first) == kVerbs.end()) {
    return tl::unexpected<Ending>(
        wrong(fmt::format("\"{}\" is not known; {}", first, did_you_mean(first, kVerbs))));
  }
  const auto verb = [&]() -> std::string {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? std::string() : chosen[0]->get_name();
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return tl::unexpected<Ending>(Ending{kDone, help(verb())});
  } catch (const CLI::ParseError& error) {
    std::string line = error.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return tl::unexpected<Ending>(wrong(verb().empty() ? line : verb() + ": " + line, verb()));
  }
  a.verb = verb();
  if (a.verb == "show") {
    if (auto checked = check_noun(a); !checked) return tl::unexpected<Ending>(checked.error());
  }
  return a;
}

}  // namespace hecto::cli
