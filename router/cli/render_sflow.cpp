// sFlow, and the flows that samples tell of.
#include <fmt/format.h>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

Cell failure_cell(uint64_t value) {
  return {value > 0 ? count(value) : "", value > 0 ? Paint::kWarn : Paint::kPlain};
}

Table collectors_table(const json& answer) {
  Table table({{"collector"},
               {"datagrams", Align::kRight},
               {"bytes", Align::kRight},
               {"refused", Align::kRight},
               {"failed", Align::kRight}});
  for (const json& each : list(answer, "collectors"))
    table.row({text(each, "address"), count(whole(each, "datagrams")), bytes(number(each, "bytes")),
               failure_cell(whole(each, "refused")), failure_cell(whole(each, "failed"))});
  return table;
}

Table sampled_table(const json& answer) {
  Table table({{"port"},
               {"ifindex", Align::kRight},
               {"packets", Align::kRight},
               {"samples", Align::kRight}});
  for (const json& each : list(answer, "ports"))
    table.row({text(each, "name"), text(each, "ifindex"), count(whole(each, "packets")),
               count(whole(each, "samples"))});
  return table;
}

std::string end_of(const json& flow, const char* address, const char* port) {
  if (!has(flow, address)) return "-";
  const std::string host = text(flow, address);
  if (!has(flow, port)) return host;
  const bool ipv6 = host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", host, text(flow, port))
              : fmt::format("{}:{}", host, text(flow, port));
}

// "± 12 %"; what is known of one or two samples is only that there is something.
std::string error_text(const json& flow) {
  const double error = number(flow, "error_percent");
  return error >= 100 ? "> 100 %" : fmt::format("± {:.0f} %", error);
}

}  // namespace

std::string render_sflow(const json& answer, Style style) {
  if (!flag(answer, "on")) return "sflow is off: the file names no collector\n";
  const json& samples = at(answer, "samples");
  std::string out = fmt::format(
      "agent {}, by the routes of the {}\none packet in {}, {} bytes of each; {}\n",
      text(answer, "agent"), text(answer, "from"), count(whole(answer, "sampling")),
      text(answer, "header_bytes"),
      whole(answer, "polling_s") == 0 ? "no counters"
                                      : "counters each " + text(answer, "polling_s") + " s");
  out += paragraph("samples: ",
                   fmt::format("{} taken, {} exported in {} datagrams, {} waiting, {} dropped",
                               count(whole(samples, "taken")), count(whole(samples, "exported")),
                               count(whole(answer, "datagrams")), count(whole(samples, "waiting")),
                               count(whole(samples, "dropped"))));
  if (const uint64_t chosen = whole(samples, "chosen"); chosen > 0)
    out += fmt::format("{} of those taken were chosen by rules of filters\n", count(chosen));
  out += "\n" + collectors_table(answer).text(style);
  const std::string ports = sampled_table(answer).text(style);
  if (!ports.empty()) out += "\n" + ports;
  for (const json& each : list(answer, "collectors"))
    if (has(each, "trouble")) out += paragraph("! ", text(each, "trouble"));
  return out;
}

std::string render_top_flows(const json& answer, Style style) {
  const bool by_bits = text(answer, "by") != "packets";
  const json &total = at(answer, "total"), &others = at(answer, "others");
  if (whole(answer, "seconds") == 0) return "flows: samples are being taken\n";
  Table table({{"source", Align::kLeft, true},
               {"destination", Align::kLeft, true},
               {"protocol", Align::kLeft, false, 3},
               {"in", Align::kLeft, true, 2},
               {"out", Align::kLeft, true, 2},
               {"rate", Align::kRight, false, uint8_t(by_bits ? 0 : 4), 9},
               {"rate", Align::kRight, false, uint8_t(by_bits ? 4 : 0), 9},
               {"error", Align::kRight, false, 5}});
  for (const json& flow : list(answer, "flows"))
    table.row({end_of(flow, "source", "source_port"),
               end_of(flow, "destination", "destination_port"), text(flow, "protocol"),
               text(flow, "in"), text(flow, "out"), bit_rate(number(flow, "bps")),
               packet_rate(number(flow, "pps")), error_text(flow)});
  if (table.empty()) return "flows: nothing came in\n";
  std::string out = table.text(style);
  out += fmt::format("{} flows seen; all: {}, {}; not shown: {}\n", count(whole(answer, "known")),
                     bit_rate(number(total, "bps")), packet_rate(number(total, "pps")),
                     bit_rate(number(others, "bps")));
  out += fmt::format(
      "the last {} s, of one packet in {}{}; error: of 100 such numbers 95 are within it\n",
      text(answer, "seconds"), count(whole(answer, "sampling")),
      text(answer, "ports") == "all" ? "" : ", of the ports of sflow");
  return out;
}

}  // namespace hecto::cli
