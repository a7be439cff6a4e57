#include "bench/traffic/spec_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "bench/traffic/pcap.hpp"
#include "bench/traffic/spec_problems.hpp"
#include "config/file/addresses.hpp"
#include "config/file/load_ports.hpp"
#include "config/file/reader.hpp"
#include "router/rib/route_file.hpp"

namespace hecto::bench {
namespace {

using config::Fields;
using config::Value;
using lookup::IpPrefix;
using namespace std::string_view_literals;

constexpr auto kFileKeys =
    std::to_array({"ports"sv, "streams"sv, "rate"sv, "duration"sv, "timestamps"sv});
constexpr auto kPortKeys = std::to_array({"device"sv, "mtu"sv, "addresses"sv, "gateways"sv, "mac"sv,
                                          "line"sv, "rx_descriptors"sv, "tx_descriptors"sv});
constexpr auto kStreamKeys = std::to_array(
    {"from"sv, "to"sv, "both_ways"sv, "family"sv, "size"sv, "weight"sv, "vlan"sv, "flows"sv,
     "source"sv, "destinations"sv, "destination_mac"sv, "replay"sv, "expect"sv});
constexpr auto kFamilyKeys = std::to_array({"size"sv, "source"sv, "destinations"sv});
constexpr auto kDestinationKeys = std::to_array({"kind"sv, "prefixes"sv, "routes"sv, "count"sv});
constexpr auto kSizeKeys = std::to_array({"bytes"sv, "weight"sv});
constexpr auto kExpectKeys = std::to_array({"hops"sv, "destination_mac"sv, "vlan"sv});
constexpr auto kTraceKeys = std::to_array({"trace"sv});

constexpr config::Enumerator kFamilies[] = {{"ipv4", static_cast<int>(lookup::Family::kIpv4)},
                                            {"ipv6", static_cast<int>(lookup::Family::kIpv6)}};
constexpr config::Enumerator kKinds[] = {{"uniform", static_cast<int>(Destinations::kUniform)},
                                         {"in-table", static_cast<int>(Destinations::kInTable)},
                                         {"zipf", static_cast<int>(Destinations::kZipf)}};
constexpr std::string_view kSizeWords =
    "64 to 9022, imix, a list as [{bytes: 64, weight: 7}], or "
    "{trace: FILE}";

constexpr std::string_view kExpectWords =
    "router, wire, or what a router does, as {hops: 2, destination_mac: 02:00:00:00:00:01, vlan: "
    "7}";

class SpecReader {
 public:
  SpecReader(TrafficSpec& spec, std::filesystem::path folder)
      : spec_(spec), folder_(std::move(folder)) {}

  void read(const Value& root) {
    const Fields fields(root, kFileKeys, "KEY: VALUE lines");
    file_line_ = root.line();
    if (const Value* ports = fields.need("ports", "at least one, as {a: {device: eth1}}"))
      for (const Value::Entry& entry : ports->entries("ports by name", 64)) read_port(entry);
    if (const Value* streams = fields.need("streams", "at least one, as {v4: {size: 64}}"))
      for (const Value::Entry& entry : streams->entries("streams by name", kMaxStreams))
        read_stream(entry);
    if (const Value* rate = fields.get("rate")) read_rate(*rate, spec_.rate, true);
    if (const Value* seconds = fields.get("duration"))
      if (auto number = seconds->number(0.001, 1e7)) spec_.seconds = *number;
    if (const Value* timestamps = fields.get("timestamps"))
      if (auto on = timestamps->boolean()) spec_.timestamps = *on;
    for (const SpecProblem& problem : find_problems(spec_)) tell(problem, root.report());
  }

 private:
  struct Lines {
    uint32_t stream;
    std::string path;
    std::map<std::string, uint32_t, std::less<>> keys;
  };

  // Nothing of a value that was refused, nor of what follows from one: the spec has its default.
  void tell(const SpecProblem& problem, config::Report& report) const {
    if (problem.stream == SpecProblem::kFile) {
      if (!report.tells(problem.key)) report.add(file_line_, problem.key, problem.text);
      return;
    }
    const Lines& lines = lines_[problem.stream];
    const std::string path = fmt::format("{}.{}", lines.path, problem.key);
    const bool of_family = std::ranges::find(kFamilyKeys, problem.key) != kFamilyKeys.end();
    if (report.tells(path) || (of_family && report.tells(lines.path + ".family"))) return;
    const auto key = lines.keys.find(problem.key);
    report.add(key == lines.keys.end() ? lines.stream : key->second, path, problem.text);
  }

