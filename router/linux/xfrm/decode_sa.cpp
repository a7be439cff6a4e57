#include "router/linux/xfrm/decode_sa.hpp"

#include <linux/udp.h>

#include "router/linux/xfrm/algorithms.hpp"
#include "router/linux/xfrm/fields.hpp"

namespace hecto::router {
namespace {

using detail::attributes_behind;
using detail::needs_mark;
using detail::read_id;
using detail::read_mode;
using detail::read_selector;
using detail::refuse;
using detail::take;
using detail::xfrm_address;

constexpr uint32_t kMaxReplayWindow = XFRMA_REPLAY_ESN_MAX;  // packets
constexpr uint8_t kAnyIpsec = 255;                           // IPSEC_PROTO_ANY

SaLifetime read_lifetime(const xfrm_lifetime_cfg& from) {
  static_assert(XFRM_INF == SaLifetime::kInfinite);
  return {from.soft_byte_limit,          from.hard_byte_limit,
          from.soft_packet_limit,        from.hard_packet_limit,
          from.soft_add_expires_seconds, from.hard_add_expires_seconds,
          from.soft_use_expires_seconds, from.hard_use_expires_seconds};
}

struct ReplayNumbers {
  uint64_t sequence = 0, replay_sequence = 0;
  uint32_t window = 0, words = 0;
};

// The head of a struct xfrm_replay_state_esn; its bitmap follows.
struct WideReplay {
  uint32_t words, oseq, seq, oseq_hi, seq_hi, window;
};
static_assert(sizeof(WideReplay) == sizeof(xfrm_replay_state_esn));

bool read_wide_replay(Bytes payload, ReplayNumbers& out) {
  const auto header = read_pod<WideReplay>(payload);
  if (!header || header->words > kMaxReplayWindow / 32 ||
      payload.size() < sizeof *header + header->words * sizeof(uint32_t) ||
      header->window > header->words * 32) {
    return false;
  }
  out = {uint64_t{header->oseq_hi} << 32 | header->oseq,
         uint64_t{header->seq_hi} << 32 | header->seq, header->window, header->words};
  return true;
}

struct SaAttributes {
  detail::XfrmAlgorithms algorithms;
  std::optional<xfrm_encap_tmpl> encapsulation;
  std::optional<xfrm_mark> mark;
  uint32_t extra_flags = 0;
  bool labelled = false;  // XFRMA_SEC_CTX
  bool wide = false;
  ReplayNumbers replay;
};

bool read_sa_attribute(const Attribute& attribute, SaAttributes& seen, SaState& out) {
  switch (attribute.type) {
    case XFRMA_ALG_AEAD:
      seen.algorithms.aead = attribute.payload;
      return !attribute.payload.empty();
    case XFRMA_ALG_CRYPT:
      seen.algorithms.cipher = attribute.payload;
      return !attribute.payload.empty();
    case XFRMA_ALG_AUTH:
      seen.algorithms.integrity = attribute.payload;
      return !attribute.payload.empty();
    case XFRMA_ALG_AUTH_TRUNC:
      seen.algorithms.truncated = attribute.payload;
      return !attribute.payload.empty();
    case XFRMA_ENCAP:
      seen.encapsulation = read_pod<xfrm_encap_tmpl>(attribute.payload);
      return seen.encapsulation.has_value();
    case XFRMA_MARK:
      seen.mark = read_pod<xfrm_mark>(attribute.payload);
      return seen.mark.has_value();
    case XFRMA_SEC_CTX:
      seen.labelled = true;
      return true;
    case XFRMA_SA_EXTRA_FLAGS:
      return take(attribute.payload, seen.extra_flags);
    case XFRMA_IF_ID:
      return take(attribute.payload, out.if_id);
    case XFRMA_TFCPAD:
      return take(attribute.payload, out.tfc_pad);
    case XFRMA_REPLAY_ESN_VAL:
      seen.wide = true;
      return read_wide_replay(attribute.payload, seen.replay);
    case XFRMA_REPLAY_VAL: {
      const auto replay = read_pod<xfrm_replay_state>(attribute.payload);
      if (!replay) return false;
      if (!seen.wide) seen.replay = {replay->oseq, replay->seq, 0, 0};
      return true;
    }
    default:
      return true;
  }
}

// What a state is besides its algorithms.
XfrmDecoded apply(const xfrm_usersa_info& info, const SaAttributes& seen, SaState& out,
                  std::string& why) {
  const auto mode = read_mode(info.mode);
  if (!mode) return refuse(why, "a mode other than tunnel and transport");
  if (seen.mark && needs_mark(*seen.mark)) return refuse(why, "a mark");
  if (seen.labelled) return refuse(why, "a security label");
  if (seen.encapsulation) {
    if (seen.encapsulation->encap_type != UDP_ENCAP_ESPINUDP) {
      return refuse(why, "an encapsulation other than ESP in UDP");
    }
    out.encapsulation = UdpEncapsulation{ntohs(seen.encapsulation->encap_sport),
                                         ntohs(seen.encapsulation->encap_dport)};
  }
  out.mode = *mode;
  out.reqid = info.reqid;
  out.esn = (info.flags & XFRM_STATE_ESN) != 0;
  out.ecn = (info.flags & XFRM_STATE_NOECN) == 0;
  out.copy_dont_fragment = (info.flags & XFRM_STATE_NOPMTUDISC) == 0;
  out.copy_dscp = (seen.extra_flags & XFRM_SA_XFLAG_DONT_ENCAP_DSCP) == 0;
  out.replay_window = seen.wide ? seen.replay.window : info.replay_window;
  out.sequence = seen.replay.sequence;
  out.replay_sequence = seen.replay.replay_sequence;
  if (!out.esn) {  // the high halves mean nothing
    out.sequence &= 0xffffffffU;
    out.replay_sequence &= 0xffffffffU;
  }
  out.lifetime = read_lifetime(info.lft);
  return XfrmDecoded::kEvent;
}

}  // namespace

XfrmDecoded decode_sa(const Message& message, SaState& out, std::string& why) {
  const auto info = read_pod<xfrm_usersa_info>(message.body);
  if (!info) return XfrmDecoded::kMalformed;
  out = SaState{};
  why.clear();
  if (!read_id(info->id.daddr, info->id.spi, info->family, out.id)) return XfrmDecoded::kMalformed;
  if (info->id.proto == IPPROTO_AH) return refuse(why, "AH");
  if (info->id.proto == IPPROTO_COMP) return refuse(why, "IPComp");
  if (info->id.proto != IPPROTO_ESP) return XfrmDecoded::kIgnored;
  out.source = *xfrm_address(&info->saddr, info->family);
  if (!read_selector(info->sel, info->family, out.selector)) return XfrmDecoded::kMalformed;

  SaAttributes seen;
  AttributeWalker walker(attributes_behind<xfrm_usersa_info>(message));
  Attribute attribute;
  while (walker.next(attribute)) {
    if (!read_sa_attribute(attribute, seen, out)) return XfrmDecoded::kMalformed;
  }
  if (walker.malformed()) return XfrmDecoded::kMalformed;
  const XfrmDecoded algorithms = detail::read_algorithms(seen.algorithms, out, why);
  if (algorithms != XfrmDecoded::kEvent) return algorithms;
  if (out.id.spi == 0) return XfrmDecoded::kMalformed;  // RFC 4303 §2.1
  return apply(*info, seen, out, why);
}

XfrmDecoded decode_sa_removed(const Message& message, SaId& out) {
  if (message.header.nlmsg_type == XFRM_MSG_EXPIRE) {
    const auto expired = read_pod<xfrm_user_expire>(message.body);
    if (!expired) return XfrmDecoded::kMalformed;
    const auto& info = expired->state;
    if (!read_id(info.id.daddr, info.id.spi, info.family, out)) return XfrmDecoded::kMalformed;
    const bool ours = info.id.proto == IPPROTO_ESP && expired->hard != 0;
    return ours ? XfrmDecoded::kEvent : XfrmDecoded::kIgnored;
  }
  const auto id = read_pod<xfrm_usersa_id>(message.body);
  if (!id || !read_id(id->daddr, id->spi, id->family, out)) return XfrmDecoded::kMalformed;
  AttributeWalker walker(attributes_behind<xfrm_usersa_id>(message));
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type != XFRMA_MARK) continue;
    const auto mark = read_pod<xfrm_mark>(attribute.payload);
    if (!mark) return XfrmDecoded::kMalformed;
    if (needs_mark(*mark)) return XfrmDecoded::kIgnored;
  }
  if (walker.malformed()) return XfrmDecoded::kMalformed;
  return id->proto == IPPROTO_ESP ? XfrmDecoded::kEvent : XfrmDecoded::kIgnored;
}

