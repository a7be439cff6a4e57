#include "router/cli/help.hpp"

#include <utility>

namespace hecto::cli {
namespace {

constexpr std::string_view kOverview =
    R"(hecto: looks into a running router (hectod) and tells it what to do.

USAGE
  hecto VERB [OBJECT] [--json] [--socket PATH]

VERBS
  show OBJECT        summary, ports, interfaces, routes, neighbors, nexthops, workers, offload,
                     ipsec, drops, pools, config, plan
  trace              what happens to the next packets that fit, stage by stage
  capture            packets into a pcapng file, for Wireshark; also what is inside tunnels
  reload [FILE]      applies the configuration file as one transaction, or not at all
  route add|delete   one route more, or less
  load-routes FILE   a whole table: list of prefixes, bgpdump -m text, MRT
  check FILE         what is wrong with a configuration file; silent when nothing is
  plan [FILE]        which core would poll what, what would be short, how many Gb/s the box carries
  version            which hecto this is, and which router answers
  check and plan need no router.

OPTIONS
  --json             the answer of the API unchanged, for scripts (docs/api.md)
  --socket PATH      the router's API socket (default: $HECTO_SOCKET, or
                     /run/hecto/hecto.sock)
  -h, --help         this text, or that of a verb: hecto show --help

EXAMPLES
  hecto show workers                 load, Mpps and cycles per packet of every core
  hecto show drops                   what is lost, where and why
  hecto show routes 203.0.113.9      which route, why, next hop, neighbor, rewrite
  hecto trace --to 203.0.113.9 -n 3  the way of the next three packets to it
  hecto show ports --json | jq '.ports[] | select(.link.up | not) | .name'

EXIT CODES
  0 done, 1 refused or failed, 2 wrong usage

ENVIRONMENT
  HECTO_SOCKET       the default of --socket
  NO_COLOR           turns colour off; it is only ever used on a terminal
)";

constexpr std::string_view kShow =
    R"(hecto show: one part of the router, the interesting row on top.

USAGE
  hecto show OBJECT [NAME]

OBJECTS
  summary            version, tables, rates, and what the operator should know
  ports [NAME]       link, rates and losses; offloads asked and given; what the driver refused
  interfaces [NAME]  addresses, MTU, state, uRPF, the Linux side; counters where they are on
  routes             the first 100 prefixes; --limit N for more, --all for every one
  routes PREFIX      it and all inside
  routes ADDRESS     what happens to packets to it: route, why, next hop, neighbor, rewrite
  neighbors          addresses and MACs on the links, the unusable ones first
  nexthops           next-hop groups, those with most routes first
  workers            load, Mpps, cycles per packet and stage, burst fill; the busiest first
  offload            devices; what goes there and what stays, why, and what the other would cost
  ipsec              SAs with rates, lifetimes and replay windows; policies and what protects them
  drops              losses and punts by reason, with an example, and the balance of all packets
  pools              mbufs in use and exhaustion, the fullest first
  config             what runs, as a file that can be loaded
  plan               who polls what from where, and the warnings
)";

constexpr std::string_view kTrace =
    R"(hecto trace: what happens to the next packets that fit, stage by stage.

USAGE
  hecto trace [--from A] [--to A] [--port P] [--interface I] [-n N] [--timeout S]

OPTIONS
  --from A, --to A   source, destination: an address or a prefix
  --port P           the port that they come in at
  --interface I      the interface that they come in at, wan0.100
  -n, --count N      so many packets, 1 to 1000 (default 10)
  --timeout S        ends after so many seconds (default 10)
  One trace runs at a time: a new one ends the one before. Exit code 1 when no packet came.
)";

constexpr std::string_view kCapture =
    R"(hecto capture: packets into a pcapng file, for Wireshark; also what is inside tunnels.

USAGE
  hecto capture --write FILE [--from A] [--to A] [--port P | --interface I] [--where W,...]
                [-n N] [--seconds S] [--snaplen BYTES] [--buffer MIB] [--esp-keys FILE]
  hecto capture --esp-keys FILE

