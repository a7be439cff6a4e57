#include "router/linux/mirror.hpp"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

#ifndef RTNLGRP_NEXTHOP
constexpr unsigned kNextHopGroup = 32;
#else
constexpr unsigned kNextHopGroup = RTNLGRP_NEXTHOP;
#endif

constexpr unsigned kGroups[] = {RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,  RTNLGRP_NEIGH};

}  // namespace

NetlinkMirror::NetlinkMirror(LinuxEvents& events, const MirrorOptions& options, NetlinkSocket live,
                             DumpReader dump)
    : events_(events),
      options_(options),
      live_(std::move(live)),
      dump_(std::move(dump)),
      plan_(dump_plan(dump_.filtered())) {}

Result<std::unique_ptr<NetlinkMirror>> NetlinkMirror::open(const NetworkNamespace& space,
                                                           LinuxEvents& events,
                                                           const MirrorOptions& options) {
  auto live = NetlinkSocket::open(space);
  if (!live) return tl::unexpected(live.error());
  live->set_receive_buffer(options.receive_buffer_bytes);
  for (const unsigned group : kGroups) {
    if (auto done = live->subscribe(group); !done) return tl::unexpected(done.error());
  }
  // Linux before 5.3 has no next-hop objects.
  static_cast<void>(live->subscribe(kNextHopGroup));
  auto dump = DumpReader::open(space);
  if (!dump) return tl::unexpected(dump.error());

  std::unique_ptr<NetlinkMirror> mirror(
      new NetlinkMirror(events, options, std::move(*live), std::move(*dump)));
  if (auto done = mirror->watch(); !done) return tl::unexpected(done.error());
  mirror->request_resync("start");
  return mirror;
}

Result<void> NetlinkMirror::watch() {
  timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  poll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!timer_ || !poll_) return fail(std::string("netlink: ") + std::strerror(errno), errno);
  for (const int fd : {live_.fd(), dump_.fd(), timer_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return fail(std::string("netlink: ") + std::strerror(errno), errno);
    }
  }
  return {};
}

Result<size_t> NetlinkMirror::process(size_t budget) {
  uint64_t expirations = 0;
  static_cast<void>(!::read(timer_.get(), &expirations, sizeof expirations));
  budget = std::max<size_t>(budget, 2);
  const size_t live_share = state_ == State::kIdle ? budget : budget / 2;
  const auto live = receive_live(live_share);
  if (!live) return live;
  const auto rest = advance(budget - std::min(budget - 1, *live));
  if (!rest) return rest;
  arm_timer();
  return *live + *rest;
}

Result<size_t> NetlinkMirror::receive_live(size_t budget) {
  drained_ = false;
  size_t done = 0;
  while (done < budget) {
    const int received = batch_.receive(live_.fd(), budget - done);
    if (received == -EAGAIN) {
      drained_ = true;
      discarding_ = false;
      break;
    }
    if (received == -ENOBUFS) {
      overrun("the kernel dropped netlink notifications");
      ++done;
      continue;
    }
    if (received < 0) {
      return fail(fmt::format("netlink: {}", std::strerror(-received)), -received);
    }
    for (size_t slot = 0; slot < static_cast<size_t>(received); ++slot) {
      if (batch_.truncated(slot)) {
        overrun("a netlink notification was larger than expected");
      } else {
        take_datagram(batch_.bytes(slot));
      }
    }
    done += static_cast<size_t>(received);
  }
  return done;
}

// After an overrun what is still queued is older than the gap: the dump that follows knows better.
void NetlinkMirror::overrun(const std::string& why) {
  ++stats_.overruns;
  discarding_ = true;
  consistency_.events_lost();
  const auto now = Clock::now();
  want_resync(why, std::max(now, resync_ended_ + stats_.last_resync));
}

