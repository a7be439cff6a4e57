#include "bench/restart/restart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/text_table.hpp"
#include "bench/restart/restart_bed.hpp"
#include "bench/restart/stream.hpp"

namespace hecto::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

double since_ms(steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

Result<Restart> measure_one(RestartBed& bed, Stream& stream, bool kill) {
  Restart result;
  (void)stream.take();
  const auto begin = steady_clock::now();
  if (auto done = bed.stop(kill); !done) return tl::unexpected(done.error());
  result.stop_ms = since_ms(begin);
  const auto gone = steady_clock::now();
  if (auto done = bed.start(); !done) return tl::unexpected(done.error());
  result.start_ms = since_ms(gone);
  if (auto done = bed.wait_settled(); !done) return tl::unexpected(done.error());
  const GapFinder found = stream.take();
  if (found.received() == 0 || found.gaps().empty())
    return fail(
        fmt::format("{} packets arrived around a restart, with {} gaps: it was not measured",
                    found.received(), found.gaps().size()));
  result.lost = found.lost();
  for (const Gap& gap : found.gaps())
    result.blackout_ms = std::max(result.blackout_ms, gap.milliseconds);
  return result;
}

std::vector<double> column(const std::vector<Restart>& restarts, double Restart::*what) {
  std::vector<double> values;
  for (const Restart& restart : restarts) values.push_back(restart.*what);
  return values;
}

void print(const RestartOptions& options, const std::vector<Restart>& restarts) {
  fmt::print("{} restarts by {}, {} routes, {:.0f} packets/s; AF_XDP on veth, {}\n\n",
             restarts.size(), options.kill ? "SIGKILL" : "SIGTERM", options.routes, options.pps,
             machine_name());
  std::vector<std::vector<std::string>> rows = {
      {"", "until gone", "until it answers", "without forwarding", "packets lost"}};
  for (size_t i = 0; i < restarts.size(); ++i)
    rows.push_back({fmt::format("{}", i + 1), fmt::format("{:.0f} ms", restarts[i].stop_ms),
                    fmt::format("{:.0f} ms", restarts[i].start_ms),
                    fmt::format("{:.0f} ms", restarts[i].blackout_ms),
                    fmt::format("{}", restarts[i].lost)});
  rows.push_back({"median", fmt::format("{:.0f} ms", median(column(restarts, &Restart::stop_ms))),
                  fmt::format("{:.0f} ms", median(column(restarts, &Restart::start_ms))),
                  fmt::format("{:.0f} ms", median(column(restarts, &Restart::blackout_ms))), ""});
  fmt::print("{}", align_columns(rows, 1));
}

nlohmann::json to_json(const RestartOptions& options, const std::vector<Restart>& restarts) {
  nlohmann::json all = nlohmann::json::array();
  for (const Restart& restart : restarts)
    all.push_back({{"stop_ms", restart.stop_ms},
                   {"start_ms", restart.start_ms},
                   {"blackout_ms", restart.blackout_ms},
                   {"lost", restart.lost}});
  return {{"machine", machine_facts()},
          {"routes", options.routes},
          {"pps", options.pps},
          {"kill", options.kill},
          {"restarts", all},
          {"blackout_ms", median(column(restarts, &Restart::blackout_ms))}};
}

}  // namespace

Result<std::vector<Restart>> measure_restarts(const RestartOptions& options) {
  auto bed = RestartBed::create(options.program);
  if (!bed) return tl::unexpected(bed.error());
  if (auto done = (*bed)->start(); !done) return tl::unexpected(done.error());
  if (auto done = (*bed)->add_routes(options.routes); !done) return tl::unexpected(done.error());
  auto stream =
      Stream::start((*bed)->near(), (*bed)->far(), {.to = "10.2.0.1", .pps = options.pps});
  if (!stream) return tl::unexpected(stream.error());
  if (auto done = (*bed)->wait_settled(); !done) return tl::unexpected(done.error());
  std::vector<Restart> restarts;
  for (unsigned i = 0; i < options.restarts; ++i) {
    auto one = measure_one(**bed, **stream, options.kill);
    if (!one) return tl::unexpected(one.error());
    restarts.push_back(*one);
  }
  return restarts;
}

int run_restart(const RestartOptions& options) {
  const auto restarts = measure_restarts(options);
  if (!restarts) return complain(restarts.error());
  print(options, *restarts);
  if (auto done = write_json(options.json, to_json(options, *restarts)); !done)
    return complain(done.error());
  return 0;
}

}  // namespace hecto::bench
