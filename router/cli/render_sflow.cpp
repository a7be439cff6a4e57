// sFlow, IPFIX, and the flows that samples tell of.
#include <fmt/format.h>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

Cell failure_cell(uint64_t value) {
  return {value > 0 ? count(value) : "", value > 0 ? Paint::kWarn : Paint::kPlain};
}

Table collectors_table(const json& answer, const char* sent) {
  Table table({{"collector"},
               {sent, Align::kRight},
               {"bytes", Align::kRight},
               {"refused", Align::kRight},
               {"failed", Align::kRight}});
  for (const json& each : list(answer, "collectors"))
    table.row({text(each, "address"), count(whole(each, sent)), bytes(number(each, "bytes")),
               failure_cell(whole(each, "refused")), failure_cell(whole(each, "failed"))});
  return table;
}

std::string collector_troubles(const json& answer) {
  std::string out;
  for (const json& each : list(answer, "collectors"))
    if (has(each, "trouble")) out += paragraph("! ", text(each, "trouble"));
  return out;
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
  out += "\n" + collectors_table(answer, "datagrams").text(style);
  const std::string ports = sampled_table(answer).text(style);
  if (!ports.empty()) out += "\n" + ports;
  return out + collector_troubles(answer);
}

std::string render_ipfix(const json& answer, Style style) {
  if (!flag(answer, "on")) return "ipfix is off: the file names no collector\n";
  const json &flows = at(answer, "flows"), &samples = at(answer, "samples");
  const bool sampled = text(answer, "records") != "flow_table";
  std::string out = fmt::format(
      "domain {}, by the routes of the {}; {}\nflows that go on are told after {} s{}; templates "
      "each {} s\n",
      text(answer, "domain"), text(answer, "from"),
      sampled ? fmt::format("one packet in {}", count(whole(answer, "sampling")))
              : "all packets of the entries of the flow table",
      text(answer, "active_s"),
      sampled ? fmt::format(", such as rest after {} s", text(answer, "idle_s")) : "",
      text(answer, "templates_s"));
  if (sampled)
    out +=
        paragraph("samples: ",
                  fmt::format("{} read, {} told, {} under way, {} of no flow, {} dropped",
                              count(whole(samples, "read")), count(whole(samples, "told")),
                              count(whole(samples, "under_way")), count(whole(samples, "no_flow")),
                              count(whole(samples, "dropped"))));
  std::string line = fmt::format("{} told in {} messages", count(whole(flows, "told")),
                                 count(whole(answer, "messages")));
  if (sampled)
    line += fmt::format(", {} of them for want of room; {} under way, room for {} ({})",
                        count(whole(flows, "before_time")), count(whole(flows, "under_way")),
                        count(whole(flows, "room")), bytes(number(flows, "memory_bytes")));
  else if (whole(flows, "lost") > 0)
    line += fmt::format(", {} lost: too many entries went at once", count(whole(flows, "lost")));
  out += paragraph("flows: ", line);
  out += "\n" + collectors_table(answer, "messages").text(style);
  return out + collector_troubles(answer);
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
