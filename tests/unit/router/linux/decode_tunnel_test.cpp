#include "router/linux/decode_tunnel.hpp"

// Ahead of linux/if.h, which gives way to it and not the other way round.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/ip6_tunnel.h>
#include <net/if.h>

#include "router/linux/decode.hpp"
#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {
namespace {

constexpr uint16_t kKeyed = 0x2000;

using FillTunnel = std::function<void(MessageBuilder&)>;

Decoded decode(const char* kind, const FillTunnel& fill, LinkEvent& event) {
  ifinfomsg head{};
  head.ifi_index = 9;
  MessageBuilder builder(RTM_NEWLINK);
  builder.head(head).nest(IFLA_LINKINFO, [&](MessageBuilder& info) {
    info.text(IFLA_INFO_KIND, kind).nest(IFLA_INFO_DATA, fill);
  });
  const auto bytes = builder.bytes();
  return decode_link(message_of(bytes), event);
}

LinuxTunnel tunnel_of(const char* kind, const FillTunnel& fill) {
  LinkEvent event;
  EXPECT_EQ(decode(kind, fill, event), Decoded::kEvent);
  EXPECT_TRUE(event.link.tunnel);
  return event.link.tunnel.value_or(LinuxTunnel{});
}

in_addr four(const char* text) {
  in_addr address{};
  inet_pton(AF_INET, text, &address);
  return address;
}
in6_addr six(const char* text) {
  in6_addr address{};
  inet_pton(AF_INET6, text, &address);
  return address;
}

void put_ends(MessageBuilder& data) {
  data.put(IFLA_GRE_LOCAL, four("192.0.2.1")).put(IFLA_GRE_REMOTE, four("192.0.2.2"));
}

TEST(DecodeTunnel, ReadsGreWithKeys) {
  const LinuxTunnel tunnel = tunnel_of("gre", [](MessageBuilder& data) {
    put_ends(data);
    data.put(IFLA_GRE_LINK, uint32_t{4});
    data.put(IFLA_GRE_IFLAGS, htons(kKeyed)).put(IFLA_GRE_OFLAGS, htons(kKeyed));
    data.put(IFLA_GRE_IKEY, htonl(7)).put(IFLA_GRE_OKEY, htonl(8));
    data.put(IFLA_GRE_TTL, uint8_t{64}).put(IFLA_GRE_TOS, uint8_t{1});
    data.put(IFLA_GRE_PMTUDISC, uint8_t{1}).put(IFLA_GRE_ENCAP_TYPE, uint16_t{0});
  });
  EXPECT_TRUE(tunnel.gre);
  EXPECT_EQ(tunnel.local.to_string(), "192.0.2.1");
  EXPECT_EQ(tunnel.remote.to_string(), "192.0.2.2");
  EXPECT_EQ(tunnel.link, 4);
  EXPECT_EQ(tunnel.key_in, 7u);
  EXPECT_EQ(tunnel.key_out, 8u);
  EXPECT_EQ(tunnel.ttl, 64);
  EXPECT_TRUE(tunnel.inherits_tos);
  EXPECT_TRUE(tunnel.sets_df);
  EXPECT_TRUE(tunnel.carries4 && tunnel.carries6);
  EXPECT_EQ(tunnel.beyond, "");
}

TEST(DecodeTunnel, AKeyWithoutItsFlagIsNone) {
  const LinuxTunnel tunnel = tunnel_of("gre", [](MessageBuilder& data) {
    put_ends(data);
    data.put(IFLA_GRE_IKEY, htonl(7)).put(IFLA_GRE_OKEY, htonl(8));
  });
  EXPECT_FALSE(tunnel.key_in || tunnel.key_out);
}

TEST(DecodeTunnel, ReadsWhatIpInIpCarries) {
  const auto carries = [](const char* kind, int protocol) {
    const LinuxTunnel tunnel = tunnel_of(kind, [&](MessageBuilder& data) {
      data.put(IFLA_IPTUN_LOCAL, four("192.0.2.1")).put(IFLA_IPTUN_REMOTE, four("192.0.2.2"));
      if (protocol >= 0) data.put(IFLA_IPTUN_PROTO, static_cast<uint8_t>(protocol));
    });
    EXPECT_FALSE(tunnel.gre);
    return std::pair(tunnel.carries4, tunnel.carries6);
  };
  EXPECT_EQ(carries("ipip", -1), std::pair(true, false));
  EXPECT_EQ(carries("ipip", 4), std::pair(true, false));
  EXPECT_EQ(carries("ipip", 0), std::pair(true, false)) << "an ipip device takes no IPv6";
  EXPECT_EQ(carries("sit", -1), std::pair(false, true));
  EXPECT_EQ(carries("sit", 41), std::pair(false, true));
  EXPECT_EQ(carries("sit", 0), std::pair(true, true));
  EXPECT_EQ(carries("sit", 137), std::pair(false, false)) << "MPLS";
}

TEST(DecodeTunnel, ReadsIpv6) {
  const auto fill = [](uint32_t flags) {
    return [flags](MessageBuilder& data) {
      data.put(IFLA_IPTUN_LOCAL, six("2001:db8::1")).put(IFLA_IPTUN_REMOTE, six("2001:db8::2"));
      data.put(IFLA_IPTUN_TTL, uint8_t{64}).put(IFLA_IPTUN_ENCAP_LIMIT, uint8_t{4});
      data.put(IFLA_IPTUN_FLOWINFO, htonl(0x0b812345)).put(IFLA_IPTUN_FLAGS, flags);
      data.put(IFLA_IPTUN_PROTO, uint8_t{0});
    };
  };
  LinuxTunnel tunnel = tunnel_of("ip6tnl", fill(0));
  EXPECT_EQ(tunnel.remote.to_string(), "2001:db8::2");
  EXPECT_EQ(tunnel.encap_limit, 4);
  EXPECT_EQ(tunnel.tos, 0xb8);
  EXPECT_EQ(tunnel.flow_label, 0x12345u);
  EXPECT_EQ(tunnel.beyond, "");
  tunnel = tunnel_of("ip6tnl", fill(IP6_TNL_F_IGN_ENCAP_LIMIT | IP6_TNL_F_USE_ORIG_TCLASS));
  EXPECT_FALSE(tunnel.encap_limit);
  EXPECT_TRUE(tunnel.inherits_tos);
  EXPECT_NE(tunnel_of("ip6tnl", fill(IP6_TNL_F_RCV_DSCP_COPY)).beyond, "");
}

TEST(DecodeTunnel, SaysWhatTheFastPathDoesNot) {
  const auto beyond = [](const FillTunnel& more) {
    return tunnel_of("gre",
                     [&](MessageBuilder& data) {
                       put_ends(data);
                       more(data);
                     })
        .beyond;
  };
  EXPECT_EQ(beyond([](MessageBuilder&) {}), "");
  EXPECT_EQ(beyond([](MessageBuilder& d) { d.put(IFLA_GRE_OFLAGS, htons(0x8000)); }),
            "it has checksums");
  EXPECT_EQ(beyond([](MessageBuilder& d) { d.put(IFLA_GRE_IFLAGS, htons(0x1000)); }),
            "it has sequence numbers");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(IFLA_GRE_ENCAP_TYPE, uint16_t{2}); }), "");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(IFLA_GRE_FWMARK, uint32_t{2}); }), "");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(IFLA_GRE_IGNORE_DF, uint8_t{1}); }), "");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(IFLA_GRE_REMOTE, four("0.0.0.0")); }), "");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(IFLA_GRE_REMOTE, four("239.1.1.1")); }), "");
}

TEST(DecodeTunnel, AnEndOfAnotherFamilyIsMalformed) {
  LinkEvent event;
  EXPECT_EQ(decode(
                "gre", [](MessageBuilder& d) { d.put(IFLA_GRE_LOCAL, six("2001:db8::1")); }, event),
            Decoded::kMalformed);
  EXPECT_EQ(
      decode(
          "ip6tnl", [](MessageBuilder& d) { d.put(IFLA_IPTUN_LOCAL, four("192.0.2.1")); }, event),
      Decoded::kMalformed);
}

TEST(DecodeTunnel, OtherKindsAreNone) {
  for (const char* kind : {"erspan", "gretap", "vti", "vxlan", "dummy"}) {
    LinkEvent event;
    EXPECT_EQ(decode(kind, put_ends, event), Decoded::kEvent);
    EXPECT_FALSE(event.link.tunnel) << kind;
  }
}

}  // namespace
}  // namespace hecto::router
