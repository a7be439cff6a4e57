#include "router/rib/route_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "router/rib/route_builder.hpp"

namespace hecto::router {

namespace {

constexpr size_t kShownText = 40;

// As it may stand in an error: short, and printable.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, kShownText));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > kShownText ? out + "..." : out;
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // Without its end, LF or CR LF.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    ++number_;
    size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }
  size_t number() const { return number_; }

 private:
  std::string_view rest_;
  size_t number_ = 0;
};

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Cuts the first word off `rest`; empty at the end.
std::string_view word(std::string_view& rest) {
  size_t start = 0;
  while (start < rest.size() && is_blank(rest[start])) ++start;
  size_t end = start;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  std::string_view found = rest.substr(start, end - start);
  rest.remove_prefix(end);
  return found;
}

std::optional<uint16_t> parse_weight(std::string_view text) {
  unsigned value = 0;
  if (text.empty() || text.size() > 3) return std::nullopt;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  if (value < 1 || value > 256) return std::nullopt;
  return static_cast<uint16_t>(value);
}

// What follows the prefix: [via GATEWAY [dev IF] [weight N]]... or dev IF. The empty string
// becomes an empty list.
tl::expected<std::vector<NextHop>, std::string> parse_next_hops(std::string_view rest,
                                                                const RouteFileOptions& options) {
  std::vector<NextHop> hops;
  for (std::string_view key = word(rest); !key.empty(); key = word(rest)) {
    std::string_view value = word(rest);
    if (key == "via") {
      auto gateway = IpAddress::parse(value);
      if (!gateway) {
        return tl::unexpected(
            fmt::format("via: \"{}\" is no address; use one like 192.0.2.1", shown(value)));
      }
      hops.emplace_back().gateway = gateway;
    } else if (key == "dev") {
      if (hops.empty()) hops.emplace_back();
      InterfaceId id = options.find_interface ? options.find_interface(value) : kNoInterface;
      if (id == kNoInterface) {
        return tl::unexpected(fmt::format("dev: there is no interface \"{}\"", shown(value)));
      }
      hops.back().interface = id;
    } else if (key == "weight" && !hops.empty()) {
      auto weight = parse_weight(value);
      if (!weight) {
        return tl::unexpected(
            fmt::format("weight: \"{}\" is out of range; use 1 to 256", shown(value)));
      }
      hops.back().weight = *weight;
    } else {
      return tl::unexpected(
          fmt::format("\"{}\" is not known here; use via, dev or weight", shown(key)));
    }
  }
  return hops;
}

bool fits(const std::vector<NextHop>& hops, Family family) {
  return family == Family::kIpv4 || std::none_of(hops.begin(), hops.end(), [](const NextHop& hop) {
           return hop.gateway && hop.gateway->family == Family::kIpv4;
         });
}

std::string no_prefix(std::string_view text) {
  return fmt::format("\"{}\" is no prefix; use one like 203.0.113.0/24 (host bits zero)",
                     shown(text));
}

std::string no_via(const IpPrefix& prefix) {
  return fmt::format("{} has no next hop; give {} gateway with via", prefix.to_string(),
                     prefix.address.family == Family::kIpv4 ? "a" : "an IPv6");
}

std::string_view nth_field(std::string_view line, unsigned n) {
  for (; n > 0; --n) {
    size_t bar = line.find('|');
    if (bar == std::string_view::npos) return {};
    line.remove_prefix(bar + 1);
  }
  return line.substr(0, line.find('|'));
}

// Why a line is bad.
using LineResult = tl::expected<void, std::string>;

class PrefixListParser {
 public:
  PrefixListParser(const RouteFileOptions& options, RouteBuilder& builder)
      : options_(options), builder_(builder) {}

