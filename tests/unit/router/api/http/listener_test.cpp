#include "router/api/http/listener.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "tests/unit/router/api/scratch.hpp"

namespace hecto::router {
namespace {

using test::RawClient;
using test::Scratch;

TEST(Listener, MakesTheDirectoryAndTheSocketWithMode0660) {
  const Scratch scratch;
  const std::string path = scratch / "deep/er/hecto.sock";
  const auto listener = Listener::open(path);
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0660u);
  EXPECT_TRUE(RawClient(path).connected());
}

TEST(Listener, ReplacesAStaleSocket) {
  const Scratch scratch;
  const std::string path = scratch / "hecto.sock";
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(fd);  // as a killed router leaves it
  std::ofstream(path + ".lock") << "";
  ASSERT_FALSE(RawClient(path).connected());

  const auto listener = Listener::open(path);
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_TRUE(RawClient(path).connected());
}

TEST(Listener, RefusesASocketThatIsServedAndNamesWho) {
  const Scratch scratch;
  const std::string path = scratch / "hecto.sock";
  const auto first = Listener::open(path);
  ASSERT_TRUE(first);
  const auto second = Listener::open(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "API socket " + path + ": another router (pid " + std::to_string(::getpid()) +
                ") serves it; stop that one, or give this one another API socket");
  EXPECT_TRUE(RawClient(path).connected()) << "the first one must go on";
}

TEST(Listener, RefusesASocketThatAnotherProgramServesWithoutALock) {
  const Scratch scratch;
  const std::string path = scratch / "hecto.sock";
  const auto first = Listener::open(path);
  ASSERT_TRUE(first);
  ASSERT_EQ(::unlink((path + ".lock").c_str()), 0);
  const auto second = Listener::open(path);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("serves it"), std::string::npos) << second.error().message;
}

TEST(Listener, LeavesAFileThatIsNoSocketAlone) {
  const Scratch scratch;
  const std::string path = scratch / "precious";
  std::ofstream(path) << "text";
  const auto listener = Listener::open(path);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().message, "API socket " + path +
                                          ": exists and is not a socket; remove it, or choose "
                                          "another path");
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST(Listener, RefusesPathsThatAreTooLongRelativeOrNotWritable) {
  const Scratch scratch;
  const auto too_long = Listener::open(scratch / std::string(120, 'x'));
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().message.find("use at most 107"), std::string::npos);
  EXPECT_FALSE(Listener::open("hecto.sock"));
  EXPECT_FALSE(Listener::open(""));
  const auto nowhere = Listener::open("/proc/hecto/hecto.sock");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("cannot create the directory /proc/hecto"),
            std::string::npos)
      << nowhere.error().message;
}

TEST(Listener, LeavesNothingBehind) {
  const Scratch scratch;
  const std::string path = scratch / "hecto.sock";
  { ASSERT_TRUE(Listener::open(path)); }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
  EXPECT_TRUE(Listener::open(path));
}

TEST(Listener, GivesThePathToExactlyOneOfManyThatStartTogether) {
  const Scratch scratch;
  const std::string path = scratch / "hecto.sock";
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    std::vector<std::optional<Listener>> listeners(4);
    for (auto& slot : listeners) {
      threads.emplace_back([&] {
        if (auto listener = Listener::open(path)) slot.emplace(std::move(*listener));
      });
    }
    for (auto& thread : threads) thread.join();
    int owners = 0;
    for (const auto& slot : listeners) owners += slot.has_value();
    ASSERT_EQ(owners, 1) << "round " << round;
    EXPECT_TRUE(RawClient(path).connected());
  }
}

}  // namespace
}  // namespace hecto::router
