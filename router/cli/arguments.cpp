#include "router/cli/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "config/capacity/capacity.hpp"
#include "router/api/backend.hpp"

namespace hecto::cli {
namespace {

const std::vector<std::string> kVerbs = {"show",    "check",       "plan",  "reload", "trace",
                                         "capture", "load-routes", "route", "version"};

// What `show` shows. Values of one argument, of which CLI11's help knows nothing.
struct Noun {
  std::string_view name;
  struct Line {
    std::string_view argument, text;
  };
  std::array<Line, 3> lines;
  bool takes_name() const { return !lines[0].argument.empty() || !lines[1].argument.empty(); }
};
constexpr Noun kNouns[] = {
    {"summary", {{{"", "version, tables, rates, and what the operator should know"}}}},
    {"ports",
     {{{"[NAME]", "link, rates and losses; offloads asked and given; what the driver refused"}}}},
    {"interfaces",
     {{{"[NAME]", "addresses, MTU, state, uRPF, the Linux side; counters where they are on"}}}},
    {"routes",
     {{{"", "the first 100 prefixes; --limit N for more, --all for every one"},
       {"PREFIX", "it and all inside"},
       {"ADDRESS", "what happens to packets to it: route, why, next hop, neighbor, rewrite"}}}},
    {"ipsec",
     {{{"", "SAs with rates, lifetimes and replay windows; policies and what protects them"}}}},
    {"neighbors", {{{"", "addresses and MACs on the links, the unusable ones first"}}}},
    {"nexthops", {{{"", "next-hop groups, those with most routes first"}}}},
    {"workers", {{{"", "load, Mpps, cycles per packet and stage, burst fill; the busiest first"}}}},
    {"offload",
     {{{"", "devices; what goes there and what stays, why, and what the other would cost"}}}},
    {"drops",
     {{{"", "losses and punts by reason, with an example, and the balance of all packets"}}}},
    {"punt",
     {{{"", "what goes to Linux by class: rates, what passed, what was dropped and where"}}}},
    {"pools", {{{"", "mbufs in use and exhaustion, the fullest first"}}}},
    {"config", {{{"", "what runs, as a file that can be loaded"}}}},
    {"plan", {{{"", "who polls what from where, and the warnings"}}}},
};

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
  std::vector<std::string> out;
  for (const Noun& noun : kNouns) out.emplace_back(noun.name);
  return out;
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
  constexpr size_t kMostEdits = 2, kTellingLetters = 3;  // a beginning that long is enough
  const std::vector<std::string_view> words(known.begin(), known.end());
  const auto begun = std::find_if(words.begin(), words.end(), [&](std::string_view each) {
    return word.size() >= kTellingLetters && each.starts_with(word);
  });
  const std::string_view near = begun != words.end() ? *begun : nearest(word, words, kMostEdits);
  return near.empty() ? fmt::format("use {}", fmt::join(known, ", "))
                      : fmt::format("did you mean {}?", near);
}

// CLI11's layout. A verb's help begins with its name, which its line in the overview has already.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(22);
    label("SUBCOMMAND", "VERB");
    label("Positionals", "Arguments");
  }
  std::string make_description(const CLI::App* app) const override {
    return fmt::format("{}{}: {}\n\n", app->get_parent() == nullptr ? "" : "hecto ",
                       app->get_name(), app->get_description());
  }
};

constexpr const char* kExamples = R"(Examples:
  hecto show workers                 load, Mpps and cycles per packet of every core
  hecto show drops                   what is lost, where and why
  hecto show routes 203.0.113.9      which route, why, next hop, neighbor, rewrite
  hecto trace --to 203.0.113.9 -n 3  the way of the next three packets to it
  hecto show ports --json | jq '.ports[] | select(.link.up | not) | .name'

Exit codes:
  0 done, 1 refused or failed, 2 wrong usage

Environment:
  HECTO_SOCKET        the default of --socket
  NO_COLOR            turns colour off; it is only ever used on a terminal)";
constexpr const char* kRouteForms = R"(Forms:
  hecto route add PREFIX via GW[,GW...] [dev IF] [metric N]
  hecto route add blackhole|unreachable|prohibit PREFIX [metric N]
  hecto route delete PREFIX [metric N]
  hecto route delete --all

Several gateways make an ECMP group; GW%IF names the interface of each. A route of the same
prefix and metric is replaced.)";

constexpr const char* kNeedsRouter = "Verbs";
constexpr const char* kNeedsNone = "Verbs that need no router";

CLI::App& add_verb(CLI::App& app, const char* name, const char* text, const std::string& footer) {
  CLI::App& verb = *app.add_subcommand(name, text);
  verb.group(kNeedsRouter);
  verb.set_help_flag("-h,--help", "this text");
  verb.footer(footer + (footer.empty() ? "" : "\n\n") +
              "See hecto --help for --json and --socket.");
  return verb;
}