  std::string path(const std::string& name) const {
    return std::filesystem::path(name).is_absolute() ? name : (folder_ / name).string();
  }

  static void read_rate(const Value& value, TrafficRate& rate, bool any) {
    const auto parsed = parse_rate(value.word());
    if (!parsed || (!any && parsed->unit != TrafficRate::Unit::kBps))
      value.refuse(any ? "is not a rate; use max, or a number as 10Mpps, 5Gbps or 40%"
                       : "is not the speed of a line; use a number as 10Gbps");
    else
      rate = *parsed;
  }

  void read_port(const Value::Entry& entry) {
    TrafficPort port;
    port.port.name = entry.key;
    const Fields fields(entry.value, kPortKeys, "a map, as {device: eth1}");
    if (const Value* device = fields.need("device", "a PCI address, vdev or kernel interface"))
      config::read_device(*device, port.port);
    config::read_integer(fields.get("mtu"), 576, 9000, port.port.mtu);
    config::read_integer(fields.get("rx_descriptors"), 64, 32768, port.port.rx_descriptors);
    config::read_integer(fields.get("tx_descriptors"), 64, 32768, port.port.tx_descriptors);
    if (const Value* mac = fields.get("mac")) port.port.mac = config::read_mac(*mac);
    if (const Value* list = fields.get("addresses"))
      for (const Value& item : list->items("a list of addresses, as [192.0.2.1/24]"))
        if (auto address = config::read_interface_address(item))
          port.port.addresses.push_back(*address);
    if (const Value* list = fields.get("gateways"))
      for (const Value& item : list->items("a list of addresses, as [192.0.2.254]"))
        read_gateway(item, port);
    if (const Value* line = fields.get("line")) {
      TrafficRate rate;
      read_rate(*line, rate, false);
      port.line_bps = static_cast<uint64_t>(rate.value);
    }
    spec_.ports.push_back(std::move(port));
  }

  static void read_gateway(const Value& item, TrafficPort& port) {
    const auto address = lookup::IpAddress::parse(item.word());
    if (!address) {
      item.refuse("is not an address; use one as 192.0.2.254");
      return;
    }
    const auto& own = port.port.addresses;
    if (std::none_of(own.begin(), own.end(),
                     [&](const IpPrefix& a) { return a.address.family == address->family; }))
      item.refuse(
          "has no port's address of its family beside it to ask from; add one to "
          "addresses");
    port.gateways.push_back(*address);
  }

  void read_stream(const Value::Entry& entry) {
    StreamSpec stream;
    stream.name = entry.key;
    const Fields fields(entry.value, kStreamKeys, "a map, as {size: 64}");
    Lines lines{entry.value.line(), entry.value.path(), {}};
    for (const std::string_view key : kStreamKeys)
      if (const Value* value = fields.get(key)) lines.keys[std::string(key)] = value->line();
    if (!spec_.ports.empty()) {
      stream.from = spec_.ports.front().port.name;
      stream.to = spec_.ports.back().port.name;
    }
    for (const auto& [key, name] : {std::pair("from", &stream.from), std::pair("to", &stream.to)})
      if (const Value* value = fields.get(key))
        if (auto text = value->text("a port of this file")) *name = *text;
    if (const Value* family = fields.get("family"))
      if (auto word = family->one_of(kFamilies)) stream.family = static_cast<lookup::Family>(*word);
    config::read_integer(fields.get("weight"), 1, kMostWeight, stream.weight);
    config::read_integer(fields.get("vlan"), 1, 4094, stream.vlan);
    if (const Value* size = fields.get("size")) read_size(*size, stream);
    config::read_integer(fields.get("flows"), 1, kMostDestinations, stream.flows);
    if (const Value* source = fields.get("source")) {
      stream.source = lookup::IpAddress::parse(source->word());
      if (!stream.source) source->refuse("is not an address; use one as 198.18.0.1");
    }
    if (const Value* where = fields.get("destinations")) read_destinations(*where, stream);
    if (const Value* mac = fields.get("destination_mac"))
      stream.destination_mac = config::read_mac(*mac);
    if (const Value* expect = fields.get("expect")) read_expectation(*expect, stream.expect);
    if (const Value* file = fields.get("replay")) read_replay(*file, fields, stream);
    spec_.streams.push_back(stream);
    lines_.push_back(lines);
    const Value* both = fields.get("both_ways");
    if (both == nullptr || !both->boolean().value_or(false)) return;
    if (stream.expect.destination_mac)
      both->complain("not together with expect: {destination_mac: ...}; name two streams");
    std::swap(stream.from, stream.to);
    stream.name += "-back";
    spec_.streams.push_back(std::move(stream));
    lines_.push_back(std::move(lines));
  }

