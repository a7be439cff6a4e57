#include "router/ipsec/esp/replay.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/beds/seed.hpp"

namespace hecto::router::esp {
namespace {

using Verdict = ReplayWindow::Verdict;

// The rule itself (RFC 4303 §3.4.3), with all numbers ever seen.
class NaiveWindow {
 public:
  NaiveWindow(uint32_t window, uint64_t top) : window_(window), top_(top), first_(top) {}
  Verdict check(uint64_t number) const {
    if (number == 0) return Verdict::kSeen;
    if (top_ >= window_ && number <= top_ - window_) return Verdict::kTooOld;
    return number <= first_ || seen_.contains(number) ? Verdict::kSeen : Verdict::kFresh;
  }
  void mark(uint64_t number) {
    seen_.insert(number);
    top_ = std::max(top_, number);
  }
  uint64_t top() const { return top_; }

 private:
  uint32_t window_;
  uint64_t top_, first_;
  std::set<uint64_t> seen_;
};

constexpr std::array<uint32_t, 9> kWindows = {1, 31, 32, 33, 64, 128, 1000, 1024, 4096};

TEST(ReplayWindow, AcceptsExactlyTheWindowsNumbers) {
  for (const uint32_t window : kWindows) {
    for (const uint64_t top : {uint64_t{window} + 5, uint64_t{10000}, uint64_t{1} << 35}) {
      ReplayWindow edge(window);
      ASSERT_EQ(edge.mark(top), Verdict::kFresh);
      EXPECT_EQ(edge.check(top - window), Verdict::kTooOld) << window;
      EXPECT_EQ(edge.mark(top - window), Verdict::kTooOld) << window;
      for (uint64_t number = top - window + 1; number < top; ++number) {
        ASSERT_EQ(edge.check(number), Verdict::kFresh) << window << " " << number;
        ASSERT_EQ(edge.mark(number), Verdict::kFresh) << window << " " << number;
        ASSERT_EQ(edge.check(number), Verdict::kSeen);
        ASSERT_EQ(edge.mark(number), Verdict::kSeen);
      }
      EXPECT_EQ(edge.mark(top), Verdict::kSeen);
    }
  }
}

TEST(ReplayWindow, AgreesWithTheNaiveOne) {
  std::mt19937_64 random(test_seed());
  for (const uint32_t window : kWindows) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{7}, uint64_t{5000}, 0xfffffff0UL}) {
      ReplayWindow ours(window, first);
      NaiveWindow naive(window, first);
      for (int i = 0; i < 3000; ++i) {
        const uint64_t top = naive.top();
        uint64_t number = top + 1;
        switch (random() % 8) {
          case 0:
            number = top + random() % (3 * window);
            break;
          case 1:
            number = top - std::min(top, random() % (2 * window));
            break;
          case 2:
            number = top - std::min<uint64_t>(top, window - random() % 2);
            break;
          case 3:
            number = random() % 50 == 0 ? top + (random() >> 33) : top;
            break;
          case 4:
            number = top - std::min<uint64_t>(top, random() % 8);
            break;
          default:
            break;
        }
        const Verdict expected = naive.check(number);
        ASSERT_EQ(ours.check(number), expected) << window << " " << number << " top " << top;
        if (random() % 4 == 0) continue;  // the ICV was wrong: not marked
        ASSERT_EQ(ours.mark(number), expected);
        if (expected == Verdict::kFresh) naive.mark(number);
        ASSERT_EQ(ours.top(), naive.top());
      }
    }
  }
}

// prefetch() asks for it: of wide windows it lies elsewhere than of narrow ones.
TEST(ReplayWindow, NextWordIsWhereTheNextNumberIsMarked) {
  EXPECT_EQ(ReplayWindow(0).next_word(), nullptr);
  for (const uint32_t window : kWindows) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{63}, uint64_t{5000}, uint64_t{1} << 35}) {
      ReplayWindow ours(window, first);
      for (uint64_t number = first + 1; number < first + 300; ++number) {
        const std::atomic<uint64_t>* next = ours.next_word();
        const uint64_t before = next->load();
        ASSERT_EQ(ours.mark(number), Verdict::kFresh);
        ASSERT_NE(next->load(), before) << window << " " << number;
      }
    }
  }
}

