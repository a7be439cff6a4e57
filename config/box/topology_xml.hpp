// An hwloc XML export as the hwloc here takes it: one of hwloc 3 is written down to version 2, and
// what is no whole export is refused with what to do. Pure.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace hecto::config {

// How to get a file that can be read, after what is wrong with this one.
inline constexpr std::string_view kAgain = "write it again with `lstopo box.xml`";
inline constexpr std::string_view kNoExport =
    "not an hwloc XML export; write one with `lstopo box.xml`";

tl::expected<std::string, std::string> readable_xml(const std::string& xml,
                                                    const std::string& source);

// This machine's, for elsewhere.
tl::expected<std::string, std::string> export_topology();

}  // namespace hecto::config
