// Who can be measured side by side: each peer says which programs it needs, and how it is started
// on two given ports and one given core. Starting and stopping are compare.cpp's.
//
//   generator  a ──── left   peer   right ──── b  generator
//                     02:…:00:01      next hop 02:…:02:00
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lookup/prefix.hpp"

namespace hecto::bench {

enum class PortKind : uint8_t {
  kMemif,  // the peer serves left.sock and right.sock in its folder
  kVeth,   // interfaces `left` and `right` in a network namespace, where the peer runs
};

inline constexpr const char* kPeerMac = "02:00:00:00:00:01";     // of its left port
inline constexpr const char* kNextHopMac = "02:00:00:00:02:00";  // behind its right one

// What a peer is given.
struct PeerBed {
  PortKind ports = PortKind::kMemif;
  std::filesystem::path folder;  // of its own, empty
  unsigned control_cpu = 0, worker_cpu = 0;
  unsigned burst = 64;
  bool hugepages = false;
  lookup::Family family = lookup::Family::kIpv4;
  std::vector<std::string> prefixes;  // all with the next hop behind the right port
  std::string next_hop() const;       // its address
};

struct Launch {
  std::vector<std::string> words;               // none: no process, `after` sets up the kernel
  std::vector<std::vector<std::string>> after;  // once it runs and its files are there
  std::vector<std::filesystem::path> files;     // that tell that it is ready for `after`
};

// What a peer makes of a packet: the stream's `expect` in the generator's file.
enum class Forwards : uint8_t {
  kRouter,   // TTL counted down, MAC address of the next hop
  kRewrite,  // MAC address alone
  kWire,     // nothing
};

struct Peer {
  std::string name;
  std::string what;                   // for the table: what it does with a packet
  std::vector<std::string> programs;  // all are needed
  std::string package;                // what brings them
  std::vector<PortKind> ports;
  bool tried;           // by us, on a machine that had it
  Forwards ipv4, ipv6;  // what it does with each family
  // `programs` are their paths. Writes its files into the bed's folder.
  std::function<Launch(const PeerBed& bed, const std::vector<std::string>& programs)> launch;
};

const std::vector<Peer>& all_peers();

// The paths of a peer's programs; of hectod that beside this program first. An error names what is
// not there and the package.
Result<std::vector<std::string>> find_peer(const Peer& peer);

// `count` prefixes: /24 from 16.0.0.0 on, /32 from 2a00:: on.
std::vector<std::string> compared_prefixes(lookup::Family family, unsigned count);

}  // namespace hecto::bench
