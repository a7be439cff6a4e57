#include "bench/compare/peer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "bench/lib/child.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kSides[] = {"left", "right"};
constexpr const char* kRightMac = "02:00:00:00:00:02";

bool is4(const PeerBed& bed) {
  return bed.family == lookup::Family::kIpv4;
}

std::string address(const PeerBed& bed, unsigned side) {
  if (is4(bed)) return side == 0 ? "192.0.2.1/24" : "198.51.100.1/24";
  return fmt::format("2001:db8:{}::1/64", side + 1);
}

unsigned socket_of(unsigned cpu) {
  for (unsigned node = 0; node < 64; ++node)
    if (fs::exists(fmt::format("/sys/devices/system/cpu/cpu{}/node{}", cpu, node))) return node;
  return 0;
}

// A DPDK device of the bed's ports, for a program that takes --vdev.
std::string vdev(const PeerBed& bed, unsigned side) {
  if (bed.ports == PortKind::kVeth)
    return fmt::format("net_af_packet{},iface={},blocksz=4096,framesz=2048,framecnt=1024", side,
                       kSides[side]);
  return fmt::format("net_memif{},role=server,id=0,socket={}/{}.sock,socket-abstract=no,mac={}",
                     side, bed.folder.string(), kSides[side], side == 0 ? kPeerMac : kRightMac);
}

std::vector<fs::path> sockets(const PeerBed& bed) {
  if (bed.ports == PortKind::kVeth) return {};
  return {bed.folder / "left.sock", bed.folder / "right.sock"};
}

// Of any DPDK application: one core for its main loop, one that forwards.
Words eal_words(const PeerBed& bed, const std::string& program, const char* name) {
  Words words = {program,
                 "-l",
                 fmt::format("{},{}", bed.control_cpu, bed.worker_cpu),
                 fmt::format("--main-lcore={}", bed.control_cpu),
                 "--no-pci",
                 "--no-telemetry",
                 fmt::format("--file-prefix=hecto-compare-{}-{}", name, getpid()),
                 "--vdev=" + vdev(bed, 0),
                 "--vdev=" + vdev(bed, 1)};
  // Hugepages need no mounted hugetlbfs that way.
  if (bed.hugepages)
    words.push_back("--in-memory");
  else
    words.insert(words.end(), {"--no-huge", "-m", "512"});
  return words;
}

Launch hecto(const PeerBed& bed, const Words& programs) {
  std::ofstream yaml(bed.folder / "hecto.yaml");
  yaml << fmt::format(
      "linux: off\nworkers: {{{}: [{}]}}\ncontrol_core: {}\nidle: poll\nburst: {}\n"
      "api: {{socket: {}/api.sock}}\nroute_files: [routes.txt]\nports:\n",
      socket_of(bed.worker_cpu), bed.worker_cpu, bed.control_cpu, bed.burst, bed.folder.string());
  for (unsigned side = 0; side < 2; ++side)
    yaml << fmt::format("  {0}: {{device: \"{1}\", addresses: [\"{2}\"]}}\n", kSides[side],
                        bed.ports == PortKind::kVeth ? kSides[side] : vdev(bed, side),
                        address(bed, side));
  yaml << fmt::format("neighbors:\n  - {{address: \"{}\", interface: right, mac: \"{}\"}}\n",
                      bed.next_hop(), kNextHopMac);
  std::ofstream routes(bed.folder / "routes.txt");
  for (const std::string& prefix : bed.prefixes)
    routes << prefix << " via " << bed.next_hop() << '\n';
  Launch launch{{programs[0], bed.folder / "hecto.yaml"}, {}, sockets(bed)};
  launch.files.push_back(bed.folder / "api.sock");
  return launch;
}

Launch testpmd(const PeerBed& bed, const Words& programs, const char* mode) {
  Words words = eal_words(bed, programs[0], "testpmd");
  words.insert(words.end(), {"--", "--nb-cores=1", fmt::format("--forward-mode={}", mode),
                             fmt::format("--burst={}", bed.burst), "--auto-start", "--no-mlockall",
                             "--disable-link-check", "--total-num-mbufs=32768", "--rxd=1024",
                             "--txd=1024", fmt::format("--eth-peer=1,{}", kNextHopMac)});
  return {words, {}, sockets(bed)};
}

