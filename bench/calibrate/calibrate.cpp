#include "bench/calibrate/calibrate.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>

#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"

namespace hecto::bench {
namespace {

struct Part {
  const char* name;
  std::function<Result<void>(const CalibrateOptions&, const config::Topology&, MeasuredConstants&)>
      measure;
};

const std::vector<Part>& parts() {
  static const std::vector<Part> all = {
      {"clock", [](auto& options, auto&, auto& found) { return measure_clock(options, found); }},
      {"memory", measure_memory},
      {"links",
       [](auto&, auto& topology, auto& found) {
         note_links(topology, found);
         return Result<void>();
       }},
      {"gpu", [](auto& options, auto&, auto& found) { return measure_gpu(options, found); }},
      {"stages", measure_stages},  // last: DPDK pins this thread
  };
  return all;
}

void print(const MeasuredConstants& found) {
  for (const config::ConstantInfo& row : config::constants_table())
    if (found.constants.is_set(row.id))
      fmt::print("{:<28} {:>10.4g} {:<14} was {:.4g}\n", row.name, found.constants[row.id],
                 row.unit, row.value);
  if (!found.notes.empty()) fmt::print("\n");
  for (const std::string& note : found.notes) fmt::print("{}\n", note);
}

Result<void> write(const std::string& path, const MeasuredConstants& found) {
  std::string note = "written by hecto-bench calibrate; read by hecto plan --calibration";
  for (const std::string& line : found.notes) note += "\n" + line;
  const std::time_t now = std::time(nullptr);
  const std::string today = fmt::format("{:%Y-%m-%d}", fmt::localtime(now));
  std::ofstream stream(path);
  stream << config::to_yaml(found.constants, machine_name(), today, note);
  if (!stream.flush()) return fail(fmt::format("{}: {}", path, std::strerror(errno)));
  return {};
}

}  // namespace

std::vector<std::string> calibrate_parts() {
  std::vector<std::string> names;
  for (const Part& part : parts()) names.emplace_back(part.name);
  return names;
}

int calibrate(const CalibrateOptions& options) {
  auto topology = config::read_topology();
  if (!topology) return complain({"topology: " + topology.error()});
  MeasuredConstants found;
  found.source = "measured";
  bool complete = true;
  for (const Part& part : parts()) {
    const auto& wanted = options.parts;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), part.name) == wanted.end())
      continue;
    fmt::print(stderr, "measuring: {}\n", part.name);
    if (auto done = part.measure(options, *topology, found); !done) {
      complete = false;
      found.notes.push_back(fmt::format("{}: {}", part.name, done.error().message));
    }
  }
  print(found);
  if (auto done = write(options.out, found); !done) return complain(done.error());
  fmt::print("\nwritten: {}{}; take it with: hecto plan --calibration {}\n", options.out,
             complete ? "" : " (partial)", options.out);
  return complete ? 0 : 1;
}

}  // namespace hecto::bench
