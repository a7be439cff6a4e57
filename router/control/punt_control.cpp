#include "router/control/punt_control.hpp"

#include <algorithm>
#include <cerrno>

#include "router/control/notes.hpp"
#include "router/dataplane/punt/sessions.hpp"

namespace hecto::router {
namespace {

constexpr std::chrono::milliseconds kPeriod{1000}, kSoonest{200};

SocketAddress socket_address(const lookup::IpAddress& address) {
  return {address.family == lookup::Family::kIpv6, address.bytes};
}

}  // namespace

void KnownPeers::follow(const std::vector<SocketEntry>& sockets, Seconds now) {
  constexpr uint8_t kTcp = 6;
  for (const SocketEntry& socket : sockets) {
    const bool ours = is_session_port(socket.remote_port);
    if (socket.protocol != kTcp || socket.state == SocketEntry::State::kListening) continue;
    if (!ours && !is_session_port(socket.local_port)) continue;
    const auto found = peers_.find(socket.remote);
    if (found == peers_.end() && peers_.size() >= PuntSessions::kMostPeers) continue;
    Peer& peer = found == peers_.end() ? peers_[socket.remote] : found->second;
    // Not the same connection as the one before, where there was a pause.
    if (now - peer.seen > kProof_s) peer.since = now;
    peer.seen = now;
    peer.known |= ours || now - peer.since >= kProof_s;
  }
  std::erase_if(peers_, [&](const auto& entry) {
    const Peer& peer = entry.second;
    return now - peer.seen > (peer.known ? kMemory_s : kProof_s);
  });
}

std::vector<SocketAddress> KnownPeers::all(const std::vector<lookup::IpAddress>& written) const {
  std::vector<SocketAddress> list;
  for (const lookup::IpAddress& address : written) list.push_back(socket_address(address));
  for (const auto& [address, peer] : peers_)
    if (peer.known && list.size() < PuntSessions::kMostPeers) list.push_back(address);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

PuntControl::PuntControl(const NetworkNamespace& space, ForwardingPlane& plane, Notes& notes)
    : plane_(plane), notes_(notes) {
  auto sockets = LocalSockets::open(space);
  if (sockets)
    sockets_.emplace(std::move(*sockets));
  else
    notes_.add("punt: " + sockets.error().message +
               "; what is for the router itself has no classes sessions and closed");
}

void PuntControl::tick(const config::Config& config) {
  if (!sockets_) return;
  const auto now = Clock::now();
  closed_ |= sockets_->some_closed();
  if (now - read_at_ < (closed_ ? kSoonest : kPeriod)) return;
  read_at_ = now;
  closed_ = false;
  auto sockets = sockets_->read();
  if (!sockets) {
    if (!failed_) notes_.add("punt: " + sockets.error().message + "; what is known of them stays");
    failed_ = true;
    if (sockets.error().error_number == ENOENT) sockets_.reset();
    return;
  }
  failed_ = false;
  peers_.follow(*sockets,
                static_cast<KnownPeers::Seconds>(
                    std::chrono::duration_cast<std::chrono::seconds>(now - started_).count()) +
                    KnownPeers::kMemory_s);
  auto peers = peers_.all(config.punt_peers);
  if (published_ && *sockets == last_sockets_ && peers == last_peers_) return;
  published_ = true;
  plane_.set_punt_sessions(std::make_shared<const PuntSessions>(*sockets, peers));
  last_sockets_ = std::move(*sockets);
  last_peers_ = std::move(peers);
}

}  // namespace hecto::router