Launch l3fwd(const PeerBed& bed, const Words& programs) {
  // Both files are asked for, whatever is sent.
  std::ofstream rules(bed.folder / "rules"), others(bed.folder / "others");
  for (const std::string& prefix : bed.prefixes) rules << "R" << prefix << " 1\n";
  others << (is4(bed) ? "R2001:db8:9::/48 1\n" : "R203.0.113.0/24 1\n");
  Words words = eal_words(bed, programs[0], "l3fwd");
  words.insert(
      words.end(),
      {"--", "-p", "0x3", "-P", "--parse-ptype", "--relax-rx-offload", "--lookup=lpm",
       fmt::format("--config=(0,0,{0}),(1,0,{0})", bed.worker_cpu),
       fmt::format("--eth-dest=1,{}", kNextHopMac),
       fmt::format("--rule_ipv4={}/{}", bed.folder.string(), is4(bed) ? "rules" : "others"),
       fmt::format("--rule_ipv6={}/{}", bed.folder.string(), is4(bed) ? "others" : "rules")});
  return {words, {}, sockets(bed)};
}

Launch vpp(const PeerBed& bed, const Words& programs) {
  const std::string folder = bed.folder.string();
  std::ofstream(bed.folder / "startup.conf") << fmt::format(
      "unix {{ nodaemon cli-listen {0}/cli.sock exec {0}/setup }}\n"
      "cpu {{ main-core {1} corelist-workers {2} }}\n"
      "plugins {{ plugin default {{ disable }} plugin memif_plugin.so {{ enable }} }}\n"
      "statseg {{ socket-name {0}/stats.sock }}\n",
      folder, bed.control_cpu, bed.worker_cpu);
  std::ofstream setup(bed.folder / "setup");
  for (unsigned side = 0; side < 2; ++side)
    setup << fmt::format(
        "create memif socket id {0} filename {1}/{2}.sock\n"
        "create interface memif id 0 socket-id {0} hw-addr {3} ring-size 2048 buffer-size 2048 "
        "master\nset interface ip address memif{0}/0 {4}\nset interface state memif{0}/0 up\n",
        side + 1, folder, kSides[side], side == 0 ? kPeerMac : kRightMac, address(bed, side));
  setup << fmt::format("set ip neighbor static memif2/0 {} {}\n", bed.next_hop(), kNextHopMac);
  for (const std::string& prefix : bed.prefixes)
    setup << fmt::format("ip route add {} via {} memif2/0\n", prefix, bed.next_hop());
  return {{programs[0], "-c", folder + "/startup.conf"}, {}, sockets(bed)};
}

Launch grout(const PeerBed& bed, const Words& programs) {
  const std::string folder = bed.folder.string();
  std::ofstream setup(bed.folder / "setup");
  setup << fmt::format("affinity cpus set control {} datapath {}\n", bed.control_cpu,
                       bed.worker_cpu);
  for (unsigned side = 0; side < 2; ++side)
    setup << fmt::format(
        "interface add port {0} devargs {1} rxqs 1 qsize 1024\n"
        "address add {2} iface {0}\n",
        kSides[side], vdev(bed, side), address(bed, side));
  setup << fmt::format("nexthop add l3 iface right address {} mac {}\n", bed.next_hop(),
                       kNextHopMac);
  for (const std::string& prefix : bed.prefixes)
    setup << fmt::format("route add {} via {}\n", prefix, bed.next_hop());
  Words words = {programs[0], "-s", folder + "/grout.sock"};
  if (!bed.hugepages) words.push_back("-t");
  return {words,
          {{programs[1], "-s", folder + "/grout.sock", "-xef", folder + "/setup"}},
          {bed.folder / "grout.sock"}};
}

