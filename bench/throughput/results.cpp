#include "bench/throughput/results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hecto::bench {
namespace {

using nlohmann::json;

double gbps(double pps, double frame_bytes) {
  return pps * frame_bytes * 8 / 1e9;
}

const char* to_string(Limit limit) {
  switch (limit) {
    case Limit::kDevice:
      return "device";
    case Limit::kGenerator:
      return "generator";
    case Limit::kNothing:
      return "loses at every rate";
  }
  return "";
}

json quantiles_json(const Quantiles& q) {
  if (q.count == 0) return {{"p50", nullptr}, {"p99", nullptr}, {"p99_9", nullptr}, {"count", 0}};
  return {{"min", q.min}, {"p50", q.p50},     {"p90", q.p90},
          {"p99", q.p99}, {"p99_9", q.p99_9}, {"p99_99", q.p99_99},
          {"max", q.max}, {"mean", q.mean},   {"count", q.count}};
}

json goal_json(const GoalResult& goal, double frame_bytes) {
  const bool refuted = goal.refuted_pps > 0;
  const double pps = refuted ? 0 : goal.pps, upper = refuted ? goal.refuted_pps : goal.upper_pps;
  return {{"pps", pps},
          {"gbps", gbps(pps, frame_bytes)},
          {"loss_ratio", goal.goal.loss_ratio},
          {"bounds", {pps, upper > 0 ? json(upper) : json(nullptr)}},
          {"refuted_at_pps", refuted ? json(goal.refuted_pps) : json(nullptr)},
          {"spread", goal.spread},
          {"trials", goal.trials},
          {"trial_s", goal.trial_s},
          {"limit", to_string(goal.limit)},
          {"partial", !goal.complete}};
}

json loaded_json(const LoadedResult& row) {
  json out = {{"part", row.part},
              {"pps", row.pps},
              {"offered_pps", row.offered_pps},
              {"seconds", row.seconds},
              {"offered", row.offered},
              {"lost", row.lost},
              {"duplicated", row.duplicated},
              {"reordered", row.reordered},
              {"latency_ns", quantiles_json(row.latency_ns)},
              {"jitter_ns", quantiles_json(row.jitter_ns)},
              {"pdv_ns", row.pdv_ns()},
              {"device", nullptr}};
  if (row.device)
    out["device"] = {
        {"cycles_per_packet",
         row.device->cycles_per_packet > 0 ? json(row.device->cycles_per_packet) : json(nullptr)},
        {"load_percent", row.device->load_percent},
        {"burst_fill", row.device->burst_fill},
        {"cpu_percent", row.device->cpu_percent},
        {"worker_percent", row.device->worker_percent},
        {"watts", row.device->watts ? json(*row.device->watts) : json(nullptr)}};
  return out;
}

json soak_json(const SoakResult& soak) {
  return {{"pps", soak.pps},
          {"seconds", soak.seconds},
          {"offered", soak.offered},
          {"lost", soak.lost},
          {"duplicated", soak.duplicated},
          {"reordered", soak.reordered},
          {"intervals", soak.intervals},
          {"lossy_intervals", soak.lossy_intervals},
          {"latency_ns", quantiles_json(soak.latency_ns)},
          {"interrupted", soak.interrupted}};
}

void add_search(json& out, const SearchResult& search, double frame_bytes) {
  for (const GoalResult& goal : search.goals) out[goal.goal.name] = goal_json(goal, frame_bytes);
  out["max_pps"] = search.max_pps;
  out["forwarded_at_max_pps"] = search.forwarded_at_max;
  out["forwarding_spread"] = search.forwarding_spread;
  out["search_seconds"] = search.seconds;
  for (const TrialRecord& trial : search.trials)
    out["trials"].push_back({{"pps", trial.pps},
                             {"offered_pps", trial.offered_pps},
                             {"forwarded_pps", trial.forwarded_pps},
                             {"loss_ratio", trial.loss_ratio},
                             {"wrong", trial.wrong},
                             {"seconds", trial.seconds},
                             {"short_of_load", trial.short_of_load}});
}

json size_json(const SizeResult& size) {
  json out = {
      {"family", size.family},     {"size", size.size},           {"frame_bytes", size.frame_bytes},
      {"trials", json::array()},   {"latency", json::array()},    {"loss_curve", json::array()},
      {"blackout", json::array()}, {"notes", size.notes},         {"partial", size.partial},
      {"error", nullptr},          {"wrong", to_json(size.wrong)}};
  if (size.error) out["error"] = *size.error;
  if (size.search) add_search(out, *size.search, size.frame_bytes);
  for (const LoadedResult& row : size.loaded) out["latency"].push_back(loaded_json(row));
  for (const LossRow& row : size.loss_curve)
    out["loss_curve"].push_back({{"part", row.part},
                                 {"pps", row.pps},
                                 {"offered_pps", row.offered_pps},
                                 {"loss_ratio", row.loss_ratio}});
  if (const auto& b = size.back_to_back)
    out["back_to_back"] = {{"frames", b->frames},
                           {"least", b->least},
                           {"most", b->most},
                           {"pps", b->pps},
                           {"repetitions", b->repetitions},
                           {"unlimited", b->unlimited}};
  for (const Blackout& row : size.blackouts)
    out["blackout"].push_back({{"change", row.change},
                               {"changes", row.changes},
                               {"pps", row.pps},
                               {"seconds", row.seconds},
                               {"offered", row.offered},
                               {"lost", row.lost},
                               {"blackout_ms", row.milliseconds()}});
  if (size.soak) out["soak"] = soak_json(*size.soak);
  if (size.counters)
    out["counters"] = {{"received", size.counters->received},
                       {"transmitted", size.counters->transmitted},
                       {"drops", size.counters->drops}};
  return out;
}

std::string goal_text(const GoalResult& goal, double frame_bytes) {
  if (goal.trial_s == 0) return fmt::format("  {:<6}not reached\n", goal.goal.name);
  if (goal.refuted_pps > 0)
    return fmt::format("  {:<6}no result: it failed at {:.3f} Mpps afterwards\n", goal.goal.name,
                       goal.refuted_pps / 1e6);
  std::string bound = goal.upper_pps > 0 ? fmt::format("fails at {:.3f}", goal.upper_pps / 1e6)
                                         : std::string("nothing above was offered");
  return fmt::format("  {:<6}{:>9.3f} Mpps {:>8.3f} Gb/s   {:.2g}% loss, {}, spread {:.1f}%{}\n",
                     goal.goal.name, goal.pps / 1e6, gbps(goal.pps, frame_bytes),
                     goal.goal.loss_ratio * 100, bound, goal.spread * 100,
                     goal.complete ? "" : ", partial");
}

double us(uint64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

std::string loaded_text(const std::vector<LoadedResult>& rows) {
  std::string text =
      fmt::format("  {:<16}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>7}\n", "latency, us", "Mpps",
                  "p50", "p99", "p99.9", "p99.99", "PDV", "lost", "cycles", "CPU");
  for (const LoadedResult& row : rows) {
    const Quantiles& q = row.latency_ns;
    text += fmt::format("  {:<16}{:>9.3f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9}",
                        fmt::format("at {:.0f}%", row.part * 100), row.offered_pps / 1e6, us(q.p50),
                        us(q.p99), us(q.p99_9), us(q.p99_99), us(row.pdv_ns()), row.lost);
    text += row.device ? fmt::format("{:>9.1f}{:>6.0f}%\n", row.device->cycles_per_packet,
                                     row.device->cpu_percent)
                       : std::string("\n");
  }
  return text;
}

}  // namespace

nlohmann::json to_json(const ThroughputResult& result) {
  json out = {{"tool", "throughput"},
              {"machine", result.machine},
              {"started", result.started},
              {"device", result.device},
              {"device_version", result.device_version},
              {"table",
               {{"name", result.table},
                {"ipv4", result.routes4},
                {"ipv6", result.routes6},
                {"start_s", result.table_seconds}}},
              {"workers", result.workers},
              {"burst", result.burst},
              {"idle", result.idle},
              {"generator_cpus", result.generator_cpus},
              {"generator", result.generator.empty() ? json(nullptr)
                                                     : json{{"box", result.generator},
                                                            {"machine", result.generator_machine}}},
              {"worker_cpus", result.worker_cpus},
              {"control_cpu", result.control_cpu},
              {"not_checked", result.not_checked},
              {"results", json::array()},
              {"partial", result.partial},
              {"error", nullptr}};
  if (result.error) out["error"] = *result.error;
  for (const SizeResult& size : result.sizes) out["results"].push_back(size_json(size));
  return out;
}

std::string header_text(const ThroughputResult& result) {
  const json commit = result.machine.value("commit", json());
  std::string text = fmt::format("{}; hecto {} ({})\n", result.machine.value("name", "?"),
                                 result.machine.value("hecto", "?"),
                                 commit.is_string() ? commit.get<std::string>() : "no commit");
  text += fmt::format("device: {}", result.device);
  if (!result.table.empty())
    text += fmt::format(
        " {}; {} IPv4 and {} IPv6 routes ({}), up in {:.1f} s\n"
        "workers on CPU {}, burst {}, idle: {}; control on CPU {}",
        result.device_version, result.routes4, result.routes6, result.table, result.table_seconds,
        fmt::join(result.worker_cpus, ","), result.burst, result.idle, result.control_cpu);
  if (!result.generator.empty())
    return text + fmt::format("; generator on {} ({})\n", result.generator,
                              result.generator_machine.value("name", "?"));
  return text + fmt::format("; generator on CPU {}\n", fmt::join(result.generator_cpus, ","));
}

std::string to_text(const SizeResult& size) {
  std::string text =
      fmt::format("IPv{} {} bytes{}\n", size.family, size.size, size.partial ? " (partial)" : "");
  if (size.search)
    for (const GoalResult& goal : size.search->goals) text += goal_text(goal, size.frame_bytes);
  if (!size.loaded.empty()) text += loaded_text(size.loaded);
  for (const LossRow& row : size.loss_curve)
    text += fmt::format("  loss at {:>3.0f}%  {:>9.3f} Mpps {:>9.4f}%\n", row.part * 100,
                        row.offered_pps / 1e6, row.loss_ratio * 100);
  if (const auto& b = size.back_to_back)
    text += fmt::format("  back to back    {}{:.0f} frames ({} to {}) at {:.3f} Mpps, mean of {}\n",
                        b->unlimited ? "at least " : "", b->frames, b->least, b->most, b->pps / 1e6,
                        b->repetitions);
  for (const Blackout& row : size.blackouts)
    text += fmt::format("  blackout {:<7}{:>9.3f} ms, {} of {} packets lost while {} changes ran\n",
                        row.change, row.milliseconds(), row.lost, row.offered, row.changes);
  if (const auto& s = size.soak)
    text += fmt::format(
        "  soak  {:.0f} s at {:.3f} Mpps: {} of {} packets lost in {} of {} "
        "intervals, p99.99 {:.1f} us{}\n",
        s->seconds, s->pps / 1e6, s->lost, s->offered, s->lossy_intervals, s->intervals,
        us(s->latency_ns.p99_99), s->interrupted ? ", ended by you" : "");
  if (size.counters)
    for (const auto& [reason, packets] : size.counters->drops)
      if (packets > 0) text += fmt::format("  hectod dropped {} packets: {}\n", packets, reason);
  for (const std::string& note : size.notes) text += "  ! " + note + "\n";
  return text;
}

}  // namespace hecto::bench
