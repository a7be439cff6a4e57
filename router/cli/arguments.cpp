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
#include "base/version.hpp"
#include "config/capacity/capacity.hpp"
#include "router/api/backend.hpp"
#include "router/cli/change_arguments.hpp"
#include "router/cli/completion.hpp"
#include "router/cli/examples.hpp"
#include "router/cli/machine_arguments.hpp"

namespace hecto::cli {
namespace {

const std::vector<std::string> kVerbs = {
    "show",   "top",     "check",       "plan",    "reload", "diff",   "confirm", "rollback",
    "trace",  "capture", "load-routes", "route",   "set",    "flow",   "clear",   "version",
    "doctor", "bind",    "unbind",      "prepare", "drain",  "undrain"};

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
    {"bonds",
     {{{"[NAME]", "members, who is at their other end, packets, and what is wrong with them"}}}},
    {"bridges",
     {{{"", "Linux's bridges: ports, states, stations, and who switches: hecto or Linux"}}}},
    {"nat", {{{"", "rules, and of each pool blocks, hosts, sessions and what was refused"}}}},
    {"flows", {{{"", "the flow table: entries, what they ask for, hits and misses, the busiest"}}}},
    {"interfaces",
     {{{"[NAME]", "addresses, MTU, state, uRPF, the Linux side; counters where they are on"}}}},
    {"routes",
     {{{"", "the first 100 prefixes; --limit N for more, --all for every one"},
       {"PREFIX", "it and all inside"},
       {"ADDRESS", "what happens to packets to it: route, why, next hop, neighbor, rewrite"}}}},
    {"filters",
     {{{"", "rules and policers: what they have held for, how fast, and what they cannot do"}}}},
    {"mtu",
     {{{"", "how long packets may be on each interface, and where two ends differ"},
       {"ADDRESS", "on the way to it: interface, route, tunnel, what the path has told"}}}},
    {"ipsec",
     {{{"", "SAs with rates, lifetimes and replay windows; policies and what protects them"}}}},
    {"neighbors", {{{"", "addresses and MACs on the links, the unusable ones first"}}}},
    {"rules", {{{"", "policy rules, of Linux or the file, and who does what they say"}}}},
    {"tables", {{{"", "routing tables and VRFs: interfaces, rules that name them, prefixes"}}}},
    {"labels", {{{"", "labels of MPLS that come in: swap, pop, which VRF; by hecto or by Linux"}}}},
    {"nexthops", {{{"", "next-hop groups, those with most routes first"}}}},
    {"workers", {{{"", "load, Mpps, cycles per packet and stage, burst fill; the busiest first"}}}},
    {"offload",
     {{{"", "devices; what goes there and what stays, why, and what the other would cost"}}}},
    {"drops",
     {{{"", "losses and punts by reason, with an example, and the balance of all packets"}}}},
    {"punt",
     {{{"", "what goes to Linux by class: rates, what passed, what was dropped and where"}}}},
    {"sflow",
     {{{"", "collectors and what they got; packets sampled, by port, and what was lost"}}}},
    {"ipfix", {{{"", "collectors and what they got; flows told, and those under way"}}}},
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
    out.emplace_back(to_string(each));
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

constexpr const char* kNeedsRouter = "Verbs";
constexpr double kWatch_s = 2;
constexpr const char* kNeedsNone = "Verbs that need no router";

CLI::App& add_verb(CLI::App& app, const char* name, const char* text, const std::string& footer) {
  CLI::App& verb = *app.add_subcommand(name, text);
  verb.group(kNeedsRouter);
  verb.set_help_flag("-h,--help", "this text");
  verb.footer(footer + (footer.empty() ? "" : "\n\n") + std::string(examples_of(name)) +
              "\n\nSee hecto --help for --json and --socket.");
  return verb;
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
  add_option(verb, "--protocol", a.protocol, "P",
             "tcp, udp, icmp, icmp6, esp, ospf, sctp, or a number");
  add_number(verb, "--transport-port", a.transport_port, "N", 1, 65535,
             "port of TCP, UDP or SCTP, the source's or the destination's");
}

// With a number behind it or without.
void add_watch(CLI::App& verb, Arguments& a) {
  const auto set = [&a](const CLI::results_t& words) {
    a.watch_s = kWatch_s;
    return words.empty() || words[0].empty() || CLI::detail::lexical_cast(words[0], *a.watch_s);
  };
  verb.add_option("-w,--watch", set, fmt::format("again every S seconds (default {})", kWatch_s))
      ->expected(0, 1)
      ->option_text("[S]")
      ->check(CLI::Range(0.1, 3600.0));
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
  add_option(show, "--origin", a.origin, "O", "routes of linux, file, api or neighbor");
  add_option(show, "--protocol", a.protocol, "P", "routes of that protocol, as ip route says: bgp");
  add_option(show, "--table,--vrf", a.table, "T", "routes of that table, or of that VRF");
  add_option(show, "--interface", a.interface, "I",
             "routes out by it; of an ADDRESS: where packets to it come in");
  add_option(show, "--from", a.from, "A", "of an ADDRESS: who sends the packets");
  add_number(show, "--length", a.length, "BYTES", 28, 9216, "of an ADDRESS: how long they are");
  add_number(show, "--ttl", a.ttl, "N", 1, 255, "of an ADDRESS: their TTL as they come in");
  add_watch(show, a);
  show.add_flag("--total", a.total, "counters since the router's start, not since hecto clear");
}

void add_top(CLI::App& app, Arguments& a) {
  CLI::App& top = add_verb(
      app, "top", "ports, workers, growing drops, egress and punts, on a screen that stays",
      "h shows the keys, q ends. Without a terminal (a pipe, TERM=dumb) a picture behind the "
      "other.\n"
      "Where the router goes away it says so, marks what it shows as old, and tries again.");
  add_option(top, "WHAT", a.object, " ",
             "flows: the largest of the last seconds, by samples of packets")
      ->check(CLI::IsMember(std::vector<std::string>{"flows"}));
  add_number(top, "--interval", a.interval_s, "S", 0.2, 3600.0, "again after so many seconds");
  top.add_flag("--once", a.once, "one picture, with the router's own rates, and the end");
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
  add_option(capture, "-n,--count", a.packets, "N", "ends after so many packets")
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
  add_number(capture, "--seconds", a.seconds, "S", 0.1, 1e6, "ends after so many seconds");
  capture.add_flag("--endless", a.endless,
                   "ends with Ctrl-C; without it, -n and --seconds: after 10,000 packets or 60 s");
  capture.add_flag("--text", a.text, "a line a packet on standard output, besides or without FILE");
  add_number(capture, "--snaplen", a.snaplen, "BYTES", 14, 65535, "so many of each packet");
  add_number(capture, "--buffer", a.buffer_mib, "MIB", 1, 4096, "room in the router",
             ": what does not fit is lost, counted\nin the file and told at the end");
  add_option(capture, "--esp-keys", a.esp_keys, "FILE",
             "the keys of all SAs, as Wireshark's esp_sa file has them, with mode 0600;\n"
             "only root, and only where the router's file says ipsec: {export_keys: true}");
}

void add_drain(CLI::App& app, Arguments& a) {
  CLI::App& drain = add_verb(
      app, "drain", "takes the router out of traffic's way before it stops, by BGP, and waits",
      "FRR's bgpd announces graceful shutdown (RFC 8326): neighbors use another way where there "
      "is\n"
      "one, and no packet is lost. Exit code 1 when packets are still forwarded at the end of the\n"
      "time. It ends with hecto undrain, or a restart of bgpd.");
  CLI::App& undrain = add_verb(app, "undrain", "ends what hecto drain began", "");
  for (CLI::App* verb : {&drain, &undrain})
    add_option(*verb, "--frr", a.frr, "NAME",
               "the instance of FRR (-N), default: the one without a name; without\n"
               "this that of the router's namespace, or else the one without a name");
  add_number(drain, "--timeout", a.drain_timeout_s, "S", 1.0, 86400.0, "waits so many seconds");
  add_number(drain, "--below", a.below_pps, "PPS", 0.0, 1e9,
             "forwarded packets a second that count as none");
}

void add_files(CLI::App& app, Arguments& a) {
  CLI::App& check = add_verb(
      app, "check", "what is wrong with a configuration file; silent when nothing is",
      "One line a problem: file, line, key, the value seen, what would be right. Silent, and exit\n"
      "code 0, when nothing is wrong: hectod asks the same before it starts, of the cores and the\n"
      "memory of this machine, too. Devices are looked for at the start alone. Needs no router.");
  check.group(kNeedsNone);
  add_option(check, "FILE", a.object, " ", "the configuration")->required();
  check.add_flag("--elsewhere", a.elsewhere, "the file alone: it is for another machine");
  CLI::App& plan = add_verb(
      app, "plan", "which core would poll what, what would be short, how many Gb/s the box carries",
      "Lines with ! are warnings and advice. Needs no router.");
  plan.group(kNeedsNone);
  add_option(plan, "FILE", a.object, " ",
             "the configuration; without one, every port of the box's NICs");
  add_option(plan, "--box", a.box, "FILE",
             "plans for the box of a file: a short YAML (docs/measuring.md), what\n"
             "--collect or `lstopo box.xml` wrote");
  add_option(plan, "--topology", a.topology, "XML",
             "plans for another box: the file that its `lstopo box.xml` wrote");
  add_option(plan, "--collect", a.collect, "FILE",
             "writes what a plan must know of this machine, for --box elsewhere\n"
             "(-: to stdout); as root of the memory modules, too");
  add_option(plan, "--what-if", a.what_if, "KEY=VALUE",
             "changes the box first, and compares: cores=16, wan.gbit_s=200, cpu=\"Zen 5\"");
  add_option(plan, "--against", a.against, "FILE", "compares with the box of another file");
  add_option(plan, "--cluster", a.cluster, "FILE",
             "what many boxes carry together, what is full first, and what a failure\n"
             "leaves (docs/cluster.md)");
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
  app.set_version_flag("--version", "hecto " + std::string(version_and_commit()));
  app.add_flag("--json", a.json, "the answer of the API unchanged, for scripts (docs/api.md)");
  add_option(app, "--socket", a.socket, "PATH",
             "the router's API socket (default: $HECTO_SOCKET, or\n/run/hecto/hecto.sock)");
  add_option(app, "-H,--host", a.hosts, "BOX,...",
             "does it on that box, or on each, over ssh: USER@BOX, as ssh takes it")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_show(app, a);
  add_top(app, a);
  add_trace(app, a);
  add_capture(app, a);
  add_change_verbs(app, a, add_verb);
  add_files(app, a);
  add_machine_verbs(app, a, add_verb, kNeedsNone);
  add_verb(
      app, "clear", "counters of show count from here on, for this user; nothing is reset",
      "Marks where ports, interfaces, drops and punt stand, in $XDG_STATE_HOME/hecto. The API,\n"
      "metrics and other users see what they saw; `show --total` shows all. The mark ends with\n"
      "the router.");
  add_drain(app, a);
  add_verb(app, "version", "which hecto this is, and which router answers", "");
  app.footer(fmt::format("Objects of show:\n{}\n{}", wrapped(nouns()), examples_of("hecto")));
}

// Not in the help: packages ask for it.
Ending completion_for(const CLI::App& app, const std::string& shell) {
  CompletionObjects objects{
      {"route", {{"add", "one route more"}, {"delete", "one less"}}},
      {"flow", {{"add", "an entry"}, {"delete", "one less"}, {"load", "those of a file"}}}};
  for (const Noun& noun : kNouns)
    objects["show"].push_back({std::string(noun.name), std::string(noun.lines[0].text)});
  const std::string script = completion(app, objects, shell);
  return script.empty() ? wrong(fmt::format("completion: use {}", fmt::join(kShells, ", ")))
                        : Ending{kDone, script};
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
  const std::pair<const char*, bool> of_routes[] = {{"--all", a.all},
                                                    {"--origin", !a.origin.empty()},
                                                    {"--protocol", !a.protocol.empty()},
                                                    {"--table", !a.table.empty()},
                                                    {"--interface", !a.interface.empty()},
                                                    {"--from", !a.from.empty()},
                                                    {"--length", a.length > 0},
                                                    {"--ttl", a.ttl > 0}};
  for (const auto& [option, given] : of_routes)
    if (given && a.object != "routes" &&
        !(a.object == "mtu" && std::string_view(option) == "--from"))
      return tl::unexpected<Ending>(
          wrong(fmt::format("show {}: {} goes with routes", a.object, option), "show"));
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
  if (first == "completion")
    return tl::unexpected<Ending>(completion_for(app, argc > 2 ? argv[2] : ""));
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
  } catch (const CLI::CallForVersion& version) {
    return tl::unexpected<Ending>(Ending{kDone, std::string(version.what()) + "\n"});
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