  LineResult line(std::string_view line, size_t number) {
    line = line.substr(0, line.find('#'));
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    std::string_view first = word(line);
    if (first.empty()) return {};
    auto prefix = first == "default" ? IpPrefix::parse("0.0.0.0/0") : IpPrefix::parse(first);
    if (!prefix) return tl::unexpected(no_prefix(first));
    if (line.empty()) {
      if (builder_.add_by_via(*prefix, first)) return {};
      if (!builder_.has_via()) return tl::unexpected(no_via(*prefix));
      builder_.skip(fmt::format("line {}: {}", number, no_via(*prefix)));
      return {};
    }
    auto found = known_.find(line);
    if (found == known_.end()) {
      auto hops = parse_next_hops(line, options_);
      if (!hops) return tl::unexpected(hops.error());
      found = known_.emplace(line, builder_.add_set(std::move(*hops))).first;
    }
    if (!fits(builder_.set(found->second), prefix->address.family)) {
      return tl::unexpected(
          fmt::format("{} is an IPv6 prefix with an IPv4 gateway", prefix->to_string()));
    }
    builder_.add(*prefix, found->second);
    return {};
  }

 private:
  const RouteFileOptions& options_;
  RouteBuilder& builder_;
  // Next hops by their text: lists have few different ones.
  std::unordered_map<std::string_view, uint32_t> known_;
};

LineResult bgpdump_line(std::string_view line, size_t number, RouteBuilder& builder) {
  if (line.empty() || line[0] == '#') return {};
  if (line.starts_with("BGP4MP")) {
    builder.skip(fmt::format("line {}: an update, not a table", number));
    return {};
  }
  if (!line.starts_with("TABLE_DUMP")) {
    return tl::unexpected(fmt::format("\"{}\" is no line of bgpdump -m", shown(line)));
  }
  std::string_view prefix_text = nth_field(line, 5);
  auto prefix = IpPrefix::parse(prefix_text);
  if (!prefix) return tl::unexpected(no_prefix(prefix_text));
  if (builder.repeats_last(*prefix)) return {};
  if (builder.has_via()) {
    if (!builder.add_by_via(*prefix, prefix_text)) {
      builder.skip(fmt::format("line {}: {}", number, no_via(*prefix)));
    }
    return {};
  }
  std::string_view gateway_text = nth_field(line, 8);
  auto gateway = IpAddress::parse(gateway_text.substr(0, gateway_text.find(' ')));
  if (!gateway) {
    return tl::unexpected(fmt::format("next hop \"{}\" is no address", shown(gateway_text)));
  }
  if (gateway->family == Family::kIpv4 && prefix->address.family == Family::kIpv6) {
    builder.skip(fmt::format("line {}: {} has an IPv4 next hop", number, prefix_text));
    return {};
  }
  builder.add(*prefix, builder.set_of_gateway(*gateway));
  return {};
}

// Calls parse(line, number) for every line.
template <typename Parse>
Result<RouteFile> parse_lines(std::string_view text, RouteBuilder& builder, Parse parse) {
  std::string_view line;
  for (Lines lines(text); lines.next(line);) {
    if (builder.starved()) break;
    if (LineResult parsed = parse(line, lines.number()); !parsed) {
      auto passed_over = builder.bad_line(lines.number(), parsed.error());
      if (!passed_over) return tl::unexpected(passed_over.error());
    }
  }
  return builder.finish();
}

}  // namespace

Result<RouteFile> parse_prefixes(std::string_view text, const RouteFileOptions& options,
                                 const std::string& label) {
  RouteBuilder builder(options, RouteFileFormat::kPrefixes, label);
  builder.expect(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  PrefixListParser parser(options, builder);
  return parse_lines(text, builder, [&parser](std::string_view line, size_t number) {
    return parser.line(line, number);
  });
}

Result<RouteFile> parse_bgpdump(std::string_view text, const RouteFileOptions& options,
                                const std::string& label) {
  RouteBuilder builder(options, RouteFileFormat::kBgpdump, label);
  return parse_lines(text, builder, [&builder](std::string_view line, size_t number) {
    return bgpdump_line(line, number, builder);
  });
}

}  // namespace hecto::router