  void read_replay(const Value& file, const Fields& fields, StreamSpec& stream) const {
    for (const std::string_view key :
         {"family"sv, "size"sv, "vlan"sv, "flows"sv, "source"sv, "destinations"sv, "expect"sv})
      if (const Value* value = fields.get(key))
        value->complain(
            "not together with replay, which sends the frames of a capture; take one "
            "of them out");
    auto text = file.text("a file in the pcap or pcapng format");
    if (!text) return;
    stream.replay = path(*text);
    if (auto capture = read_capture(stream.replay); !capture)
      file.complain(capture.error().message);
  }

  static void read_expectation(const Value& value, Expectation& expect) {
    if (value.kind() == config::NodeKind::kScalar) {
      expect.wire = value.is_word("wire");
      if (!expect.wire && !value.is_word("router"))
        value.refuse(fmt::format("is not what comes back; use {}", kExpectWords));
      return;
    }
    const Fields fields(value, kExpectKeys, kExpectWords);
    config::read_integer(fields.get("hops"), 0, kMostHops, expect.hops);
    config::read_integer(fields.get("vlan"), 0, 4094, expect.vlan);
    if (const Value* mac = fields.get("destination_mac"))
      expect.destination_mac = config::read_mac(*mac);
  }

  void read_size(const Value& value, StreamSpec& stream) const {
    if (value.kind() == config::NodeKind::kScalar) {
      if (auto sizes = parse_sizes(value.word()))
        stream.sizes = *sizes;
      else
        value.refuse(fmt::format("is not a size; use {}", kSizeWords));
    } else if (value.kind() == config::NodeKind::kMap) {
      const Fields fields(value, kTraceKeys, kSizeWords);
      if (const Value* trace = fields.need("trace", "a file in the pcap or pcapng format"))
        read_trace(*trace, stream);
    } else {
      stream.sizes.clear();
      for (const Value& item : value.items(kSizeWords, 1024)) {
        FrameSize size;
        if (item.kind() == config::NodeKind::kScalar) {
          config::read_integer(&item, kMinFrame_bytes, kMaxFrame_bytes, size.bytes);
          stream.sizes.push_back(size);
          continue;
        }
        const Fields fields(item, kSizeKeys, "a map, as {bytes: 64, weight: 7}");
        if (const Value* bytes = fields.need("bytes", "64 to 9022"))
          config::read_integer(bytes, kMinFrame_bytes, kMaxFrame_bytes, size.bytes);
        config::read_integer(fields.get("weight"), 1, 65536, size.weight);
        stream.sizes.push_back(size);
      }
    }
  }

  // The sizes of a capture's frames, those below the least that we can send as that.
  void read_trace(const Value& value, StreamSpec& stream) const {
    const auto name = value.text("a file in the pcap or pcapng format");
    if (!name) return;
    const auto capture = read_capture(path(*name));
    if (!capture) {
      value.complain(capture.error().message);
      return;
    }
    stream.sizes.clear();
    stream.sizes_in_order = true;
    for (const Capture::Frame& frame : capture->frames) {
      const uint32_t bytes = std::max<uint32_t>(frame.on_wire + kFcs_bytes, least_bytes(stream));
      if (bytes > kMaxFrame_bytes) {
        value.complain(fmt::format("{}: a frame of {} bytes; at most {} can be sent", *name, bytes,
                                   kMaxFrame_bytes));
        return;
      }
      stream.sizes.push_back({static_cast<uint16_t>(bytes), 1});
    }
  }