TEST(ReplayWindow, WithoutAWindowTakesEverythingAndKeepsTheTop) {
  ReplayWindow off(0);
  for (const uint64_t number : {5, 5, 3, 0}) EXPECT_EQ(off.mark(number), Verdict::kFresh);
  EXPECT_EQ(off.top(), 5U);
}

TEST(ReplayWindow, ExtendsNumbersAsAppendixA22) {
  const auto extend = [](uint32_t window, uint64_t top, uint32_t low) {
    return ReplayWindow(window, top).extend(low, true);
  };
  constexpr uint64_t kTwo32 = uint64_t{1} << 32;
  // Case A: the window lies in one subspace.
  EXPECT_EQ(extend(64, 5 * kTwo32 + 1000, 1001), 5 * kTwo32 + 1001);
  EXPECT_EQ(extend(64, 5 * kTwo32 + 1000, 937), 5 * kTwo32 + 937);  // its bottom
  EXPECT_EQ(extend(64, 5 * kTwo32 + 1000, 936), 6 * kTwo32 + 936);  // below: the next subspace
  EXPECT_EQ(extend(64, 5 * kTwo32 + 63, 0), 5 * kTwo32);
  // Case B: it spans two.
  EXPECT_EQ(extend(64, 5 * kTwo32 + 62, 0xffffffff), 5 * kTwo32 - 1);
  EXPECT_EQ(extend(64, 5 * kTwo32 + 62, 0xfffffffe), 5 * kTwo32 + 0xfffffffe);
  EXPECT_EQ(extend(64, 5 * kTwo32 + 62, 63), 5 * kTwo32 + 63);
  // Nothing lies before the first number, nor behind the last.
  EXPECT_EQ(extend(64, 0, 0xffffffff), 0U);
  EXPECT_EQ(extend(64, ~uint64_t{0}, 5), 0U);
  EXPECT_EQ(ReplayWindow(64, 7 * kTwo32).extend(9, false), 9U);
  // Without a window the nearest.
  EXPECT_EQ(extend(0, 5 * kTwo32 + 10, 0xfffffff0), 4 * kTwo32 + 0xfffffff0);
  EXPECT_EQ(extend(0, 5 * kTwo32 + 0xfffffff0, 3), 6 * kTwo32 + 3);
}

TEST(ReplayWindow, GoesOverTwoToThe32WithEsn) {
  for (const uint32_t window : kWindows) {
    const uint64_t start = (uint64_t{1} << 32) - 2000;
    ReplayWindow ours(window, start);
    for (uint64_t number = start + 1; number < start + 4000; ++number) {
      const auto low = static_cast<uint32_t>(number);
      ASSERT_EQ(ours.extend(low, true), number);
      ASSERT_EQ(ours.mark(number), Verdict::kFresh);
      const uint64_t oldest = number - window + 1;
      if (oldest <= start) continue;
      ASSERT_EQ(ours.extend(static_cast<uint32_t>(oldest), true), oldest);
      ASSERT_EQ(ours.check(oldest), Verdict::kSeen);
    }
  }
}

// Every number is offered by every thread, in another order: one of them has it accepted.
TEST(ReplayWindow, AcceptsEachNumberOnceWhateverTheThreads) {
  constexpr uint64_t kNumbers = 60000;
  constexpr unsigned kThreads = 4;
  for (const uint32_t window : {64U, 1024U, 4096U}) {
    ReplayWindow shared(window);
    std::vector<std::atomic<uint32_t>> accepted(kNumbers + 1);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937_64 random(test_seed() + thread);
        for (uint64_t number = 1; number <= kNumbers; ++number) {
          const uint64_t near = number > 40 ? number - random() % 40 : number;
          for (const uint64_t one : {number, near}) {
            if (shared.mark(one) == Verdict::kFresh) accepted[one].fetch_add(1);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (uint64_t number = 1; number <= kNumbers; ++number)
      ASSERT_LE(accepted[number].load(), 1U) << number;
    EXPECT_EQ(accepted[kNumbers].load(), 1U);
    EXPECT_EQ(shared.top(), kNumbers);
  }
}

}  // namespace
}  // namespace hecto::router::esp
