// Any bytes as a file of prefixes that a set names: refused with a line, or prefixes, sorted and each
// once, that written one a line are read as the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/file/prefix_file.hpp"
#include "config/file/prefix_groups.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hecto::config;
  constexpr size_t kMost = 100;
  const auto read = parse_prefix_lines({reinterpret_cast<const char*>(data), size}, kMost);
  if (!read) {
    require(read.error().find(": ") != std::string::npos && read.error().size() < 300);
    return 0;
  }
  require(read->size() <= kMost && std::is_sorted(read->begin(), read->end()));
  require(std::adjacent_find(read->begin(), read->end()) == read->end());
  PrefixSetConfig set;
  for (const auto& prefix : *read) set.file += prefix.to_string() + "\n";
  const auto again = parse_prefix_lines(set.file, kMost);
  require(again && *again == *read);
  set.prefixes = *read;
  for (const auto family : {hecto::lookup::Family::kIpv4, hecto::lookup::Family::kIpv6}) {
    const PrefixGroup group(set, family);
    for (const auto& prefix : *read) {
      if (prefix.address.family != family) continue;
      require(group.contains(prefix) && group.bounds()->length <= prefix.length &&
              group.bounds()->contains(prefix.address));
    }
  }
  return 0;
}
