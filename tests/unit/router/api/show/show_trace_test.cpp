// What a trace tells of filters: who judged the packet, and who has the last word.
#include "router/dataplane/observe/trace.hpp"
#include "tests/unit/router/api/show/show_bed.hpp"

namespace hecto::router::test {
namespace {

class ShowTraceTest : public testing::Test {
 protected:
  TraceEvent& event(TraceKind kind, Stage stage, Reason reason = Reason::kNone) {
    TraceEvent& e = events_.emplace_back();
    e.number = 1;
    e.kind = kind;
    e.stage = stage;
    e.reason = reason;
    return e;
  }
  void judged(FilterPlace place, const std::string& filter, const std::string& rule,
              Reason reason = Reason::kNone) {
    TraceEvent& e = event(TraceKind::kFiltered, Stage::kFilter, reason);
    e.place = place;
    const std::string names = filter + '\0' + rule;
    e.captured = static_cast<uint16_t>(names.size());
    std::copy(names.begin(), names.end(), e.bytes.begin());
  }
  json shown() {
    for (const TraceEvent& e : events_) {
      session_.begin();
      session_.record(e);
    }
    const json all =
        show_trace({bed_->plane, bed_->interfaces.table(), bed_->routing}, session_, 0);
    return all["traces"].size() == 1 ? all["traces"][0] : json();
  }
  std::unique_ptr<ControlBed> bed_ = ControlBed::started(kBase);
  TraceSession session_{PacketMatch{}, 1};
  std::vector<TraceEvent> events_;
};

TEST_F(ShowTraceTest, TheVerdictNamesTheRule) {
  event(TraceKind::kReceived, Stage::kReceive);
  judged(FilterPlace::kIn, "edge", "spoofed", Reason::kFilter);
  event(TraceKind::kDropped, Stage::kFilter, Reason::kFilter);
  const json told = shown();
  EXPECT_EQ(told["verdict"], "dropped by filter edge, rule spoofed");
  EXPECT_EQ(told["reason"], "filter");
  EXPECT_EQ(told["steps"][1], json::parse(R"({"stage": "filter", "cycles": null, "filter": "edge",
      "rule": "spoofed", "text": "in: filter edge, rule spoofed: drop"})"));
}

TEST_F(ShowTraceTest, WhatGoesOnIsJudgedToo) {
  judged(FilterPlace::kIn, "edge", "3");
  judged(FilterPlace::kOut, "far", "");
  event(TraceKind::kTransmitted, Stage::kTransmit);
  const json told = shown();
  EXPECT_EQ(told["outcome"], "transmit");
  EXPECT_EQ(told["steps"][0]["text"], "in: filter edge, rule 3: accept");
  EXPECT_EQ(told["steps"][1]["text"], "out: filter far, otherwise: accept");
  EXPECT_EQ(told["steps"][1]["rule"], nullptr);
  EXPECT_EQ(told["verdict"].get<std::string>().find("transmitted on "), 0u);
}

TEST_F(ShowTraceTest, AnAnswerToARejectIsNoForwarding) {
  judged(FilterPlace::kVrf, "tenant", "no-udp", Reason::kFilterRejected);
  event(TraceKind::kTransmitted, Stage::kTransmit);
  const json told = shown();
  EXPECT_EQ(told["verdict"].get<std::string>().find(
                "rejected by filter tenant, rule no-udp, its sender is told: transmitted on "),
            0u)
      << told["verdict"];
}

TEST_F(ShowTraceTest, WhatIsDroppedElsewhereIsNoFiltersWord) {
  judged(FilterPlace::kIn, "edge", "3");
  event(TraceKind::kDropped, Stage::kLookup, Reason::kBlackhole);
  EXPECT_EQ(shown()["verdict"], "dropped: blackhole");
}

}  // namespace
}  // namespace hecto::router::test
