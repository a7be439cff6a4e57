#include "router/linux/decode_tunnel.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>

#include "router/linux/decode.hpp"
#include "router/linux/tunnel_attributes.hpp"
#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {
namespace {

using namespace tunnel_attributes;

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
  data.put(kGreLocal, four("192.0.2.1")).put(kGreRemote, four("192.0.2.2"));
}

TEST(DecodeTunnel, ReadsGreWithKeys) {
  const LinuxTunnel tunnel = tunnel_of("gre", [](MessageBuilder& data) {
    put_ends(data);
    data.put(kGreLink, uint32_t{4});
    data.put(kGreFlagsIn, htons(kKeyed)).put(kGreFlagsOut, htons(kKeyed));
    data.put(kGreKeyIn, htonl(7)).put(kGreKeyOut, htonl(8));
    data.put(kGreTtl, uint8_t{64}).put(kGreTos, uint8_t{1});
    data.put(kGrePmtuDiscovery, uint8_t{1}).put(kGreEncapType, uint16_t{0});
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
    data.put(kGreKeyIn, htonl(7)).put(kGreKeyOut, htonl(8));
  });
  EXPECT_FALSE(tunnel.key_in || tunnel.key_out);
}

TEST(DecodeTunnel, ReadsWhatIpInIpCarries) {
  const auto carries = [](const char* kind, int protocol) {
    const LinuxTunnel tunnel = tunnel_of(kind, [&](MessageBuilder& data) {
      data.put(kIpLocal, four("192.0.2.1")).put(kIpRemote, four("192.0.2.2"));
      if (protocol >= 0) data.put(kIpProtocol, static_cast<uint8_t>(protocol));
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
      data.put(kIpLocal, six("2001:db8::1")).put(kIpRemote, six("2001:db8::2"));
      data.put(kIpTtl, uint8_t{64}).put(kIpEncapLimit, uint8_t{4});
      data.put(kIpFlowInfo, htonl(0x0b812345)).put(kIpFlags, flags);
      data.put(kIpProtocol, uint8_t{0});
    };
  };
  LinuxTunnel tunnel = tunnel_of("ip6tnl", fill(0));
  EXPECT_EQ(tunnel.remote.to_string(), "2001:db8::2");
  EXPECT_EQ(tunnel.encap_limit, 4);
  EXPECT_EQ(tunnel.tos, 0xb8);
  EXPECT_EQ(tunnel.flow_label, 0x12345u);
  EXPECT_EQ(tunnel.beyond, "");
  tunnel = tunnel_of("ip6tnl", fill(kIgnoresEncapLimit | kCopiesTrafficClass));
  EXPECT_FALSE(tunnel.encap_limit);
  EXPECT_TRUE(tunnel.inherits_tos);
  EXPECT_NE(tunnel_of("ip6tnl", fill(kCopiesDscpIn)).beyond, "");
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
  EXPECT_EQ(beyond([](MessageBuilder& d) { d.put(kGreFlagsOut, htons(0x8000)); }),
            "it has checksums");
  EXPECT_EQ(beyond([](MessageBuilder& d) { d.put(kGreFlagsIn, htons(0x1000)); }),
            "it has sequence numbers");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(kGreEncapType, uint16_t{2}); }), "");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(kGreMark, uint32_t{2}); }), "");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(kGreIgnoreDf, uint8_t{1}); }), "");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(kGreRemote, four("0.0.0.0")); }), "");
  EXPECT_NE(beyond([](MessageBuilder& d) { d.put(kGreRemote, four("239.1.1.1")); }), "");
}

TEST(DecodeTunnel, AnEndOfAnotherFamilyIsMalformed) {
  LinkEvent event;
  EXPECT_EQ(decode(
                "gre", [](MessageBuilder& d) { d.put(kGreLocal, six("2001:db8::1")); }, event),
            Decoded::kMalformed);
  EXPECT_EQ(decode(
                "ip6tnl", [](MessageBuilder& d) { d.put(kIpLocal, four("192.0.2.1")); }, event),
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