// An option with a value, which the help calls `value`.
CLI::Option* add_option(CLI::App& verb, const char* names, auto& into, const char* value,
                        const std::string& text) {
  return verb.add_option(names, into, text)->option_text(value);
}
template <typename Limit>
void add_number(CLI::App& verb, const char* names, auto& into, const char* value, Limit least,
                Limit most, const std::string& text, const std::string& more = {}) {
  const std::string standard = into > 0 ? fmt::format(" (default {})", into) : "";
  add_option(verb, names, into, value,
             fmt::format("{}, {} to {}{}{}", text, least, most, standard, more))
      ->check(CLI::Range(least, most));
}

void add_packet_filter(CLI::App& verb, Arguments& a, const std::string& of_addresses,
                       const std::string& of_ports) {
  add_option(verb, "--from", a.from, "A", "source: an address or a prefix");
  add_option(verb, "--to", a.to, "A", "destination: an address or a prefix" + of_addresses);
  add_option(verb, "--port", a.port, "P", "the port that they come in at" + of_ports);
  add_option(verb, "--interface", a.interface, "I", "the same of an interface, wan0.100");
}

void add_show(CLI::App& app, Arguments& a) {
  std::string objects = "Objects:\n";
  for (const Noun& noun : kNouns)
    for (const auto& [argument, text] : noun.lines)
      if (!text.empty())
        objects += fmt::format("  {:<20}{}\n", fmt::format("{} {}", noun.name, argument), text);
  objects.pop_back();
  CLI::App& show =
      add_verb(app, "show", "one part of the router, the interesting row on top", objects);
  add_option(show, "OBJECT", a.object, " ", "what to show")->required();
  add_option(show, "NAME", a.filter, " ", "the one of that name, prefix or address");
  show.add_flag("--all", a.all, "every route");
  add_number(show, "--limit", a.limit, "N", 1, 10000, "so many routes");
}

void add_trace(CLI::App& app, Arguments& a) {
  CLI::App& trace = add_verb(
      app, "trace", "what happens to the next packets that fit, stage by stage",
      "One trace runs at a time: a new one ends the one before. Exit code 1 when no packet "
      "came.");
  add_packet_filter(trace, a, "", "");
  add_number(trace, "-n,--count", a.count, "N", 1, 1000, "so many packets");
  add_number(trace, "--timeout", a.timeout_s, "S", 0.1, 3600.0, "ends after so many seconds");
}

void add_capture(CLI::App& app, Arguments& a) {
  CLI::App& capture = add_verb(
      app, "capture", "packets into a pcapng file, for Wireshark; also what is inside tunnels",
      "One capture runs at a time. It ends with this command, at the latest 10 s after. With\n"
      "--esp-keys alone the keys are written and nothing is captured.");
  add_option(capture, "-w,--write", a.write, "FILE",
             "the file; - is standard output: hecto capture -w - | wireshark -k -i -");
  add_packet_filter(capture, a,
                    "; inside a tunnel those of\nthe inner packet, and what is taken before "
                    "encryption is taken behind it too",
                    " or are sent at; of points between: that\nthey came in at");
  add_option(capture, "--where", a.where, "W,...",
             "rx and tx (default): frames received and transmitted, of each port;\n"
             "inner, outer: packets of IPsec, in the clear and encrypted;\n"
             "drop: what is dropped, the reason in the packet's comment")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>{std::begin(router::kCaptureWhere),
                                                     std::end(router::kCaptureWhere)}));
  add_option(capture, "-n,--count", a.packets, "N",
             "ends after so many packets; else with --seconds, or with Ctrl-C")
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
  add_number(capture, "--seconds", a.seconds, "S", 0.1, 1e6, "ends after so many seconds");
  add_number(capture, "--snaplen", a.snaplen, "BYTES", 14, 65535, "so many of each packet");
  add_number(capture, "--buffer", a.buffer_mib, "MIB", 1, 4096, "room in the router",
             ": what does not fit is lost, counted\nin the file and told at the end");
  add_option(capture, "--esp-keys", a.esp_keys, "FILE",
             "the keys of all SAs, as Wireshark's esp_sa file has them, with mode 0600;\n"
             "only root, and only where the router's file says ipsec: {export_keys: true}");
}

void add_changes(CLI::App& app, Arguments& a) {
  CLI::App& reload = add_verb(
      app, "reload", "applies the configuration file as one transaction, or not at all",
      "Prints each change; what is wrong, or cannot change while the router runs, is named, and\n"
      "then nothing is changed (exit code 1).");
  add_option(reload, "FILE", a.object, " ", "without one, that which runs is read again");
  CLI::App& route =
      add_verb(app, "route", "add, delete: one route of origin api more, or less", kRouteForms);
  add_option(route, "WORDS", a.words, " ", "one of the forms below")->required();
  route.add_flag("--all", a.all, "deletes what `route add` and `load-routes` brought");
  CLI::App& load = add_verb(
      app, "load-routes",
      "loads a whole table as one transaction: list of prefixes, bgpdump -m text, MRT", "");
  add_option(load, "FILE", a.object, " ",
             "list of prefixes, bgpdump -m text, or MRT (TABLE_DUMP_V2); also gzipped;\n"
             "- reads standard input")
      ->required();
  add_option(load, "--via", a.via, "GW,...",
             "the next hop of all routes; several: ECMP; fe80::1%lan0 names an\ninterface");
  add_option(load, "--metric", a.metric, "N", "of all routes (default 0)");
  load.add_flag("--replace", a.replace,
                "deletes the routes of origin api that the file does not hold");
  load.add_flag("--skip-bad", a.skip_bad,
                "loads what is good of a damaged file and tells each bad line or record;\n"
                "without it a file that is malformed anywhere, or cut off, changes nothing");
}

