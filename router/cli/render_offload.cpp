#include <fmt/format.h>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

// What was chosen, and what the other choice would cost.
std::string choice(const json& work) {
  const std::string why = text(work, "why");
  const double here = number(work, "cpu_ns"), there = number(work, "device_ns");
  const std::string costs =
      here > 0 && there > 0 ? fmt::format("{:.1f} ns a packet here, {:.1f} ns there", here, there)
                            : std::string("costs not measured yet");
  return fmt::format("core {} {}: {}, {}; {}\n", text(work, "cpu"), text(work, "kind"),
                     text(work, "side") == "device" ? "to the device" : "on the CPU", why, costs);
}

uint64_t redone(const json& batches) {
  return whole(batches, "late") + whole(batches, "failed") + whole(batches, "wrong") +
         whole(batches, "abandoned");
}

}  // namespace

std::string render_offload(const json& answer, Style style) {
  if (list(answer, "devices").empty()) return "no device: " + text(answer, "found") + "\n";
  Table devices({{"device"}, {"state"}, {"workers", Align::kLeft, true}, {"", Align::kLeft, true}});
  for (const json& device : list(answer, "devices")) {
    const bool ready = text(device, "state") == "ready";
    devices.row({text(device, "name"),
                 Cell(text(device, "state"), ready ? Paint::kPlain : Paint::kWarn),
                 joined(list(device, "workers"), " "),
                 ready ? text(device, "description") : text(device, "cause")});
  }
  Table work({{"core", Align::kRight},
              {"work"},
              {"goes to"},
              {"Mpps", Align::kRight},
              {"batch", Align::kRight},
              {"load here", Align::kRight},
              {"there", Align::kRight},
              {"latency us", Align::kRight},
              {"bound us", Align::kRight},
              {"packets", Align::kRight},
              {"redone", Align::kRight}});
  std::string words;
  for (const json& row : list(answer, "work")) {
    const json& batches = at(row, "batches");
    const uint64_t again = redone(batches);
    work.row({text(row, "cpu"), text(row, "kind"), text(row, "side"),
              decimal(number(row, "pps") / 1e6), text(row, "batch"),
              percent(100 * number(row, "cpu_load")), percent(100 * number(row, "device_load")),
              decimal(number(row, "latency_us")), decimal(number(row, "latency_bound_us")),
              count(whole(batches, "packets")),
              Cell(count(again), again > 0 ? Paint::kWarn : Paint::kPlain)});
    words += choice(row);
  }
  return devices.text(style) + (work.empty() ? "" : "\n" + work.text(style) + "\n" + words);
}

}  // namespace hecto::cli
