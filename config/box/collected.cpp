#include "config/box/collected.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/text.hpp"
#include "config/file/words.hpp"

namespace hecto::config {
namespace {

constexpr uint64_t kVersion = 1, kMostVersion = 1000;
constexpr size_t kMostParts = 1024;
constexpr double kLeastNumber = 0.001, kMostNumber = 1e6;  // of any number
constexpr std::string_view kCollectedKeys[] = {"collected", "machine", "cpu",
                                               "nics",      "modules", "hwloc"};
constexpr std::string_view kCpuKeys[] = {"model", "ghz", "most_ghz", "governor"};
constexpr std::string_view kCollectedNicKeys[] = {"gt_s",       "lanes",    "most_gt_s",
                                                  "most_lanes", "gbit_s",   "driver",
                                                  "interface",  "firmware", "queues"};
constexpr std::string_view kModuleKeys[] = {"name", "gbyte", "mt_s"};

// ", KEY: VALUE" of what is there, to go between braces. A number that the reader would refuse, as
// the 0 of a module that tells no speed, is not there.
class Line {
 public:
  Line& add(std::string_view key, const std::optional<double>& value) {
    const bool told = value && *value >= kLeastNumber && *value <= kMostNumber;
    return told ? put(key, fmt::format("{:g}", *value)) : *this;
  }
  Line& add(std::string_view key, const std::string& value) {
    return value.empty() ? *this : put(key, quoted(value));
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  Line& put(std::string_view key, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", key, value);
    return *this;
  }
  std::string text_;
};

std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

void read_number(const Fields& of, std::string_view key, std::optional<double>& into) {
  if (const Value* value = of.get(key)) into = value->number(kLeastNumber, kMostNumber);
}

void read_text(const Fields& of, std::string_view key, std::string& into) {
  if (const Value* value = of.get(key)) into = value->text("words").value_or("");
}

void read_nics(const Value& map, Collected& out) {
  for (const Value::Entry& entry : map.entries("NICs by PCI address", kMostParts)) {
    const Fields of(entry.value, kCollectedNicKeys, "as {gt_s: 16, lanes: 16}");
    NicFacts& nic = out.nics[entry.key];
    read_number(of, "gt_s", nic.gt_s);
    read_number(of, "lanes", nic.lanes);
    read_number(of, "most_gt_s", nic.most_gt_s);
    read_number(of, "most_lanes", nic.most_lanes);
    read_number(of, "gbit_s", nic.gbit_s);
    read_number(of, "queues", nic.queues);
    read_text(of, "interface", nic.interface);
    read_text(of, "driver", nic.driver);
    read_text(of, "firmware", nic.firmware);
  }
}

void read_modules(const Value& list, Collected& out) {
  for (const Value& item :
       list.items("memory modules, each {name: DIMM_A1, mt_s: 4800}", kMostParts)) {
    const Fields of(item, kModuleKeys, "as {name: DIMM_A1, gbyte: 32, mt_s: 4800}");
    MemoryModule module;
    std::optional<double> gbyte, mt_s;
    read_text(of, "name", module.name);
    read_number(of, "gbyte", gbyte);
    read_number(of, "mt_s", mt_s);
    module.gbyte = gbyte.value_or(0);
    module.mt_s = mt_s.value_or(0);
    out.modules.push_back(std::move(module));
  }
}

void read_all(const Value& file, Collected& out) {
  const Fields of(file, kCollectedKeys, "collected, cpu, nics, modules, hwloc");
  if (const Value* version = of.need("collected", "as `hecto plan --collect` writes it"))
    if (const auto number = version->integer(1, kMostVersion); number && *number > kVersion)
      version->refuse(
          fmt::format("is a newer format; {} can be read here: collect with this hecto", kVersion));
  read_text(of, "machine", out.machine);
  if (const Value* cpu = of.get("cpu")) {
    const Fields parts(*cpu, kCpuKeys, "as {model: \"...\", ghz: 2.1}");
    read_text(parts, "model", out.model);
    read_text(parts, "governor", out.governor);
    read_number(parts, "ghz", out.ghz);
    read_number(parts, "most_ghz", out.most_ghz);
  }
  if (const Value* nics = of.get("nics")) read_nics(*nics, out);
  if (const Value* modules = of.get("modules")) read_modules(*modules, out);
  // Its lines are control characters to text().
  if (const Value* hwloc = of.get("hwloc")) out.hwloc = hwloc->word();
}

std::optional<unsigned> whole(const std::optional<double>& value) {
  if (!value || *value < 1 || *value > 64) return std::nullopt;
  return static_cast<unsigned>(std::lround(*value));
}

void merge(const Collected& collected, Topology& out) {
  if (!collected.model.empty()) out.cpu_model = collected.model;
  if (collected.ghz) out.ghz = collected.ghz;
  for (Nic& nic : out.nics) {
    const auto found = collected.nics.find(nic.pci);
    if (found == collected.nics.end()) continue;
    const NicFacts& facts = found->second;
    nic.pcie_gt_s = facts.gt_s;
    nic.pcie_lanes = whole(facts.lanes);
    nic.pcie_max_gt_s = facts.most_gt_s;
    nic.pcie_max_lanes = whole(facts.most_lanes);
    nic.gbit_s = facts.gbit_s;
    if (nic.interface.empty()) nic.interface = facts.interface;
  }
  const auto bandwidth = bandwidth_of(collected.modules);
  if (!bandwidth) return;
  const auto sockets = static_cast<double>(out.sockets.size());
  out.memory_gbyte_s.assign(out.sockets.size(), *bandwidth / sockets);
  out.notes.push_back(
      fmt::format("{} memory modules, taken as {:g} GB/s on each socket, before what mixed reads "
                  "and writes lose.",
                  collected.modules.size(), *bandwidth / sockets));
}

// "P1-DIMMA" of "P1-DIMMA2", "DIMM_B" of "DIMM_B1". Other names tell no channel: the letter of
// Dell's "A1" to "A16" is the socket's, and HPE's "PROC 1 DIMM 1" counts modules.
std::optional<std::string_view> channel_of(std::string_view name) {
  auto take = [&](char low, char high) {
    const bool there = !name.empty() && name.back() >= low && name.back() <= high;
    if (there) name.remove_suffix(1);
    return there;
  };
  if (!take('1', '3')) return std::nullopt;
  const std::string_view channel = name;
  if (!take('A', 'Z')) return std::nullopt;
  if (!take('_', '_')) take(' ', ' ');
  if (!name.ends_with("DIMM")) return std::nullopt;
  return channel;
}

}  // namespace

std::optional<double> bandwidth_of(const std::vector<MemoryModule>& modules) {
  constexpr double kBytesATransfer = 8;
  std::set<std::string_view> names, channels;
  double sum = 0;
  for (const MemoryModule& module : modules) {
    const auto channel = channel_of(module.name);
    // Two of one name are of two sockets, or the name does not tell all.
    if (!channel || module.mt_s == 0 || !names.insert(module.name).second) return std::nullopt;
    if (channels.insert(*channel).second) sum += module.mt_s * kBytesATransfer / 1000;
  }
  if (sum == 0) return std::nullopt;
  return sum;
}

std::string to_yaml(const Collected& collected) {
  std::string out = fmt::format(
      "# Written by `hecto plan --collect`; plan with it elsewhere: hecto plan --box THIS_FILE\n"
      "collected: {}\n{}cpu: {}\n",
      kVersion,
      collected.machine.empty() ? "" : fmt::format("machine: {}\n", quoted(collected.machine)),
      Line()
          .add("model", collected.model)
          .add("ghz", collected.ghz)
          .add("most_ghz", collected.most_ghz)
          .add("governor", collected.governor)
          .text());
  out += collected.nics.empty() ? "nics: {}\n" : "nics:\n";
  for (const auto& [pci, nic] : collected.nics)
    out += fmt::format("  {}: {}\n", quoted(pci),
                       Line()
                           .add("gt_s", nic.gt_s)
                           .add("lanes", nic.lanes)
                           .add("most_gt_s", nic.most_gt_s)
                           .add("most_lanes", nic.most_lanes)
                           .add("gbit_s", nic.gbit_s)
                           .add("interface", nic.interface)
                           .add("driver", nic.driver)
                           .add("firmware", nic.firmware)
                           .add("queues", nic.queues)
                           .text());
  out += collected.modules.empty() ? "modules: []\n" : "modules:\n";
  for (const MemoryModule& module : collected.modules)
    out += fmt::format(
        "  - {}\n",
        Line().add("name", module.name).add("gbyte", module.gbyte).add("mt_s", module.mt_s).text());
  return out + "hwloc: |\n" + indented(collected.hwloc);
}

bool looks_collected(std::string_view text) {
  constexpr std::string_view kFirst = "collected:";
  return text.starts_with(kFirst) || text.find("\ncollected:") != std::string_view::npos;
}

tl::expected<Collected, Problems> read_collected(std::string_view text, const std::string& file) {
  Collected out;
  const auto read = read_yaml(text, file, "write one with `hecto plan --collect FILE`",
                              [&](const Value& root) { read_all(root, out); });
  if (!read) return tl::unexpected(read.error());
  if (out.hwloc.find("</topology>") == std::string::npos)
    return tl::unexpected(
        Problems{fmt::format("{}: is cut: its hwloc part does not end; copy it again, or write it "
                             "again with `hecto plan --collect`",
                             file)});
  return out;
}

tl::expected<Topology, Problems> parse_collected(std::string_view text, const std::string& file) {
  const auto collected = read_collected(text, file);
  if (!collected) return tl::unexpected(collected.error());
  auto topology = parse_topology(collected->hwloc, file);
  if (!topology) return tl::unexpected(Problems{topology.error()});
  merge(*collected, *topology);
  return std::move(*topology);
}

}  // namespace hecto::config
