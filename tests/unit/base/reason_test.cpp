// Reasons: what `hecto show drops`, the API and the configuration know them by.
#include "base/reason.hpp"

#include <gtest/gtest.h>

namespace hecto {
namespace {

TEST(Reasons, NamesAreTheirOwnAndLeadBack) {
  for (size_t i = 1; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    EXPECT_EQ(reason_by_name(info(reason).name), reason) << info(reason).name;
    EXPECT_FALSE(info(reason).description.empty()) << info(reason).name;
    EXPECT_FALSE(to_string(info(reason).stage).empty());
    EXPECT_EQ(info(reason).punt, info(reason).default_pps != 0) << info(reason).name;
  }
  EXPECT_EQ(reason_by_name("none"), Reason::kNone);
  EXPECT_EQ(reason_by_name("no such reason"), Reason::kNone);
}

}  // namespace
}  // namespace hecto
