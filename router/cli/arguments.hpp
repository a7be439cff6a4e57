// The command line: hecto VERB [OBJECT] [options].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace hecto::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // refused, or failed
inline constexpr int kWrongUsage = 2;

struct Arguments {
  std::string verb;
  std::string
      object;  // show: the noun; top: flows; check, plan, reload, diff, load-routes: the file
  std::string filter;              // show: a name, prefix or address
  std::vector<std::string> words;  // route: what follows
  bool json = false;
  std::string socket;
  std::vector<std::string> hosts;         // -H: boxes that do it, over ssh
  std::string topology, box;              // plan: where the box stands written
  std::string calibration, svg;           // plan
  std::string size = "64";                // plan: what the headroom and the picture show
  std::string traffic = "ipv4";           // plan
  bool explain = false;                   // plan
  std::string collect, against;           // plan: a file to write, another box
  std::vector<std::string> what_if;       // plan: KEY=VALUE
  std::string cluster;                    // plan: a file of many boxes
  std::string via;                        // load-routes
  std::string confirm;                    // reload: a time, as 5m
  bool elsewhere = false;                 // check
  bool replace = false;                   // load-routes
  bool skip_bad = false;                  // load-routes
  bool all = false;                       // show routes, route delete
  uint32_t limit = 100;                   // show routes
  std::string origin, protocol;           // show routes; protocol: also of packets
  std::string table;                      // show routes
  uint32_t length = 0, ttl = 0;           // show routes ADDRESS; 0: the router's default
  std::optional<double> watch_s;          // show: again and again
  double interval_s = 1;                  // top
  bool once = false;                      // top
  bool total = false;                     // show: whatever `clear` has marked
  uint32_t metric = 0;                    // load-routes
  std::string from, to, port, interface;  // trace, capture; from, interface: show routes
  uint32_t transport_port = 0;            // trace, capture; 0: any
  uint32_t count = 10;                    // trace
  std::vector<std::string> where;         // capture; empty: the router's default
  uint64_t packets = 0;                   // capture; 0: no limit
  double seconds = 0;                     // capture; 0: no limit
  bool endless = false;                   // capture
  bool text = false;                      // capture: lines on standard output
  uint32_t snaplen = 65535;               // capture
  uint32_t buffer_mib = 64;               // capture
  std::string write, esp_keys;            // capture: files
  double timeout_s = 10;                  // trace
  bool fix = false, persist = false;      // doctor
  std::vector<std::string> devices;       // bind, unbind
  bool force = false, noiommu = false;    // bind, unbind, prepare
  std::string frr;                        // drain, undrain: -N of FRR; empty: found
  double drain_timeout_s = 60;            // drain
  double below_pps = 10;                  // drain
  uint32_t vfs = 0;                       // bind; 0: the device itself
};

// The end of the program before it began: help, or wrong usage.
struct Ending {
  int code = kWrongUsage;
  std::string text;
};

tl::expected<Arguments, Ending> parse_arguments(int argc, const char* const* argv);

}  // namespace hecto::cli
