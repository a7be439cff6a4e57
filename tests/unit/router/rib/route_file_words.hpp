// What a route file says, in a few words, and files that are packed.
#pragma once

#include <fmt/format.h>
#include <zlib.h>

#include <string>
#include <string_view>
#include <vector>

#include "router/rib/route_file.hpp"

namespace hecto::router::test {

inline RouteFileOptions with_via(const std::vector<std::string>& gateways) {
  RouteFileOptions options;
  for (const std::string& gateway : gateways) {
    options.via.emplace_back().gateway = IpAddress::parse(gateway);
  }
  options.find_interface = [](std::string_view name) {
    return name == "wan0" ? InterfaceId{7} : kNoInterface;
  };
  return options;
}

// "PREFIX>GATEWAY,GATEWAY ..."
inline std::string words(const RouteFile& file) {
  std::string text;
  for (const RouteTable::Entry& entry : file.table.entries) {
    text += fmt::format("{}{}>", text.empty() ? "" : " ", entry.prefix.to_string());
    const auto& hops = file.table.next_hop_sets[entry.next_hop_set];
    for (size_t i = 0; i < hops.size(); ++i) {
      text += i == 0 ? "" : ",";
      text += hops[i].gateway ? hops[i].gateway->to_string() : "link";
      if (hops[i].interface != kNoInterface) text += fmt::format("%{}", hops[i].interface);
      if (hops[i].weight != 1) text += fmt::format("*{}", hops[i].weight);
    }
  }
  return text;
}

inline std::string parsed(std::string_view bytes, const RouteFileOptions& options = with_via({})) {
  auto file = parse_routes(bytes, options, "f");
  return file ? words(*file) : file.error().message;
}

inline std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace hecto::router::test
