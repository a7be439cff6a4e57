// An owned descriptor is closed once, by whoever has it last.
#include "base/file_descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

namespace hecto {
namespace {

int open_null() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}
bool is_open(int fd) {
  return fcntl(fd, F_GETFD) != -1;
}

TEST(FileDescriptor, OwnsNothingAtFirst) {
  const FileDescriptor none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
}

TEST(FileDescriptor, DescriptorZeroIsOne) {
  FileDescriptor zero(0);
  EXPECT_TRUE(zero);
  EXPECT_EQ(zero.release(), 0);
}

TEST(FileDescriptor, IsClosedAtTheEndOfItsScope) {
  const int fd = open_null();
  {
    const FileDescriptor owned(fd);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(FileDescriptor, AMoveTakesItAlong) {
  const int fd = open_null();
  FileDescriptor first(fd);
  {
    const FileDescriptor second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what a move leaves is the question
    EXPECT_EQ(second.get(), fd);
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(FileDescriptor, AssignmentClosesWhatWasThere) {
  const int before = open_null(), after = open_null();
  FileDescriptor owned(before);
  owned = FileDescriptor(after);
  EXPECT_FALSE(is_open(before));
  EXPECT_TRUE(is_open(after));
  FileDescriptor& itself = owned;
  owned = std::move(itself);
  EXPECT_EQ(owned.get(), after);
  EXPECT_TRUE(is_open(after));
}

TEST(FileDescriptor, ReleasedItIsTheCallers) {
  const int fd = open_null();
  {
    FileDescriptor owned(fd);
    EXPECT_EQ(owned.release(), fd);
    EXPECT_FALSE(owned);
  }
  EXPECT_TRUE(is_open(fd));
  close(fd);
}

TEST(FileDescriptor, ResetTwiceClosesOnce) {
  FileDescriptor owned(open_null());
  owned.reset();
  const int next = open_null();  // the number may be that of the first
  owned.reset();
  EXPECT_TRUE(is_open(next));
  close(next);
}

}  // namespace
}  // namespace hecto