void NetlinkMirror::take_datagram(Bytes datagram) {
  MessageWalker walker(datagram);
  Message message;
  while (walker.next(message)) {
    ++stats_.messages;
    if (discarding_) continue;
    const MessageKind kind = kind_of(message);
    const bool dumping = state_ != State::kIdle && state_ != State::kPausing;
    if (dumping && kind == plan_[phase_].kind) {
      hold(walker.raw(), message);
    } else {
      deliver(message, true);
    }
  }
  if (walker.malformed()) ++stats_.malformed;
}

void NetlinkMirror::hold(Bytes raw, const Message& message) {
  if (held_.size() + raw.size() > options_.held_limit_bytes) {
    overrun("more changes than can wait for a dump");
    return;
  }
  if (state_ != State::kReplaying && is_removal(message)) consistency_.removed_meanwhile(message);
  held_.insert(held_.end(), raw.begin(), raw.end());
  held_.resize(NLMSG_ALIGN(held_.size()));
  stats_.held_peak_bytes = std::max<uint64_t>(stats_.held_peak_bytes, held_.size());
}

void NetlinkMirror::deliver(const Message& message, bool live) {
  Decoded decoded = Decoded::kIgnored;
  switch (kind_of(message)) {
    case MessageKind::kLink:
      decoded = decode_link(message, link_);
      if (decoded == Decoded::kEvent) deliver_link(live);
      break;
    case MessageKind::kAddress:
      decoded = decode_address(message, address_);
      if (decoded != Decoded::kEvent) break;
      events_.address(address_.address, address_.removed);
      // fib_sync_down_addr(), fib_disable_ip(): IPv4 routes that needed it go without a word.
      if (live && address_.removed && address_.address.address.address.family == Family::kIpv4) {
        resync_soon("an address was removed");
      }
      break;
    case MessageKind::kNeighbor:
      decoded = decode_neighbor(message, neighbor_);
      if (decoded == Decoded::kEvent) events_.neighbor(neighbor_.neighbor, neighbor_.removed);
      break;
    case MessageKind::kNextHop:
      decoded = decode_nexthop(message, nexthop_);
      if (decoded != Decoded::kEvent) break;
      events_.nexthop_object(nexthop_.object, nexthop_.removed);
      // __remove_nexthop_fib(): so do the IPv4 routes that named it.
      if (live && nexthop_.removed) resync_soon("a next-hop object was removed");
      break;
    case MessageKind::kRoute4:
    case MessageKind::kRoute6:
      decoded = decode_route(message, route_);
      if (decoded == Decoded::kEvent) events_.route(route_.route, route_.removed, route_.replace);
      break;
    case MessageKind::kOther:
      break;
  }
  if (decoded == Decoded::kIgnored) ++stats_.ignored;
  if (decoded == Decoded::kMalformed) ++stats_.malformed;
}

// fib_sync_down_dev(), fib_sync_up(), fib6_ifdown(), nexthop_flush_dev(): routes, next-hop objects
// and the dead flags of multipath legs follow a link's state without a word.
void NetlinkMirror::deliver_link(bool live) {
  const LinuxLink& link = link_.link;
  events_.link(link, link_.removed);
  const LinkState state{link.up, link.carrier};
  const auto known = links_.find(link.ifindex);
  const bool changed = link_.removed || (known != links_.end() && known->second != state);
  if (live && changed) resync_soon(fmt::format("link {} changed its state", link.name));
  if (link_.removed) {
    links_.erase(link.ifindex);
  } else {
    links_[link.ifindex] = state;
  }
}

void NetlinkMirror::request_resync(const std::string& why) {
  want_resync(why, Clock::now());
  arm_timer();
}

// A storm of silent changes costs at most half of control's time: the pause after a resync is as
// long as the resync was.
void NetlinkMirror::resync_soon(const std::string& why) {
  const auto earliest = resync_ended_ + stats_.last_resync;
  want_resync(why, std::max(Clock::now() + options_.debounce, earliest));
}

void NetlinkMirror::want_resync(const std::string& why, Clock::time_point due) {
  if (!wanted_) {
    wanted_ = Wanted{why, due};
  } else {
    wanted_->due = std::min(wanted_->due, due);
  }
}

}  // namespace hecto::router