void add_files(CLI::App& app, Arguments& a) {
  CLI::App& check = add_verb(
      app, "check", "what is wrong with a configuration file; silent when nothing is",
      "One line a problem: file, line, key, the value seen, what would be right. Silent, and exit\n"
      "code 0, when nothing is wrong. Needs no router.");
  check.group(kNeedsNone);
  add_option(check, "FILE", a.object, " ", "the configuration")->required();
  CLI::App& plan = add_verb(
      app, "plan", "which core would poll what, what would be short, how many Gb/s the box carries",
      "Lines with ! are warnings and advice. Needs no router.");
  plan.group(kNeedsNone);
  add_option(plan, "FILE", a.object, " ",
             "the configuration; without one, every port of the box's NICs");
  add_option(plan, "--box", a.box, "FILE",
             "plans for the box that a short YAML file describes (docs/measuring.md)");
  add_option(plan, "--topology", a.topology, "XML",
             "plans for another box: the file that its `lstopo box.xml` wrote");
  add_option(plan, "--calibration", a.calibration, "FILE",
             "constants as `hecto-bench calibrate` measured them");
  add_option(plan, "--size", a.size, "N",
             fmt::format("of the headroom and the picture: {}\n(default {})",
                         fmt::join(plan_sizes(), ", "), a.size))
      ->check(CLI::IsMember(plan_sizes()));
  add_option(
      plan, "--traffic", a.traffic, "T",
      fmt::format("of the same: {} (default {})", fmt::join(plan_traffic(), ", "), a.traffic))
      ->check(CLI::IsMember(plan_traffic()));
  add_option(plan, "--svg", a.svg, "FILE", "draws the box, each part coloured by its load");
  plan.add_flag("--explain", a.explain, "the constants of the model, each with unit and source");
}

// The words by commas, indented, in lines of at most 100 columns.
std::string wrapped(const std::vector<std::string>& words) {
  std::string text, line = " ";
  for (const std::string& word : words) {
    const std::string next = " " + word + (&word == &words.back() ? "" : ",");
    if (line.size() + next.size() > 100) text += std::exchange(line, " ") + "\n";
    line += next;
  }
  return text + line + "\n";
}

void describe(CLI::App& app, Arguments& a) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  app.fallthrough();
  app.set_help_flag("-h,--help", "this text, or that of a verb: hecto show --help");
  app.add_flag("--json", a.json, "the answer of the API unchanged, for scripts (docs/api.md)");
  add_option(app, "--socket", a.socket, "PATH",
             "the router's API socket (default: $HECTO_SOCKET, or\n/run/hecto/hecto.sock)");
  add_show(app, a);
  add_trace(app, a);
  add_capture(app, a);
  add_changes(app, a);
  add_files(app, a);
  add_verb(app, "version", "which hecto this is, and which router answers", "");
  app.footer(fmt::format("Objects of show:\n{}\n{}", wrapped(nouns()), kExamples));
}

// "show port" means ports.
tl::expected<void, Ending> check_noun(Arguments& a) {
  const auto known = nouns();
  if (a.object == "neighbours") a.object = "neighbors";
  if (std::find(known.begin(), known.end(), a.object + "s") != known.end()) a.object += "s";
  const auto noun = std::find_if(std::begin(kNouns), std::end(kNouns),
                                 [&](const Noun& each) { return each.name == a.object; });
  if (noun == std::end(kNouns)) {
    return tl::unexpected<Ending>(
        wrong(fmt::format("show: \"{}\" is not known; {}", a.object, did_you_mean(a.object, known)),
              "show"));
  }
  if (!a.filter.empty() && !noun->takes_name()) {
    return tl::unexpected<Ending>(
        wrong(fmt::format("show {}: \"{}\" is one word too many", a.object, a.filter), "show"));
  }
  if (a.all && a.object != "routes") {
    return tl::unexpected<Ending>(wrong("show " + a.object + ": --all goes with routes", "show"));
  }
  return {};
}

}  // namespace

// Damerau's distance without the transposition's cost: small words, so the plain table will do.
tl::expected<Arguments, Ending> parse_arguments(int argc, const char* const* argv) {
  Arguments a;
  a.socket = default_socket();
  CLI::App app("looks into a running router (hectod) and tells it what to do", "hecto");
  describe(app, a);

  if (argc < 2) return tl::unexpected<Ending>(Ending{kWrongUsage, app.help()});
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
    return tl::unexpected<Ending>(Ending{kDone, app.help()});
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
