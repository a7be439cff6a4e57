// Route files of any bytes: refused or read, never read beyond their end.
#include <cstddef>
#include <cstdint>

#include "router/rib/route_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hecto;
  using namespace hecto::router;
  static RouteFileOptions options = [] {
    RouteFileOptions with_via;
    with_via.max_bytes = size_t{1} << 20;
    with_via.find_interface = [](std::string_view) { return InterfaceId{1}; };
    return with_via;
  }();
  options.skip_bad = size % 2 == 0;
  auto file = parse_routes({reinterpret_cast<const char*>(data), size}, options);
  if (!file) return 0;
  for (const RouteTable::Entry& entry : file->table.entries) {
    if (entry.next_hop_set >= file->table.next_hop_sets.size()) __builtin_trap();
    if (entry.prefix.network() != entry.prefix) __builtin_trap();
  }
  return 0;
}