  void read_destinations(const Value& value, StreamSpec& stream) const {
    TrafficDestinations& destinations = stream.destinations;
    if (value.is_word("uniform")) {
      destinations.kind = Destinations::kUniform;
    } else if (value.kind() == config::NodeKind::kMap) {
      const Fields fields(value, kDestinationKeys, "a map, as {routes: FILE, kind: zipf}");
      if (const Value* kind = fields.get("kind"))
        if (auto word = kind->one_of(kKinds)) destinations.kind = static_cast<Destinations>(*word);
      config::read_integer(fields.get("count"), 1, kMostDestinations, destinations.count);
      const Value* prefixes = fields.get("prefixes");
      const Value* routes = fields.get("routes");
      if (prefixes != nullptr && routes != nullptr)
        routes->complain("not together with prefixes; take one of them out");
      else if (prefixes != nullptr)
        read_prefixes(*prefixes, destinations);
      else if (routes != nullptr)
        read_routes(*routes, stream);
      else if (destinations.kind != Destinations::kUniform)
        value.complain("names no prefixes; add prefixes or routes, or use kind: uniform");
    } else {
      read_prefixes(value, destinations);
    }
  }

  static void read_prefixes(const Value& value, TrafficDestinations& destinations) {
    const auto one = [&](const Value& item) {
      if (auto prefix = IpPrefix::parse(item.word()))
        destinations.prefixes.push_back(*prefix);
      else
        item.refuse("is not a destination; use uniform, a prefix or an address");
    };
    if (value.kind() == config::NodeKind::kScalar)
      one(value);
    else
      for (const Value& item : value.items("a list of prefixes", kMostDestinations)) one(item);
  }

  void read_routes(const Value& value, StreamSpec& stream) const {
    const auto name = value.text("a file of routes");
    if (!name) return;
    router::RouteFileOptions options;
    for (const char* gateway : {"192.0.2.1", "2001:db8::1"})
      options.via.push_back({*lookup::IpAddress::parse(gateway), 0, 1});
    const auto file = router::read_routes(path(*name), options);
    if (!file) {
      value.complain(file.error().message);
      return;
    }
    for (const router::RouteTable::Entry& entry : file->table.entries)
      if (entry.prefix.address.family == stream.family)
        stream.destinations.prefixes.push_back(entry.prefix);
    if (stream.destinations.prefixes.empty())
      value.complain(fmt::format("{}: no prefix of the stream's family", *name));
  }

  TrafficSpec& spec_;
  std::filesystem::path folder_;
  uint32_t file_line_ = 1;
  std::vector<Lines> lines_;
};

}  // namespace

tl::expected<TrafficSpec, SpecProblems> parse_traffic(std::string_view yaml,
                                                      const std::string& file) {
  TrafficSpec spec;
  spec.file = file;
  SpecReader reader(spec, std::filesystem::path(file).parent_path());
  auto done = config::read_yaml(
      yaml, file, "name ports: and streams:", [&](const Value& root) { reader.read(root); });
  if (!done) return tl::unexpected(done.error());
  return spec;
}

tl::expected<TrafficSpec, SpecProblems> load_traffic(const std::string& file,
                                                     const std::vector<std::string>& devices) {
  // A capture may be larger than a document.
  auto bytes = router::read_file(file, CaptureLimits{}.bytes);
  if (!bytes) return tl::unexpected(SpecProblems{bytes.error().message});
  if (!is_capture(*bytes)) {
    if (!devices.empty())
      return tl::unexpected(
          SpecProblems{fmt::format("{}: names its ports itself; --port is for captures", file)});
    return parse_traffic(*bytes, file);
  }
  if (auto capture = parse_capture(*bytes, file); !capture)
    return tl::unexpected(SpecProblems{capture.error().message});
  if (devices.empty())
    return tl::unexpected(SpecProblems{fmt::format(
        "{}: a capture says nothing of ports; name one or two with --port DEVICE", file)});
  TrafficSpec spec = make_spec(devices.front(), devices.back());
  spec.file = file;
  spec.streams[0].replay = file;
  return spec;
}

}  // namespace hecto::bench
