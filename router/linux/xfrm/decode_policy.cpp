#include "router/linux/xfrm/decode_policy.hpp"

#include "router/linux/xfrm/fields.hpp"

namespace hecto::router {
namespace {

using detail::attributes_behind;
using detail::needs_mark;
using detail::read_mode;
using detail::read_selector;
using detail::refuse;
using detail::take;
using detail::xfrm_address;

struct PolicyAttributes {
  Bytes templates;
  std::optional<xfrm_mark> mark;
  uint8_t type = XFRM_POLICY_TYPE_MAIN;
  std::optional<xfrm_userpolicy_info> whole;  // of a removal
  bool labelled = false;
};

bool read_policy_attributes(Bytes bytes, PolicyAttributes& seen, IpsecPolicy& out) {
  AttributeWalker walker(bytes);
  Attribute attribute;
  while (walker.next(attribute)) {
    bool sound = true;
    switch (attribute.type) {
      case XFRMA_TMPL:
        seen.templates = attribute.payload;
        sound = attribute.payload.size() % sizeof(xfrm_user_tmpl) == 0;
        break;
      case XFRMA_MARK:
        seen.mark = read_pod<xfrm_mark>(attribute.payload);
        sound = seen.mark.has_value();
        break;
      case XFRMA_POLICY_TYPE: {
        const auto type = read_pod<xfrm_userpolicy_type>(attribute.payload);
        sound = type.has_value();
        if (type) seen.type = type->type;
        break;
      }
      case XFRMA_POLICY:
        seen.whole = read_pod<xfrm_userpolicy_info>(attribute.payload);
        sound = seen.whole.has_value();
        break;
      case XFRMA_IF_ID:
        sound = take(attribute.payload, out.if_id);
        break;
      case XFRMA_SEC_CTX:
        seen.labelled = true;
        break;
      default:
        break;
    }
    if (!sound) return false;
  }
  return !walker.malformed();
}

std::optional<PolicyDirection> read_direction(uint8_t direction) {
  switch (direction) {
    case XFRM_POLICY_OUT:
      return PolicyDirection::kOut;
    case XFRM_POLICY_IN:
      return PolicyDirection::kIn;
    case XFRM_POLICY_FWD:
      return PolicyDirection::kForward;
    default:
      return std::nullopt;  // of one socket: the IKE daemon's own
  }
}

// kUnsupported: nothing of ours can do what the template asks.
XfrmDecoded read_template(Bytes templates, IpsecPolicy& out, std::string& why) {
  if (templates.size() != sizeof(xfrm_user_tmpl)) {
    return refuse(why, "a policy with several templates");
  }
  const auto from = *read_pod<xfrm_user_tmpl>(templates);
  if (from.id.proto != IPPROTO_ESP) return refuse(why, "a policy that asks for AH or IPComp");
  const auto mode = read_mode(from.mode);
  if (!mode) return refuse(why, "a policy with a mode other than tunnel and transport");
  const auto source = xfrm_address(&from.saddr, from.family);
  const auto destination = xfrm_address(&from.id.daddr, from.family);
  if (!source || !destination) return XfrmDecoded::kMalformed;
  PolicyTemplate result;
  result.source = *source;
  result.destination = *destination;
  result.reqid = from.reqid;
  result.spi = Spi(ntohl(from.id.spi));
  result.mode = *mode;
  result.optional = from.optional != 0;
  out.protection = result;
  return XfrmDecoded::kEvent;
}

XfrmDecoded read_action(const xfrm_userpolicy_info& info, const PolicyAttributes& seen,
                        IpsecPolicy& out, std::string& why) {
  out.protection.reset();
  if (info.sel.ifindex != 0) return refuse(why, "a policy for one interface");
  if (seen.labelled) return refuse(why, "a policy with a security label");
  if (info.action == XFRM_POLICY_BLOCK) {
    out.action = PolicyAction::kDiscard;
    return XfrmDecoded::kEvent;
  }
  if (seen.templates.empty()) {
    out.action = PolicyAction::kBypass;
    return XfrmDecoded::kEvent;
  }
  out.action = PolicyAction::kProtect;
  return read_template(seen.templates, out, why);
}

}  // namespace

XfrmDecoded decode_policy(const Message& message, IpsecPolicy& out, std::string& why) {
  const auto info = read_pod<xfrm_userpolicy_info>(message.body);
  if (!info) return XfrmDecoded::kMalformed;
  out = IpsecPolicy{};
  why.clear();
  const auto direction = read_direction(info->dir);
  if (!direction) return XfrmDecoded::kIgnored;
  out.direction = *direction;
  out.priority = info->priority;
  out.index = info->index;
  PolicyAttributes seen;
  if (!read_selector(info->sel, AF_UNSPEC, out.selector) ||
      !read_policy_attributes(attributes_behind<xfrm_userpolicy_info>(message), seen, out)) {
    return XfrmDecoded::kMalformed;
  }
  if (seen.type != XFRM_POLICY_TYPE_MAIN) return refuse(why, "a sub-policy");
  if (seen.mark && needs_mark(*seen.mark)) return refuse(why, "a policy for a mark");
  const XfrmDecoded action = read_action(*info, seen, out, why);
  if (action != XfrmDecoded::kUnsupported) return action;
  out.action = PolicyAction::kDiscard;
  return XfrmDecoded::kStandIn;
}

XfrmDecoded decode_policy_removed(const Message& message, IpsecPolicy& out) {
  out = IpsecPolicy{};
  PolicyAttributes seen;
  xfrm_userpolicy_info info{};
  Bytes attributes;
  if (message.header.nlmsg_type == XFRM_MSG_POLEXPIRE) {
    const auto expired = read_pod<xfrm_user_polexpire>(message.body);
    if (!expired) return XfrmDecoded::kMalformed;
    if (expired->hard == 0) return XfrmDecoded::kIgnored;
    info = expired->pol;
    attributes = attributes_behind<xfrm_user_polexpire>(message);
  } else {
    const auto id = read_pod<xfrm_userpolicy_id>(message.body);
    if (!id) return XfrmDecoded::kMalformed;
    info.sel = id->sel;
    info.index = id->index;
    info.dir = id->dir;
    attributes = attributes_behind<xfrm_userpolicy_id>(message);
  }
  if (!read_policy_attributes(attributes, seen, out)) return XfrmDecoded::kMalformed;
  if (seen.whole) info = *seen.whole;  // a policy removed by its index is named only here
  const auto direction = read_direction(info.dir);
  if (!direction || seen.type != XFRM_POLICY_TYPE_MAIN) return XfrmDecoded::kIgnored;
  if (seen.mark && needs_mark(*seen.mark)) return XfrmDecoded::kIgnored;
  out.direction = *direction;
  out.priority = info.priority;
  out.index = info.index;
  return read_selector(info.sel, AF_UNSPEC, out.selector) ? XfrmDecoded::kEvent
                                                          : XfrmDecoded::kMalformed;
}

XfrmDecoded decode_policies_flushed(const Message& message) {
  PolicyAttributes seen;
  IpsecPolicy ignored;
  if (!read_policy_attributes(message.body, seen, ignored)) return XfrmDecoded::kMalformed;
  return seen.type == XFRM_POLICY_TYPE_MAIN ? XfrmDecoded::kEvent : XfrmDecoded::kIgnored;
}

}  // namespace hecto::router
