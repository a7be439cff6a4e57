#include "base/frame_tags.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hecto {
namespace {

// A frame with these words behind its addresses, and IP behind them.
std::vector<uint8_t> frame_with(const std::vector<uint16_t>& words) {
  std::vector<uint8_t> frame(12, 2);
  for (const uint16_t word : words) {
    frame.push_back(static_cast<uint8_t>(word >> 8));
    frame.push_back(static_cast<uint8_t>(word));
  }
  return frame;
}
FrameTags tags_in(const std::vector<uint16_t>& words) {
  const std::vector<uint8_t> frame = frame_with(words);
  return read_frame_tags(frame.data(), static_cast<uint32_t>(frame.size()));
}
std::string words_of(const FrameTags& found) {
  return std::to_string(found.l2_bytes) + ": " + to_string(found.tags);
}

TEST(FrameTags, ReadsOneTagOrTwo) {
  EXPECT_EQ(words_of(tags_in({0x0800})), "14: 0");
  EXPECT_EQ(words_of(tags_in({0x8100, 0x2064, 0x0800})), "18: 100");
  EXPECT_EQ(words_of(tags_in({0x88a8, 100, 0x0800})), "18: 802.1ad 100");
  EXPECT_EQ(words_of(tags_in({0x88a8, 100, 0x8100, 0xa00a, 0x0800})), "22: 802.1ad 100.10");
  EXPECT_EQ(words_of(tags_in({0x8100, 100, 0x8100, 10, 0x86dd})), "22: 100.10");
  for (const auto& words : std::vector<std::vector<uint16_t>>{
           {0x0800}, {0x8100, 1, 0x0800}, {0x88a8, 1, 0x8100, 2, 0x0800}})
    EXPECT_EQ(tags_in(words).ether_type, kEtherIpv4);
}

TEST(FrameTags, LeavesWhatNoInterfaceHas) {
  const FrameTags third = tags_in({0x88a8, 100, 0x8100, 10, 0x8100, 5, 0x0800});
  EXPECT_EQ(words_of(third), "22: 802.1ad 100.10");
  EXPECT_EQ(third.ether_type, kEtherVlan);
  const FrameTags reversed = tags_in({0x8100, 10, 0x88a8, 100, 0x0800});
  EXPECT_EQ(words_of(reversed), "18: 10");
  EXPECT_EQ(reversed.ether_type, kEtherServiceVlan);
}

TEST(FrameTags, PriorityTagsSayNoVlan) {
  EXPECT_EQ(words_of(tags_in({0x8100, 0x6000, 0x0800})), "18: 0");
  EXPECT_EQ(words_of(tags_in({0x88a8, 100, 0x8100, 0x6000, 0x0800})), "22: 802.1ad 100");
}

TEST(FrameTags, ReadsNothingThatIsCut) {
  const std::vector<uint8_t> whole = frame_with({0x88a8, 100, 0x8100, 10, 0x0800});
  for (size_t bytes = kEthernetBytes; bytes < whole.size(); ++bytes) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<long>(bytes));
    const FrameTags found = read_frame_tags(cut.data(), static_cast<uint32_t>(bytes));
    EXPECT_EQ(found.l2_bytes, bytes < 18 ? 14u : 18u);
    EXPECT_TRUE(is_vlan_tag(found.ether_type));
  }
}

}  // namespace
}  // namespace hecto