OPTIONS
  -w, --write FILE   the file; - is standard output: hecto capture -w - | wireshark -k -i -
  --from A, --to A   source, destination: an address or a prefix; inside a tunnel those of the
                     inner packet, and what is taken before encryption is taken behind it too
  --port P           received or sent there; of other points, packets that came in there
  --interface I      the same, of wan0.100
  --where W,...      rx and tx (default): frames received and transmitted, of each port;
                     inner, outer: packets of IPsec, in the clear and encrypted;
                     drop: what is dropped, the reason in the packet's comment
  -n, --count N      ends after so many packets; else with --seconds, or with Ctrl-C
  --seconds S        ends after so many seconds
  --snaplen BYTES    of each packet, 14 to 65535 (default 65535)
  --buffer MIB       room in the router, 1 to 4096 (default 64): what does not fit is lost, counted
                     in the file and told at the end
  --esp-keys FILE    the keys of all SAs, as Wireshark's esp_sa file has them, with mode 0600; only
                     root, and only where the router's file says ipsec: {export_keys: true}
  One capture runs at a time. It ends with this command, at the latest 10 s after.
)";

constexpr std::string_view kReload =
    R"(hecto reload: applies the configuration file as one transaction, or not at all.

USAGE
  hecto reload [FILE]

  Without FILE, the one that runs is read again. Prints each change; what is wrong, or cannot
  change while the router runs, is named, and then nothing is changed (exit code 1).
)";

constexpr std::string_view kRoute = R"(hecto route: adds or deletes one route of origin api.

USAGE
  hecto route add PREFIX via GW[,GW...] [dev IF] [metric N]
  hecto route add blackhole|unreachable|prohibit PREFIX [metric N]
  hecto route delete PREFIX [metric N]
  hecto route delete --all

  Several gateways make an ECMP group; GW%IF names the interface of each. A route of the same
  prefix and metric is replaced. --all deletes what `route add` and `load-routes` brought.
)";

constexpr std::string_view kLoadRoutes =
    R"(hecto load-routes: loads a whole table as one transaction.

USAGE
  hecto load-routes FILE [--via GW[,GW...]] [--metric N] [--replace] [--skip-bad]

OPTIONS
  FILE               list of prefixes, bgpdump -m text, or MRT (TABLE_DUMP_V2); also gzipped;
                     - reads standard input
  --via GW,...       the next hop of all routes; several: ECMP; fe80::1%lan0 names an interface
  --metric N         of all routes (default 0)
  --replace          deletes the routes of origin api that the file does not hold
  --skip-bad         loads what is good of a damaged file and tells each bad line or record; without
                     it a file that is malformed anywhere, or cut off, changes nothing
)";

constexpr std::string_view kCheck = R"(hecto check: what is wrong with a configuration file.

USAGE
  hecto check FILE

  One line a problem: file, line, key, the value seen, what would be right. Silent, and exit
  code 0, when nothing is wrong. Needs no router.
)";

constexpr std::string_view kPlan =
    R"(hecto plan: which core would poll what, and what the box can carry.

USAGE
  hecto plan [FILE] [--box FILE | --topology XML] [--calibration FILE] [--svg FILE]
             [--size N] [--traffic T]
  hecto plan --explain [--box FILE] [--calibration FILE]

OPTIONS
  FILE                the configuration; without one, every port of the box's NICs
  --box FILE          plans for the box that a short YAML file describes (docs/measuring.md)
  --topology XML      plans for another box: the file that its `lstopo box.xml` wrote
  --calibration FILE  constants as `hecto-bench calibrate` measured them
  --size N            64, 128, 256, 512, 1024, 1518, 9000 or imix: of the headroom and the picture
                      (default 64)
  --traffic T         ipv4, ipv6 or ipsec: of the same (default ipv4)
  --svg FILE          draws the box, each part coloured by its load
  --explain           the constants of the model, each with unit and source
  Lines with ! are warnings and advice. Needs no router.
)";

constexpr std::string_view kVersion =
    R"(hecto version: which hecto this is, and which router answers.
)";

}  // namespace

std::string help(std::string_view verb) {
  static constexpr std::pair<std::string_view, std::string_view> texts[] = {
      {"show", kShow},       {"trace", kTrace}, {"capture", kCapture},        {"reload", kReload},
      {"route", kRoute},     {"check", kCheck}, {"load-routes", kLoadRoutes}, {"plan", kPlan},
      {"version", kVersion},
  };
  for (const auto& [name, text] : texts) {
    if (name == verb) return std::string(text) + "\nSee hecto --help for --json and --socket.\n";
  }
  return std::string(kOverview);
}

}  // namespace hecto::cli
