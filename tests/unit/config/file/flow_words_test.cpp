#include "config/file/flow_words.hpp"

#include <gtest/gtest.h>

namespace hecto::config {
namespace {

TEST(FlowWords, AreReadAsTheyAreWritten) {
  for (const char* line : {
           "interface a0 from 10.0.0.1 to 10.0.0.0/24 protocol tcp sport 0 dport 65535 tcp_flags "
           "syn,!ack dscp 63 mark 4294967295 priority 7 idle_s 60 hard_s 1000 drop",
           "family ipv6 protocol icmp6 icmp_type 128 icmp_code 0 accept",
           "from 2001:db8::1 set_to 2001:db8::9 set_dscp 0 ttl decrement mac 02:00:00:00:00:09 "
           "output b0",
           "from 10.0.0.1 protocol udp set_sport 1 set_dport 2 set_mark 3 accept",
       }) {
    const auto flow = parse_flow(line);
    ASSERT_TRUE(flow) << flow.error();
    EXPECT_EQ(to_string(*flow), line);
  }
}

TEST(FlowWords, TheFamilyFollowsFromWhatIsSaid) {
  EXPECT_EQ(parse_flow("protocol icmp6 drop")->match.family, lookup::Family::kIpv6);
  EXPECT_EQ(parse_flow("family ipv4 from 10.0.0.1 drop")->match.family, lookup::Family::kIpv4);
  EXPECT_EQ(parse_flow("to 2001:db8::/32 drop")->match.family, lookup::Family::kIpv6);
}

TEST(FlowWords, SayInOneLineWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"drop", "family: is missing, and no address says it; use ipv4 or ipv6"},
      {"from 10.0.0.1", "an entry has to do something; use accept, drop, output or a set_ word"},
      {"from 10.0.0.1/24 drop",
       "from: \"10.0.0.1/24\" is no address or prefix, or has host bits; use one like 10.0.0.1 or "
       "10.0.0.0/8"},
      {"from 10.0.0.1 to 2001:db8::1 drop", "to: \"2001:db8::1\" is not of the entry's family"},
      {"from 10.0.0.1 family ipv6 drop",
       "family: an address is of the other one; leave family out"},
      {"from 10.0.0.1 dprot 80 drop", "\"dprot\" is not known here; did you mean dport?"},
      {"from 10.0.0.1 priority", "\"priority\": needs a value behind it"},
      {"from 10.0.0.1 priority -1 drop", "priority: \"-1\" is out of range; use 0 to 4294967295"},
      {"from 10.0.0.1 protocol tcp dport 65536 drop",
       "dport: \"65536\" is out of range; use 0 to 65535"},
      {"from 10.0.0.1 dport 80 drop",
       "sport, dport: go with protocol tcp, udp, sctp, dccp or udplite"},
      {"from 10.0.0.1 protocol tcq drop",
       "protocol: \"tcq\" is none; use tcp, udp, icmp, icmp6 or a number, 1 to 255"},
      {"from 10.0.0.1 protocol udp icmp_type 8 drop",
       "icmp_type, icmp_code: go with protocol icmp"},
      {"from 10.0.0.1 protocol udp tcp_flags syn drop", "tcp_flags: goes with protocol tcp"},
      {"from 10.0.0.1 protocol tcp tcp_flags sin drop",
       "tcp_flags: \"sin\" is no flag; use some of fin, syn, rst, psh, ack, urg, ece, cwr, as "
       "syn,!ack"},
      {"from 10.0.0.1 dscp 64 drop", "dscp: \"64\" is out of range; use 0 to 63"},
      {"from 10.0.0.1 drop accept",
       "accept: there is another verdict; use one of accept, drop, output"},
      {"from 10.0.0.1 drop set_dscp 1", "drop: stands alone"},
      {"from 10.0.0.1 mac 02:00:00:00:00:01 accept",
       "mac, ttl: go with output; what is routed gets both from its next hop"},
      {"from 10.0.0.1 mac 02:00 output b0",
       "mac: \"02:00\" is no MAC address; use one like 02:00:00:00:00:01"},
      {"from 10.0.0.1 ttl 3 output b0", "ttl: \"3\" is not known; use decrement"},
      {"from 10.0.0.1 set_dport 80 accept",
       "set_sport, set_dport: go with protocol tcp, udp, dccp or udplite"},
      {"from 10.0.0.1 protocol sctp set_dport 80 accept",
       "set_sport, set_dport: go with protocol tcp, udp, dccp or udplite"},
      {"from 10.0.0.1 set_to 2001:db8::1 accept",
       "set_to: 2001:db8::1 is not of the entry's family; use an IPv4 address"},
      {"from 10.0.0.1 set_to 224.0.0.1 accept",
       "set_to: 224.0.0.1 is no unicast address; use one like 192.0.2.1"},
      {"from 10.0.0.1 set_from 0.0.0.0 accept",
       "set_from: 0.0.0.0 is no unicast address; use one like 192.0.2.1"},
  };
  for (const auto& [line, wrong] : cases) {
    const auto flow = parse_flow(line);
    ASSERT_FALSE(flow) << line;
    EXPECT_EQ(flow.error(), wrong);
  }
}

TEST(FlowWords, OfADeletionNoActionIsAskedFor) {
  const auto flow = parse_flow("from 10.0.0.1 priority 3", false);
  ASSERT_TRUE(flow);
  EXPECT_TRUE(flow->priority_given);
  EXPECT_FALSE(parse_flow("from 10.0.0.1", false)->priority_given);
}

}  // namespace
}  // namespace hecto::config
