// The IPsec mirror: tells an IpsecEvents what SAs and policies a namespace has, first all of them,
// the older first, then every change (mirror_base.hpp). charon, `ip xfrm` or whoever else puts them
// there need not know.
//
// What hectod cannot do is not mirrored, and told once for each sort of it: packets of such an SA
// find none, and a policy that asks for such a thing is mirrored as one that discards, so that
// nothing leaves in clear that the kernel would have protected.
//
// Control thread only: process() and everything that it calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "router/ipsec/events.hpp"
#include "router/linux/mirror_base.hpp"
#include "router/linux/xfrm/decoded.hpp"

namespace hecto::router {

class XfrmMirror final : public MirrorBase {
 public:
  // One line for the operator, the first time that something cannot be mirrored.
  using Tell = std::function<void(const std::string& line)>;

  // `space` and `events` must outlive the mirror. EPROTONOSUPPORT: the kernel has no XFRM. Needs CAP_NET_ADMIN
  // over the namespace. The first resync starts with the first process().
  static Result<std::unique_ptr<XfrmMirror>> open(const NetworkNamespace& space,
                                                  IpsecEvents& events, Tell tell,
                                                  const MirrorOptions& options = {});

  // How often each sort was seen; at most kMaxSorts of them.
  const std::map<std::string, uint64_t>& unsupported() const noexcept { return unsupported_; }
  static constexpr size_t kMaxSorts = 64;

 private:
  XfrmMirror(const NetworkNamespace& space, IpsecEvents& events, Tell tell,
             const MirrorOptions& options, Sockets&& sockets);
  static Result<Sockets> open_sockets(const NetworkNamespace& space, uint32_t buffer_bytes);

  MessageKind kind(const Message& message) const noexcept override {
    return xfrm_kind_of(message.header.nlmsg_type);
  }
  bool removes(const Message&) const noexcept override { return false; }  // upset no dump
  void deliver(const Message& message, bool live) override;
  XfrmDecoded deliver_sa(const Message& message);
  XfrmDecoded deliver_policy(const Message& message);
  void note(const std::string& line);
  void on_resync_begin(const std::string&) override { events_.ipsec_resync_begin(); }
  void on_resync_end() override { events_.ipsec_resync_end(); }

  IpsecEvents& events_;
  const Tell tell_;
  std::map<std::string, uint64_t> unsupported_;
  std::string why_;
};

}  // namespace hecto::router