Launch linux_kernel(const PeerBed& bed, const Words& programs) {
  const std::string& ip = programs[0];
  Launch launch;
  const Words family = {ip, is4(bed) ? "-4" : "-6"};
  const auto command = [&](Words words) {
    words.insert(words.begin(), family.begin(), family.end());
    launch.after.push_back(std::move(words));
  };
  launch.after.push_back(
      {programs[1], "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"});
  for (unsigned side = 0; side < 2; ++side)
    command({"address", "add", address(bed, side), "dev", kSides[side]});
  command({"neighbor", "replace", bed.next_hop(), "dev", "right", "lladdr", kNextHopMac});
  std::ofstream batch(bed.folder / "routes");
  for (const std::string& prefix : bed.prefixes)
    batch << fmt::format("route add {} via {}\n", prefix, bed.next_hop());
  command({"-batch", bed.folder / "routes"});
  return launch;
}

}  // namespace

std::string PeerBed::next_hop() const {
  return is4(*this) ? "198.51.100.2" : "2001:db8:2::2";
}

const std::vector<Peer>& all_peers() {
  constexpr auto kMemif = PortKind::kMemif, kVeth = PortKind::kVeth;
  static const std::vector<Peer> peers = {
      {"hecto",
       "routes, all checks",
       {"hectod"},
       "hecto",
       {kMemif, kVeth},
       true,
       Forwards::kRouter,
       Forwards::kRouter,
       hecto},
      {"testpmd-io",
       "moves packets, looks at nothing",
       {"dpdk-testpmd"},
       "dpdk-dev",
       {kMemif, kVeth},
       true,
       Forwards::kWire,
       Forwards::kWire,
       [](const PeerBed& bed, const Words& programs) { return testpmd(bed, programs, "io"); }},
      {"testpmd-mac",
       "writes MAC addresses, no look-up",
       {"dpdk-testpmd"},
       "dpdk-dev",
       {kMemif, kVeth},
       true,
       Forwards::kRewrite,
       Forwards::kRewrite,
       [](const PeerBed& bed, const Words& programs) { return testpmd(bed, programs, "mac"); }},
      {"l3fwd",
       "look-up, one MAC a port, no neighbors; IPv6 without hop limit",
       {"dpdk-l3fwd"},
       "no Debian package; examples/l3fwd of DPDK 24.03 or later",
       {kMemif, kVeth},
       false,
       Forwards::kRouter,
       Forwards::kRewrite,
       l3fwd},
      {"vpp",
       "routes",
       {"vpp"},
       "no Debian package; fd.io's vpp and vpp-plugin-core",
       {kMemif},
       false,
       Forwards::kRouter,
       Forwards::kRouter,
       vpp},
      {"grout",
       "routes",
       {"grout", "grcli"},
       "no Debian package; the project's grout",
       {kMemif, kVeth},
       false,
       Forwards::kRouter,
       Forwards::kRouter,
       grout},
      {"linux",
       "the kernel routes, on the sender's core",
       {"ip", "sysctl"},
       "iproute2, procps",
       {kVeth},
       true,
       Forwards::kRouter,
       Forwards::kRouter,
       linux_kernel}};
  return peers;
}

Result<Words> find_peer(const Peer& peer) {
  Words found;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const std::string& name : peer.programs) {
    auto path = find_program(name);
    if (name == "hectod")
      for (const fs::path& beside :
           {here / "../../../router/hectod", here / "../router/hectod", here / "hectod"})
        if (access(beside.c_str(), X_OK) == 0) path = beside.lexically_normal().string();
    if (!path) return fail(fmt::format("{} is not installed (package: {})", name, peer.package));
    found.push_back(*path);
  }
  return found;
}

std::vector<std::string> compared_prefixes(lookup::Family family, unsigned count) {
  std::vector<std::string> prefixes;
  for (unsigned i = 0; i < count; ++i)
    prefixes.push_back(family == lookup::Family::kIpv4
                           ? fmt::format("{}.{}.{}.0/24", 16 + (i >> 16), (i >> 8) & 255, i & 255)
                           : fmt::format("2a00:{:x}::/32", i & 0xffff));
  return prefixes;
}

}  // namespace hecto::bench
