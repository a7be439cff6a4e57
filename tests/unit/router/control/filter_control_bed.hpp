// Control with filters: reloads and changes of sets as the API asks for them, and what workers would see.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "router/control/filter_control.hpp"
#include "router/dataplane/filter/filter_views.hpp"
#include "tests/beds/packets.hpp"
#include "tests/unit/router/control/reload_files.hpp"

namespace hecto::router::test {

inline const std::string kFilters = R"(
sets: {bad: [203.0.113.0/24], unused: [10.0.0.0/8]}
filters:
  edge: {in: [wan0, lan0], rules: [{name: bad, from: bad, action: drop}]}
)";

// Rules ask for an interface that comes later.
inline const std::string kAsking = R"(
filters:
  edge: {in: [wan0], rules: [{name: bad, iif: lan0, action: drop}]}
)";
inline const std::string kTwoPorts = std::string(kWan) + kLan;

class FilterControlTest : public testing::Test {
 protected:
  FilterControlTest() {
    pool();  // trees lie in its memory
    bed_ = ControlBed::started(kBase + kFilters);
  }
  const FilterViews& views() const { return bed_->plane.filters->views(0); }
  FilterNumber in(const std::string& interface) const {
    return views().in[bed_->interface(interface).id];
  }
  FilterControl& filters() { return bed_->filters; }
  std::vector<std::string> notes() { return filters().tables()->status()[0].notes; }
  static FilterControl::SetChange change(const std::string& set, std::vector<std::string> add,
                                         std::vector<std::string> remove = {}) {
    FilterControl::SetChange out{set, {}, {}};
    for (const std::string& prefix : add) out.add.push_back(net(prefix));
    for (const std::string& prefix : remove) out.remove.push_back(net(prefix));
    return out;
  }

  // As the API does it.
  tl::expected<Lines, Lines> reload_with(const std::string& yaml, const ReloadStep& step = {}) {
    const config::Config wanted = read(yaml);
    if (const auto job = filters().job(wanted.filters)) {
      job->run();
      filters().offer(job);
    }
    return reload(bed_->parts(), wanted, step);
  }
  Result<size_t> change_set(const FilterControl::SetChange& wanted) {
    const auto job = filters().change_job(wanted);
    job->run();
    return filters().take_change(job);
  }
  // Nothing that comes in by it passes.
  bool is_barred(const std::string& interface) const {
    const FilterNumber number = in(interface);
    return number != 0 && views().filter(number).actions[0].reason == Reason::kFilterNotReady;
  }
  // Turns of control, till it holds.
  template <typename Holds>
  bool after_turns(Holds&& holds) {
    for (int turn = 0; turn < 5000 && !holds(); ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      filters().tick();
    }
    return holds();
  }
  // The reload that makes rules ask for lan0, which is not there; then lan0 comes.
  void let_lan0_come() {
    ASSERT_TRUE(reload_with(kBase + kAsking));
    ASSERT_TRUE(reload(bed_->parts(), read(file(kTwoPorts, kRoute + kAsking))));
  }

  std::unique_ptr<ControlBed> bed_;
};

}  // namespace hecto::router::test
