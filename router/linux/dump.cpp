#include "router/linux/dump.hpp"

#include <fmt/format.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hecto::router {
namespace {

// The kernel fills up to 32 KiB a read when the reader offers as much (netlink_dump()).
constexpr size_t kFirstBufferBytes = 64 * 1024;
constexpr size_t kLargestBufferBytes = 4 * 1024 * 1024;  // one link with very many VFs

#ifndef RTEXT_FILTER_SKIP_STATS
#define RTEXT_FILTER_SKIP_STATS (1 << 3)
#endif

uint32_t key_of(const Route& route) {
  const auto& bytes = route.prefix.address.bytes;
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void put_family_header(nlmsghdr* header, const DumpPhase& phase) {
  switch (phase.kind) {
    case MessageKind::kLink: {
      auto* link = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg)));
      link->ifi_family = phase.family;
      mnl_attr_put_u32(header, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
      break;
    }
    case MessageKind::kAddress: {
      auto* address =
          static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifaddrmsg)));
      address->ifa_family = phase.family;
      break;
    }
    case MessageKind::kNextHop: {
      auto* object = static_cast<nhmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(nhmsg)));
      object->nh_family = phase.family;
      break;
    }
    case MessageKind::kRule: {
      auto* rule =
          static_cast<fib_rule_hdr*>(mnl_nlmsg_put_extra_header(header, sizeof(fib_rule_hdr)));
      rule->family = phase.family;
      break;
    }
    case MessageKind::kBridgeVlan: {
      auto* vlan =
          static_cast<br_vlan_msg*>(mnl_nlmsg_put_extra_header(header, sizeof(br_vlan_msg)));
      vlan->family = phase.family;
      break;
    }
    case MessageKind::kFdb:
    case MessageKind::kNeighbor: {
      auto* neighbor = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ndmsg)));
      neighbor->ndm_family = phase.family;
      break;
    }
    case MessageKind::kSa:
    case MessageKind::kPolicy:
      break;  // xfrm_dump_sa() wants attributes alone, and none is all
    default: {
      auto* route = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(rtmsg)));
      route->rtm_family = phase.family;
      route->rtm_protocol = phase.protocol;
      if (phase.table != 0) mnl_attr_put_u32(header, RTA_TABLE, phase.table);
      if (phase.device != 0) mnl_attr_put_u32(header, RTA_OIF, static_cast<uint32_t>(phase.device));
      break;
    }
  }
}

}  // namespace

std::vector<DumpPhase> dump_plan() {
  std::vector<DumpPhase> plan{{MessageKind::kLink, RTM_GETLINK, AF_UNSPEC, 0},
                              {MessageKind::kBridgeVlan, RTM_GETVLAN, AF_BRIDGE, 0},
                              {MessageKind::kFdb, RTM_GETNEIGH, AF_BRIDGE, 0},
                              {MessageKind::kAddress, RTM_GETADDR, AF_INET, 0},
                              {MessageKind::kAddress, RTM_GETADDR, AF_INET6, 0},
                              {MessageKind::kNextHop, RTM_GETNEXTHOP, AF_UNSPEC, 0},
                              {MessageKind::kRule, RTM_GETRULE, AF_INET, 0},
                              {MessageKind::kRule, RTM_GETRULE, AF_INET6, 0}};
  for (const auto& [kind, family] :
       {std::pair{MessageKind::kRoute4, AF_INET}, std::pair{MessageKind::kRoute6, AF_INET6}}) {
    plan.push_back({kind, RTM_GETROUTE, static_cast<uint8_t>(family), 0});  // of all tables
  }
  plan.push_back({MessageKind::kLabelRoute, RTM_GETROUTE, AF_MPLS, 0});
  plan.push_back({MessageKind::kNeighbor, RTM_GETNEIGH, AF_INET, 0});
  plan.push_back({MessageKind::kNeighbor, RTM_GETNEIGH, AF_INET6, 0});
  return plan;
}

std::vector<DumpPhase> device_dump_plan(const std::vector<int>& devices) {
  std::vector<DumpPhase> plan{{MessageKind::kNextHop, RTM_GETNEXTHOP, AF_UNSPEC}};
  for (const auto& [kind, family] :
       {std::pair{MessageKind::kRoute4, AF_INET}, std::pair{MessageKind::kRoute6, AF_INET6}}) {
    const auto byte = static_cast<uint8_t>(family);
    plan.push_back({kind, RTM_GETROUTE, byte, RT_TABLE_LOCAL});
    for (const int device : devices) plan.push_back({kind, RTM_GETROUTE, byte, 0, 0, device});
  }
  plan.push_back({MessageKind::kLabelRoute, RTM_GETROUTE, AF_MPLS, 0});
  return plan;
}

