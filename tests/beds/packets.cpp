#include "tests/beds/packets.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace hecto::router::test {

rte_mempool* pool() {
  static rte_mempool* const pool = [] {
    std::string prefix = "--file-prefix=hecto-test-" + std::to_string(getpid());
    std::vector<std::string> arguments = {"test",           "--no-huge",    "-m", "64",
                                          "--no-pci",       prefix,         "-l", "0",
                                          "--no-telemetry", "--log-level=3"};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
      std::fprintf(stderr, "DPDK did not start: %s\n", rte_strerror(rte_errno));
      std::abort();
    }
    return rte_pktmbuf_pool_create("test", 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  }();
  return pool;
}

unsigned mbufs_in_use() {
  return rte_mempool_in_use_count(pool());
}

uint16_t full_checksum(const uint8_t* header, unsigned bytes) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < bytes; i += 2) sum += load16_native(header + i);
  while (sum >> 16 != 0) sum = (sum >> 16) + (sum & 0xffff);
  return static_cast<uint16_t>(~sum);
}

void fix_checksum(Frame& frame, unsigned l2_length) {
  uint8_t* ip = frame.data() + l2_length;
  ip[10] = ip[11] = 0;
  const uint16_t checksum = full_checksum(ip, (ip[0] & 0xf) * 4u);
  std::memcpy(ip + 10, &checksum, 2);
}

namespace {

Frame l2(const FrameOptions& options, uint16_t ether_type) {
  Frame frame(options.to.begin(), options.to.end());
  frame.insert(frame.end(), options.from.begin(), options.from.end());
  const auto put = [&frame](const void* p, size_t n) {
    const auto* b = static_cast<const uint8_t*>(p);
    frame.insert(frame.end(), b, b + n);
  };
  uint16_t type = options.service ? kEtherServiceVlan : kEtherVlan;
  for (const uint16_t vlan : {options.outer_vlan, options.vlan}) {
    if (vlan == 0) continue;
    const uint16_t tag[2] = {type, __builtin_bswap16(vlan)};
    put(tag, sizeof tag);
    type = kEtherVlan;
  }
  put(&ether_type, 2);
  return frame;
}

}  // namespace

Frame ipv4_frame(const FrameOptions& options) {
  Frame frame = l2(options, kEtherIpv4);
  const auto l2_length = static_cast<unsigned>(frame.size());
  const auto total = static_cast<uint16_t>(kIpv4Bytes + options.payload_bytes);
  const uint8_t start[12] = {0x45,
                             0,
                             static_cast<uint8_t>(total >> 8),
                             static_cast<uint8_t>(total),
                             0,
                             1,
                             static_cast<uint8_t>(options.flags_and_offset >> 8),
                             static_cast<uint8_t>(options.flags_and_offset),
                             options.ttl,
                             options.protocol,
                             0,
                             0};
  frame.insert(frame.end(), start, start + 12);
  for (const char* text : {options.source, options.destination}) {
    const uint32_t address = __builtin_bswap32(lookup::Ipv4Address::parse(text)->value);
    const auto* b = reinterpret_cast<const uint8_t*>(&address);
    frame.insert(frame.end(), b, b + 4);
  }
  for (unsigned i = 0; i < options.payload_bytes; ++i) frame.push_back(static_cast<uint8_t>(i));
  fix_checksum(frame, l2_length);
  return frame;
}

Frame ipv6_frame(FrameOptions options) {
  if (std::strchr(options.source, ':') == nullptr) options.source = "2001:db8:1::2";
  if (std::strchr(options.destination, ':') == nullptr) options.destination = "2001:db8:2::9";
  Frame frame = l2(options, kEtherIpv6);
  const uint8_t start[8] = {0x60,
                            0,
                            0,
                            0,
                            static_cast<uint8_t>(options.payload_bytes >> 8),
                            static_cast<uint8_t>(options.payload_bytes),
                            options.protocol,
                            options.ttl};
  frame.insert(frame.end(), start, start + 8);
  for (const char* text : {options.source, options.destination}) {
    const auto address = *lookup::Ipv6Address::parse(text);
    frame.insert(frame.end(), address.bytes.begin(), address.bytes.end());
  }
  for (unsigned i = 0; i < options.payload_bytes; ++i) frame.push_back(static_cast<uint8_t>(i));
  return frame;
}

rte_mbuf* packet(const Frame& frame, const std::vector<size_t>& cuts) {
  rte_mbuf* head = nullptr;
  size_t from = 0;
  std::vector<size_t> ends = cuts;
  ends.push_back(frame.size());
  for (const size_t end : ends) {
    rte_mbuf* segment = rte_pktmbuf_alloc(pool());
    char* room = rte_pktmbuf_append(segment, static_cast<uint16_t>(end - from));
    if (end > from) std::memcpy(room, frame.data() + from, end - from);
    if (head == nullptr)
      head = segment;
    else
      rte_pktmbuf_chain(head, segment);
    from = end;
  }
  return head;
}

Frame bytes_of(const rte_mbuf* packet) {
  Frame out;
  for (const rte_mbuf* s = packet; s != nullptr; s = s->next) {
    const auto* b = rte_pktmbuf_mtod(s, const uint8_t*);
    out.insert(out.end(), b, b + s->data_len);
  }
  return out;
}

Bed::Bed() {
  PortView& view = snapshot.ports[0];
  view.present = true;
  std::memcpy(&view.mac, kPortMac.data(), 6);
  view.untagged = 0;
  auto vlans = std::make_shared<std::array<InterfaceId, 4096>>();
  vlans->fill(kNoInterface);
  (*vlans)[100] = 1;
  view.tagged.vlans = vlans;
  snapshot.interfaces[0].up = snapshot.interfaces[1].up = true;
  snapshot.features = kFeatureVlan;
}

Bed Bed::with_two_tags() {
  Bed bed;
  const std::vector<TagTable::Entry> up = {
      {{10, 100, false}, 2}, {{100, 0, true}, 3}, {{10, 100, true}, 4}};
  const std::vector<TagTable::Entry> down = {{{20, 100, true}, 5}};
  bed.port().tagged.stacked = std::make_shared<const TagTable>(up);
  bed.port().down.stacked = std::make_shared<const TagTable>(down);
  for (const unsigned id : {2, 3, 4}) bed.snapshot.interfaces[id].up = true;
  return bed;
}

}  // namespace hecto::router::test
