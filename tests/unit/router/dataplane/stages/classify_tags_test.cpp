// Interfaces by two tags, or by one of 802.1ad.
#include "tests/unit/router/dataplane/stages/classify_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr MacAddress kInnerMac = {0x02, 8, 8, 8, 8, 8};

// Frames with these tags, words as they stand there, each by the fast loop and by `diagnose` alone.
Frame with_tags(const std::vector<uint16_t>& words, const FrameOptions& options = {}) {
  Frame frame = ipv4_frame(options);
  std::vector<uint8_t> tags;
  for (const uint16_t word : words) {
    tags.push_back(static_cast<uint8_t>(word >> 8));
    tags.push_back(static_cast<uint8_t>(word));
  }
  frame.insert(frame.begin() + 12, tags.begin(), tags.end());
  return frame;
}
Verdict stacked(const std::vector<uint16_t>& words, const std::vector<size_t>& cuts = {}) {
  Bed bed = Bed::with_two_tags();
  const Verdict fast = verdict(bed, with_tags(words), cuts);
  const Verdict slow = verdict<0>(bed, with_tags(words), cuts);
  EXPECT_EQ(fast.reason, slow.reason);
  EXPECT_EQ(fast.interface, slow.interface);
  EXPECT_EQ(fast.l2_length, slow.l2_length);
  return fast;
}

TEST(ClassifyTags, FindsInterfacesByTwoTagsOrAProvidersOne) {
  const auto by = [](const std::vector<uint16_t>& words) {
    const Verdict v = stacked(words);
    EXPECT_EQ(v.reason, Reason::kNone);
    EXPECT_EQ(v.l2_length, 14 + 2 * words.size());
    return v.interface;
  };
  EXPECT_EQ(by({}), 0);
  EXPECT_EQ(by({0x8100, 100}), 1);
  EXPECT_EQ(by({0x8100, 100, 0x8100, 10}), 2);
  EXPECT_EQ(by({0x88a8, 100}), 3);
  EXPECT_EQ(by({0x88a8, 100, 0x8100, 10}), 4);
  EXPECT_EQ(by({0x88a8, 0xe064, 0x8100, 0xb00a}), 4) << "whatever the priorities and DEI";
  Bed bed = Bed::with_two_tags();
  EXPECT_EQ(verdict(bed, ipv6_frame({.vlan = 10, .outer_vlan = 100, .service = true})).interface,
            4);
}

TEST(ClassifyTags, PriorityTagsSayNoVlan) {
  const auto by = [](const std::vector<uint16_t>& words) {
    const Verdict v = stacked(words);
    EXPECT_EQ(v.reason, Reason::kNone);
    return v.interface;
  };
  EXPECT_EQ(by({0x8100, 0xe000}), 0);
  EXPECT_EQ(by({0x88a8, 0xe000}), 0);
  EXPECT_EQ(by({0x8100, 100, 0x8100, 0xe000}), 1);
  EXPECT_EQ(by({0x88a8, 100, 0x8100, 0}), 3);
}

TEST(ClassifyTags, NamesTagsThatNoInterfaceHas) {
  const auto reason = [](const std::vector<uint16_t>& words) { return stacked(words).reason; };
  EXPECT_EQ(reason({0x8100, 101, 0x8100, 10}), Reason::kUnknownVlan);
  EXPECT_EQ(reason({0x88a8, 101, 0x8100, 10}), Reason::kUnknownVlan);
  EXPECT_EQ(reason({0x88a8, 101}), Reason::kUnknownVlan);
  EXPECT_EQ(reason({0x8100, 100, 0x8100, 11}), Reason::kUnknownVlan);
  EXPECT_EQ(reason({0x88a8, 100, 0x8100, 4095}), Reason::kUnknownVlan);
  EXPECT_EQ(reason({0x8100, 10, 0x8100, 100}), Reason::kUnknownVlan);
  EXPECT_EQ(reason({0x88a8, 100, 0x8100, 20}), Reason::kInterfaceDown);
  EXPECT_EQ(stacked({0x88a8, 100, 0x8100, 20}).interface, 5);
  // What a VLAN carries beyond is Linux's to know: a third tag, one of 802.1ad inside.
  EXPECT_EQ(reason({0x88a8, 100, 0x8100, 10, 0x8100, 5}), Reason::kOtherProtocol);
  EXPECT_EQ(stacked({0x88a8, 100, 0x8100, 10, 0x8100, 5}).interface, 4);
  EXPECT_EQ(reason({0x8100, 100, 0x88a8, 10}), Reason::kOtherProtocol);
  EXPECT_EQ(reason({0x8100, 0, 0x8100, 10}), Reason::kOtherProtocol);
  // Without such interfaces all of it is, as it always was.
  Bed bed;
  EXPECT_EQ(verdict(bed, with_tags({0x88a8, 100})).reason, Reason::kOtherProtocol);
  EXPECT_EQ(verdict(bed, with_tags({0x8100, 100, 0x8100, 10})).reason, Reason::kOtherProtocol);
  EXPECT_EQ(verdict(bed, with_tags({0x8100, 101, 0x8100, 10})).reason, Reason::kUnknownVlan);
}

TEST(ClassifyTags, CutTagsAreTruncatedOrSplit) {
  Bed bed = Bed::with_two_tags();
  const Frame whole = with_tags({0x88a8, 100, 0x8100, 10});
  for (size_t bytes = 0; bytes < 22 + 20; ++bytes) {
    const Frame cut(whole.begin(), whole.begin() + static_cast<long>(bytes));
    EXPECT_EQ(verdict(bed, cut).reason, Reason::kTruncated) << bytes;
    EXPECT_EQ(verdict(bed, whole, {bytes}).reason, Reason::kSplitHeader) << bytes;
  }
  EXPECT_EQ(verdict(bed, whole, {22 + 20}).reason, Reason::kNone);
  // As short as a packet can be, with any number of tags.
  for (const auto& words :
       std::vector<std::vector<uint16_t>>{{0x8100, 100}, {0x88a8, 100}, {0x8100, 100, 0x8100, 10}})
    EXPECT_EQ(verdict(bed, with_tags(words, {.payload_bytes = 0})).reason, Reason::kNone);
}

TEST(ClassifyTags, TakesWhatIsForAnotherAddressBehindTwoTags) {
  Bed bed = Bed::with_two_tags();
  const std::vector<TagTable::Entry> own = {{{10, 100, true}, 6}};
  uint64_t mac = 0;
  std::memcpy(&mac, kInnerMac.data(), kInnerMac.size());
  bed.port().stations = std::make_shared<const std::vector<StationView>>(std::vector<StationView>{
      {mac, kNoInterface, {nullptr, std::make_shared<const TagTable>(own)}}});
  bed.snapshot.interfaces[6].up = true;
  const Frame mine = with_tags({0x88a8, 100, 0x8100, 10}, {.to = kInnerMac});
  EXPECT_EQ(verdict(bed, mine).interface, 6);
  EXPECT_EQ(verdict<0>(bed, mine).interface, 6);
  EXPECT_EQ(verdict(bed, with_tags({0x88a8, 100}, {.to = kInnerMac})).reason, Reason::kNotForUs);
  EXPECT_EQ(verdict(bed, with_tags({0x88a8, 100, 0x8100, 10})).interface, 4);
}

}  // namespace
}  // namespace hecto::router::test
