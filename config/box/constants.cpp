#include "config/box/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/text.hpp"
#include "config/file/reader.hpp"
#include "config/file/words.hpp"

namespace hecto::config {
namespace {

constexpr double kLeastConstant = 1e-6;  // of any unit: less is no measurement
constexpr double kHuge = std::numeric_limits<double>::max();
constexpr std::string_view kFileKeys[] = {"machine", "written", "constants"};

std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const ConstantInfo& row : constants_table()) out.push_back(row.name);
  return out;
}

bool is_cycles(const ConstantInfo& row) {
  return row.unit.starts_with("cycles/");
}

}  // namespace

Constants::Constants() {
  for (const ConstantInfo& row : constants_table())
    values_[static_cast<size_t>(row.id)] = row.value;
}

void Constants::set(Constant constant, double value, std::string source) {
  values_[static_cast<size_t>(constant)] = value;
  sources_[constant] = std::move(source);
}

std::string_view Constants::source(Constant constant) const {
  const auto set = sources_.find(constant);
  return set == sources_.end() ? info(constant).source : std::string_view(set->second);
}

Constants Constants::on_cpu(double factor) const {
  Constants out = *this;
  for (const ConstantInfo& row : constants_table())
    if (is_cycles(row) && !is_set(row.id)) out.values_[static_cast<size_t>(row.id)] *= factor;
  return out;
}

bool Constants::has_table_cycles() const {
  return std::ranges::any_of(constants_table(), [&](const ConstantInfo& row) {
    const bool forwarding = row.section == "stages" || row.id == Constant::kNicRxCycles ||
                            row.id == Constant::kNicTxCycles;
    return forwarding && is_cycles(row) && !is_set(row.id);
  });
}

std::optional<std::string> refused_value(Constant constant, double value) {
  const ConstantInfo& row = info(constant);
  if (value >= kLeastConstant && value <= row.most) return std::nullopt;
  return fmt::format("cannot be; use {} to {} ({}, usually {})", kLeastConstant, row.most, row.unit,
                     row.value);
}

void read_constants(const Value& map, const std::string& source, Constants& constants) {
  for (const Value::Entry& entry :
       map.entries("constants by name, as {lookup_ipv4_cycles: 6.3}", kConstants)) {
    const auto constant = find_constant(entry.key);
    if (!constant) {
      const auto known = names();
      const auto near = nearest(entry.key, known);
      entry.value.complain(near.empty() ? "no such constant; `hecto plan --explain` lists them"
                                        : fmt::format("no such constant; did you mean {}?", near));
      continue;
    }
    const auto value = entry.value.number(-kHuge, kHuge);
    if (!value) continue;
    if (const auto refused = refused_value(*constant, *value))
      entry.value.refuse(*refused);
    else
      constants.set(*constant, *value, source);
  }
}

tl::expected<Calibration, Problems> parse_calibration(std::string_view yaml,
                                                      const std::string& file_name,
                                                      const Constants& base) {
  Calibration out{{}, {}, base};
  const auto read =
      read_yaml(yaml, file_name, "write one with `hecto-bench calibrate`", [&](const Value& file) {
        const Fields fields(file, kFileKeys, "machine, written and constants");
        if (const Value* machine = fields.get("machine"))
          out.machine = machine->text("the machine in words").value_or("");
        if (const Value* written = fields.get("written"))
          out.written = written->text("a date, as 2026-11-21").value_or("");
        const std::string source =
            "calibrated" + (out.written.empty() ? "" : " " + out.written) +
            (out.machine.empty() ? " (" + file_name + ")" : " on " + out.machine);
        if (const Value* map = fields.need("constants", "constants: {lookup_ipv4_cycles: 6.3}"))
          read_constants(*map, source, out.constants);
      });
  if (!read) return tl::unexpected(read.error());
  return out;
}

tl::expected<Calibration, Problems> read_calibration(const std::string& file,
                                                     const Constants& base) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_calibration(*text, file, base);
}

std::string to_yaml(const Constants& constants, const std::string& machine,
                    const std::string& written, const std::string& note) {
  std::string out;
  size_t begin = 0;
  while (begin < note.size()) {
    const size_t end = std::min(note.find('\n', begin), note.size());
    out += fmt::format("# {}\n", note.substr(begin, end - begin));
    begin = end + 1;
  }
  out += fmt::format("machine: {}\nwritten: \"{}\"\nconstants:\n", quoted(machine), written);
  for (const ConstantInfo& row : constants_table())
    if (constants.is_set(row.id))
      out += fmt::format("  {}: {:.6g}  # {}\n", row.name, constants[row.id], row.unit);
  return out;
}

}  // namespace hecto::config