void DumpConsistency::begin(MessageKind kind) {
  kind_ = kind;
  removal_ = false;
  lost_ = false;
  stops_.clear();
  removed_.clear();
}

void DumpConsistency::read_stopped_at(const Route& last) {
  if (kind_ == MessageKind::kRoute4) stops_.push_back(key_of(last));
}

void DumpConsistency::removed_meanwhile(const Message& removal) {
  removal_ = true;
  if (kind_ != MessageKind::kRoute4) return;
  if (decode_route(removal, scratch_) == Decoded::kEvent) {
    removed_.push_back(key_of(scratch_.route));
  }
}

bool DumpConsistency::sound() {
  if (kind_ == MessageKind::kSa || kind_ == MessageKind::kPolicy ||
      kind_ == MessageKind::kLabelRoute)
    return !lost_;
  if (kind_ != MessageKind::kRoute4) return !removal_ && !lost_;
  std::sort(stops_.begin(), stops_.end());
  return std::none_of(removed_.begin(), removed_.end(), [this](uint32_t key) {
    return std::binary_search(stops_.begin(), stops_.end(), key);
  });
}

DumpReader::DumpReader(NetlinkSocket socket)
    : socket_(std::move(socket)), buffer_(kFirstBufferBytes) {}

Result<DumpReader> DumpReader::open(const NetworkNamespace& space, int protocol) {
  auto socket = NetlinkSocket::open(space, protocol);
  if (!socket) return tl::unexpected(socket.error());
  DumpReader reader(std::move(*socket));
  reader.filtered_ = reader.socket_.enable(NETLINK_GET_STRICT_CHK);
  return reader;
}

Result<void> DumpReader::start(const DumpPhase& phase) {
  alignas(nlmsghdr) std::array<char, 256> request;
  nlmsghdr* header = mnl_nlmsg_put_header(request.data());
  header->nlmsg_type = phase.type;
  header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  header->nlmsg_seq = ++sequence_;
  put_family_header(header, phase);
  interrupted_ = false;
  finished_ = false;
  final_error_ = 0;
  error_ = {};
  return socket_.send({reinterpret_cast<const uint8_t*>(request.data()), header->nlmsg_len});
}

// The dump is read to its end all the same: the kernel runs one at a time on a socket.
void DumpReader::note_problem(int error_number, const std::string& what) {
  if (error_.error_number != 0) return;
  error_ = Error{fmt::format("netlink: reading the kernel's state: {}", what), error_number};
}

DumpReader::Status DumpReader::finish() {
  switch (final_error_) {
    case 0:
    case ENOENT:
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
      break;
    default:
      note_problem(final_error_, std::strerror(final_error_));
  }
  return error_.error_number == 0 ? Status::kDone : Status::kFailed;
}

void DumpReader::wipe() noexcept {
  explicit_bzero(buffer_.data(), std::min(used_, buffer_.size()));
}

DumpReader::Status DumpReader::read(std::vector<Message>& messages) {
  messages.clear();
  if (finished_) return finish();
  const auto datagram = socket_.receive(buffer_);
  if (datagram.error_number == EAGAIN) return Status::kWait;
  if (datagram.error_number != 0) {
    note_problem(datagram.error_number, std::strerror(datagram.error_number));
    return Status::kMessages;
  }
  used_ = datagram.bytes.size();
  if (datagram.truncated) {
    note_problem(EMSGSIZE, "a message larger than the buffer");
    buffer_.resize(std::min(buffer_.size() * 2, kLargestBufferBytes));
    return Status::kMessages;
  }
  MessageWalker walker(datagram.bytes);
  Message message;
  while (!finished_ && walker.next(message)) {
    if (message.header.nlmsg_seq != sequence_) continue;
    interrupted_ |= (message.header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    switch (message.header.nlmsg_type) {
      case NLMSG_DONE:
      case NLMSG_ERROR:
        finished_ = true;
        final_error_ = -read_pod<int32_t>(message.body).value_or(0);
        break;
      case NLMSG_NOOP:
        break;
      case NLMSG_OVERRUN:
        interrupted_ = true;
        break;
      default:
        messages.push_back(message);
    }
  }
  if (walker.malformed()) note_problem(EBADMSG, "a malformed message");
  return finished_ && messages.empty() ? finish() : Status::kMessages;
}

}  // namespace hecto::router
