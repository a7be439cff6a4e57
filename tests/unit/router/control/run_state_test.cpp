// What one run leaves to the next, as text and in a memory file.
#include "router/control/run_state.hpp"

#include <gtest/gtest.h>

#include "router/control/kept_text.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router {
namespace {

using test::ControlBed;

RunState some_state() {
  RunState state;
  state.addresses = {{"wan0", *lookup::IpPrefix::parse_interface("192.0.2.1/31")},
                     {"wan0.7", *lookup::IpPrefix::parse_interface("2001:db8::1/64")}};
  state.neighbors = {{"wan0", *lookup::IpAddress::parse("192.0.2.0")}};
  SaNumbers sa;
  sa.id = {*lookup::IpAddress::parse("2001:db8::9"), 0x1001};
  sa.fingerprint = 0xfedcba9876543210;
  sa.sequence = 5000000000;
  sa.replay_sequence = 7;
  state.sas = {sa};
  state.tables = "17a";
  state.count = 9;
  state.numbers = {"0 wan0 wan0 1 0 02:00:00:00:00:01"};
  return state;
}

TEST(RunState, ReadsWhatItWrote) {
  const auto read = run_state_from(to_text(some_state()));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, some_state());
  EXPECT_EQ(run_state_from(to_text({})), RunState{});
}

TEST(RunState, NothingOfItWhereAByteIsMissingOrAnother) {
  const std::string text = to_text(some_state());
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(run_state_from(text.substr(0, length))) << length;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] ^= 1;
    EXPECT_FALSE(run_state_from(other)) << at;
  }
  EXPECT_FALSE(run_state_from(text + "\n"));
}

TEST(RunState, NothingOfItWhereALineHasNoValue) {
  for (const char* line : {"number", "address", "neighbor wan0", "sa", "count", "tables", "what"}) {
    const std::string body = std::string("hecto state 1\n") + line + "\n";
    EXPECT_FALSE(run_state_from(body + fmt::format("sum {:016x}\n", text_sum(body)))) << line;
  }
}

TEST(RunState, TakesBackWhatIsWantedNoMoreAndNothingElse) {
  ControlBed bed("ports: {wan0: {device: eth1, addresses: [192.0.2.1/31]}}\n", true);
  ASSERT_TRUE(bed.start());
  const RunState now = state_of(bed.running, bed.interfaces.table());
  ASSERT_EQ(now.addresses.size(), 1u);
  RunState before = now;
  before.addresses.push_back({"wan0", *lookup::IpPrefix::parse_interface("198.51.100.1/24")});
  before.addresses.push_back({"lan0", *lookup::IpPrefix::parse_interface("198.51.100.9/24")});
  before.neighbors.push_back({"wan0", *lookup::IpAddress::parse("192.0.2.0")});
  bed.said.clear();
  take_back(before, now, bed.interfaces.table(), bed.linux_side);
  const std::vector<std::string> lines(bed.said.begin(), bed.said.end());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("198.51.100.1/24"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("192.0.2.0"), std::string::npos) << lines[1];
}

}  // namespace
}  // namespace hecto::router