XfrmDecoded decode_sas_flushed(const Message& message) {
  const auto flushed = read_pod<xfrm_usersa_flush>(message.body);
  if (!flushed) return XfrmDecoded::kMalformed;
  const bool ours =
      flushed->proto == 0 || flushed->proto == IPPROTO_ESP || flushed->proto == kAnyIpsec;
  return ours ? XfrmDecoded::kEvent : XfrmDecoded::kIgnored;
}

XfrmDecoded decode_progress(const Message& message, SaProgress& out) {
  const auto header = read_pod<xfrm_aevent_id>(message.body);
  if (!header) return XfrmDecoded::kMalformed;
  out = SaProgress{};
  const auto& id = header->sa_id;
  if (!read_id(id.daddr, id.spi, id.family, out.id)) return XfrmDecoded::kMalformed;
  if (id.proto != IPPROTO_ESP) return XfrmDecoded::kIgnored;
  ReplayNumbers replay;
  AttributeWalker walker(attributes_behind<xfrm_aevent_id>(message));
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type == XFRMA_LTIME_VAL) {
      const auto lifetime = read_pod<xfrm_lifetime_cur>(attribute.payload);
      if (!lifetime) return XfrmDecoded::kMalformed;
      out.bytes = lifetime->bytes;
      out.packets = lifetime->packets;
      out.added_s = lifetime->add_time;
      out.first_used_s = lifetime->use_time;
    } else if (attribute.type == XFRMA_REPLAY_ESN_VAL) {
      if (!read_wide_replay(attribute.payload, replay)) return XfrmDecoded::kMalformed;
      out.wide = true;
    } else if (attribute.type == XFRMA_REPLAY_VAL) {
      const auto narrow = read_pod<xfrm_replay_state>(attribute.payload);
      if (!narrow) return XfrmDecoded::kMalformed;
      replay = {narrow->oseq, narrow->seq, 0, 0};
    }
  }
  if (walker.malformed()) return XfrmDecoded::kMalformed;
  out.sequence = replay.sequence;
  out.replay_sequence = replay.replay_sequence;
  out.replay_window = replay.window;
  out.bitmap_words = replay.words;
  return XfrmDecoded::kEvent;
}

}  // namespace hecto::router
