#include "bench/generate/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hecto::bench {
namespace {

using nlohmann::json;

struct Quantile {
  const char* name;
  double part;
};
constexpr Quantile kQuantiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"p99_99", 0.9999}};

std::string microseconds(uint64_t ns) {
  return fmt::format("{:.2f}", static_cast<double>(ns) / 1e3);
}

std::string row(const StreamResult& stream) {
  std::string text =
      fmt::format("{:<12} {:>13} {:>13} {:>11} {:>7} {:>9}", stream.name, stream.sent,
                  stream.received, stream.lost(), stream.duplicated, stream.reordered);
  if (stream.latency_ns.count() == 0) return text + "\n";
  for (const Quantile& quantile : kQuantiles)
    text += fmt::format(" {:>9}", microseconds(stream.latency_ns.quantile(quantile.part)));
  return text + fmt::format(" {:>10} {:>9}\n", microseconds(stream.latency_ns.max()),
                            microseconds(static_cast<uint64_t>(stream.jitter_ns.mean())));
}

}  // namespace

std::string trial_table(const TrialResult& result) {
  std::string text = fmt::format("{:<12} {:>13} {:>13} {:>11} {:>7} {:>9}", "stream", "sent",
                                 "received", "lost", "dup", "reordered");
  const bool latencies = std::any_of(result.streams.begin(), result.streams.end(),
                                     [](const auto& s) { return s.latency_ns.count() > 0; });
  if (latencies) {
    for (const char* name : {"p50 us", "p90 us", "p99 us", "p99.9 us", "p99.99 us"})
      text += fmt::format(" {:>9}", name);
    text += fmt::format(" {:>10} {:>9}", "max us", "jitter us");
  }
  text += "\n";
  StreamResult all;
  all.name = "all";
  for (const StreamResult& stream : result.streams) {
    text += row(stream);
    all.sent += stream.sent;
    all.received += stream.received;
    all.duplicated += stream.duplicated;
    all.reordered += stream.reordered;
    all.latency_ns.merge(stream.latency_ns);
    all.jitter_ns.merge(stream.jitter_ns);
  }
  if (result.streams.size() > 1) text += row(all);
  const double seconds = std::max(result.seconds, 1e-9);
  text += fmt::format("\nsent {:.3f} Mpps, {:.3f} Gbps for {:.3f} s; received {:.3f} Mpps",
                      result.sent_pps() / 1e6,
                      static_cast<double>(result.sent_bytes) * 8 / seconds / 1e9, result.seconds,
                      static_cast<double>(result.received) / seconds / 1e6);
  if (result.sent > 0)
    text += fmt::format("; loss {:.4g}%", 100 * static_cast<double>(result.lost()) /
                                              static_cast<double>(result.sent));
  if (result.refused > 0) text += fmt::format("; refused by ports {}", result.refused);
  if (result.foreign > 0) text += fmt::format("; of others {}", result.foreign);
  if (result.interrupted) text += "; partial: interrupted";
  text += "\n";
  for (const StreamResult& stream : result.streams)
    for (const std::string& line : stream.wrong.lines())
      text += fmt::format("wrong: {}: {}\n", stream.name, line);
  return text;
}

json to_json(const Histogram& histogram) {
  json out = {{"count", histogram.count()},
              {"min", histogram.min()},
              {"mean", histogram.mean()},
              {"max", histogram.max()}};
  for (const Quantile& quantile : kQuantiles)
    out[quantile.name] = histogram.quantile(quantile.part);
  return out;
}

json to_json(const StreamResult& stream) {
  json out = {{"name", stream.name},
              {"sent", stream.sent},
              {"received", stream.received},
              {"lost", stream.lost()},
              {"duplicated", stream.duplicated},
              {"reordered", stream.reordered},
              {"wrong", to_json(stream.wrong)}};
  if (stream.latency_ns.count() > 0) out["latency_ns"] = to_json(stream.latency_ns);
  if (stream.jitter_ns.count() > 0) out["jitter_ns"] = to_json(stream.jitter_ns);
  return out;
}

json to_json(const TrialResult& result) {
  json out = {{"seconds", result.seconds},
              {"wanted", result.wanted},
              {"sent", result.sent},
              {"refused", result.refused},
              {"received", result.received},
              {"lost", result.lost()},
              {"foreign", result.foreign},
              {"sent_bytes", result.sent_bytes},
              {"sent_pps", result.sent_pps()},
              {"held_back", result.held_back},
              {"wrong", to_json(result.wrong)},
              {"partial", result.interrupted},
              {"streams", json::array()}};
  for (const StreamResult& stream : result.streams) out["streams"].push_back(to_json(stream));
  return out;
}

std::string shortfall(const TrialResult& result, double asked_pps) {
  const auto wanted = static_cast<double>(result.wanted);
  if (asked_pps <= 0 || static_cast<double>(result.sent) >= 0.99 * wanted) return {};
  const double refused = static_cast<double>(result.refused) / wanted;
  const double late = 1 - static_cast<double>(result.offered()) / wanted;
  return fmt::format(
      "asked {}, reached {}: {}", to_string(TrafficRate{TrafficRate::Unit::kPps, asked_pps}),
      to_string(TrafficRate{TrafficRate::Unit::kPps, result.sent_pps()}),
      refused > late
          ? fmt::format("the ports' transmit queues were full for {:.1f}%; what empties them is "
                        "slower than that, ask for less",
                        100 * refused)
          : fmt::format("the generator's CPU was too slow, or taken away, for {:.1f}%; give it "
                        "another with --cpus, or ask for less",
                        100 * late));
}

}  // namespace hecto::bench
