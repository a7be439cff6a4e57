// Whatever control meets, who asked it gets an answer.
#include "router/control/commands.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <stdexcept>
#include <thread>

namespace hecto::router {
namespace {

// Control, as far as orders go.
class CommandsTest : public ::testing::Test {
 protected:
  template <typename Ask>
  void asked(Ask ask) {
    std::thread client(ask);
    for (int i = 0; i < 10'000 && !answered_; ++i) {
      commands_.run_pending();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    client.join();
  }
  // What the client is told.
  template <typename Call>
  std::string told(Call call) {
    std::string line;
    asked([&] {
      try {
        line = call() ? "answer" : "nothing";
      } catch (const std::exception& thrown) {
        line = thrown.what();
      }
      answered_ = true;
    });
    answered_ = false;
    return line;
  }

  Commands commands_;
  std::atomic<bool> answered_{false};
};

constexpr const char* kInternal =
    "internal error: the table is torn; what was asked may be half done";

// Control would wake for it in every turn and not take it.
TEST_F(CommandsTest, WhatIsHeldWakesNobodyBeforeItsTime) {
  const auto readable = [this] {
    pollfd waiting{commands_.fd(), POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  };
  int answers = 0;
  commands_.hold();
  commands_.release();
  EXPECT_FALSE(readable()) << "nothing waits";
  commands_.hold();
  ASSERT_TRUE(commands_.post([&] { ++answers; }));
  EXPECT_FALSE(readable());
  commands_.release();
  EXPECT_TRUE(readable());
  commands_.run_pending();
  EXPECT_EQ(answers, 1);
  EXPECT_FALSE(readable());
  ASSERT_TRUE(commands_.post([&] { ++answers; }));
  EXPECT_TRUE(readable());
}

TEST_F(CommandsTest, WhatThrowsIsAnsweredAndTheNextOneToo) {
  EXPECT_EQ(
      told([&] {
        return commands_.call<int>([]() -> int { throw std::runtime_error("the table is torn"); });
      }),
      kInternal);
  EXPECT_EQ(told([&] { return commands_.call<int>([] { return 1; }); }), "answer");
}

TEST_F(CommandsTest, WorkOfSeveralTurnsThatThrowsIsAnswered) {
  EXPECT_EQ(told([&] {
              return commands_.call_over_turns<int>([](const std::function<void(int)>&) {
                throw std::runtime_error("the table is torn");
              });
            }),
            kInternal);
  EXPECT_EQ(told([&] {
              return commands_.call_over_turns<int>(
                  [](const std::function<void(int)>& keep) { keep(1); });
            }),
            "answer");
}

// Nobody waits for it, and nobody behind it pays for it.
TEST_F(CommandsTest, APostThatThrowsTakesNoOtherWithIt) {
  bool ran = false;
  commands_.post([] { throw std::bad_alloc(); });
  commands_.post([&] { ran = true; });
  EXPECT_NO_THROW(commands_.run_pending());
  EXPECT_TRUE(ran);
}

TEST_F(CommandsTest, APromiseThatWorkForgetsIsNoAnswerAtOnce) {
  EXPECT_EQ(
      told([&] { return commands_.call_over_turns<int>([](const std::function<void(int)>&) {}); }),
      "nothing");
}

TEST_F(CommandsTest, TheEndAnswersThoseThatWait) {
  std::thread client([&] {
    EXPECT_EQ(commands_.call<int>([] { return 1; }), std::nullopt);
    answered_ = true;
  });
  while (!answered_) {
    commands_.close();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  client.join();
}

}  // namespace
}  // namespace hecto::router
