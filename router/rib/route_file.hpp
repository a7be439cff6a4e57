// Route files, from disk or from memory, gzip-compressed or not, the format recognised:
//
//   prefixes  one a line: 203.0.113.0/24 [via GATEWAY [dev IF] [weight N]]... [dev IF]; # comments
//   bgpdump   the text of `bgpdump -m`: TABLE_DUMP2|time|B|peer|as|prefix|path|origin|next hop|...
//   MRT       RFC 6396 TABLE_DUMP_V2 (also RFC 8050 additional paths) and TABLE_DUMP
//
// The input is not trusted. A file that is malformed anywhere (a bad line or record, gzip data that
// is cut off or fails its checksum) is refused as a whole, with its line or byte, unless skip_bad
// asks for what is good of it. Well-formed entries that are of no use here (multicast, updates) are
// passed over and counted. Where several peers tell a prefix one after another the first counts.
// Not seen: that an unpacked file ends too early, when it ends where a line or record does.
//
// Pure functions, thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_budget.hpp"
#include "base/result.hpp"
#include "router/rib/route_table.hpp"

namespace hecto::router {

enum class RouteFileFormat : uint8_t { kPrefixes, kBgpdump, kMrt };
std::string_view to_string(RouteFileFormat format) noexcept;

struct RouteFileOptions {
  // For prefixes without a next hop, and instead of the next hops of bgpdump and MRT, which are
  // those of somebody else's peers. An IPv6 prefix takes the IPv6 gateways; an IPv4 prefix the
  // IPv4 ones, or where there are none the IPv6 ones (RFC 8950).
  std::vector<NextHop> via;
  // true: all of `via` together. false: number 1 + fnv1a32(text of the prefix) mod N of the N that
  // fit the family, so that every tool agrees and neighbors in the table differ.
  bool ecmp = false;
  // Turns the name behind `dev` into a next hop's interface; kNoInterface for unknown names.
  std::function<InterfaceId(std::string_view name)> find_interface;
  size_t max_bytes = size_t{1} << 30;  // after decompression
  // A bad line or record is passed over and reported instead of refusing the file. Where nothing
  // says how long a damaged part is (gzip, lengths of MRT) the rest of the file goes with it.
  bool skip_bad = false;
  // Where not null: what is unpacked and read takes of it, step by step. What it holds at the end
  // is the table's. Spent: ENOBUFS.
  ByteReservation* memory = nullptr;
};

struct RouteFile {
  RouteFileFormat format = RouteFileFormat::kPrefixes;
  RouteTable table;
  size_t skipped = 0;                 // well-formed
  size_t bad = 0;                     // with skip_bad
  std::vector<std::string> problems;  // of the first ten skipped, of the first thousand bad
};

// `label` names the input in errors.
Result<RouteFile> parse_routes(std::string_view bytes, const RouteFileOptions& options,
                               const std::string& label = "input");
Result<RouteFile> read_routes(const std::string& path, const RouteFileOptions& options);
Result<std::string> read_file(const std::string& path, size_t max_bytes);

// No memory is left to who sent the routes: the refusal, which names the input.
tl::unexpected<Error> out_of_memory(const std::string& label);
uint32_t fnv1a32(std::string_view text) noexcept;

}  // namespace hecto::router
