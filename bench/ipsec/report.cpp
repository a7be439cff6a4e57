#include "bench/ipsec/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/lib/text_table.hpp"

namespace hecto::bench {

using nlohmann::json;

namespace {

const IpsecRow* find(const IpsecReport& report, IpsecRow like) {
  const auto at = std::find_if(report.rows.begin(), report.rows.end(), [&](const IpsecRow& row) {
    return row.algorithm == like.algorithm && row.size == like.size &&
           row.direction == like.direction && row.tunnels == like.tunnels &&
           row.workers == like.workers;
  });
  return at == report.rows.end() ? nullptr : &*at;
}

std::string percent(double part) {
  return fmt::format("{:.0f}%", part * 100);
}

// Rates of one round's slices, which ran beside each other. Empty where there is no other.
std::string of_encap(const IpsecRow& row, const IpsecRow* encap) {
  return encap == nullptr || encap == &row ? "" : percent(encap->ns / row.ns);
}

// Measured at other times: by shares of raw, which ran beside each. A machine that was slower
// meanwhile was so for both.
std::string of_one_tunnel(const IpsecRow& row, const IpsecRow* one) {
  if (one == nullptr || one == &row || row.share_of_raw == 0) return "";
  return percent(row.share_of_raw / one->share_of_raw);
}

std::string alone_text(const IpsecReport& report) {
  if (report.alone.empty()) return "";
  std::vector<std::vector<std::string>> lines = {
      {"ESP alone", "bytes", "raw ns", "router/esp ns", "librte_ipsec ns", "of router/esp"}};
  for (const IpsecAlone& row : report.alone)
    lines.push_back({row.algorithm, row.size, fmt::format("{:.0f}", row.raw_ns),
                     fmt::format("{:.0f}", row.own_ns), fmt::format("{:.0f}", row.librte_ns),
                     fmt::format("{:.2f}", row.librte_ns / row.own_ns)});
  return '\n' + align_columns(lines, 1);
}

std::string beside_text(const IpsecReport& report) {
  std::string text = report.beside.empty() ? "" : "\n";
  for (const IpsecBeside& row : report.beside)
    text += fmt::format(
        "IPv6 in the clear, {} bytes: {:.1f} ns a packet beside {} IPv4 tunnels, {:.1f} without\n",
        row.size, row.ns, row.tunnels, row.without_ns);
  return text;
}

}  // namespace

json to_json(const IpsecReport& report) {
  json out = {{"rows", json::array()},
              {"verified", report.verified},
              {"not_measured", report.not_measured}};
  for (const IpsecRow& row : report.rows)
    out["rows"].push_back({{"algorithm", row.algorithm},
                           {"size", row.size},
                           {"bytes", row.bytes},
                           {"direction", row.direction},
                           {"tunnels", row.tunnels},
                           {"workers", row.workers},
                           {"mpps", row.mpps()},
                           {"gbps", row.gbps()},
                           {"share_of_raw", row.share_of_raw},
                           {"ns", row.ns},
                           {"raw_ns", row.raw_ns},
                           {"streamed_ns", row.streamed_ns},
                           {"share_of_streamed", row.share_of_streamed},
                           {"floor_ns", row.floor_ns},
                           {"copy_ns", row.copy_ns},
                           {"of_one_worker", row.of_one_worker},
                           {"spread", row.spread}});
  for (const IpsecAlone& row : report.alone)
    out["alone"].push_back({{"algorithm", row.algorithm},
                            {"size", row.size},
                            {"raw_ns", row.raw_ns},
                            {"own_ns", row.own_ns},
                            {"librte_ipsec_ns", row.librte_ns}});
  for (const IpsecBeside& row : report.beside)
    out["beside"].push_back({{"size", row.size},
                             {"tunnels", row.tunnels},
                             {"ipv6_without_ns", row.without_ns},
                             {"ipv6_ns", row.ns}});
  for (const IpsecPeer& peer : report.peers)
    out["peers"].push_back({{"program", peer.program},
                            {"algorithm", peer.algorithm},
                            {"bytes", peer.bytes},
                            {"ns", peer.ns}});
  if (!report.control) return out;
  const IpsecControl& control = *report.control;
  out["control"] = {{"sas_per_s", control.sas_per_s},
                    {"pairs_per_s", control.pairs_per_s},
                    {"pairs_alone_per_s", control.pairs_alone_per_s},
                    {"bulk_pairs_per_s", control.bulk_pairs_per_s},
                    {"rekeys", control.rekeys},
                    {"own_core", control.own_core},
                    {"sent", control.sent},
                    {"lost", control.lost},
                    {"leaked", control.leaked}};
  return out;
}

std::string to_text(const IpsecReport& report) {
  std::vector<std::vector<std::string>> lines = {{"algorithm", "bytes", "", "tunnels", "workers",
                                                  "Mpps", "Gb/s", "ns", "raw ns", "share of raw",
                                                  "streamed ns", "share of it", "of encap",
                                                  "of one tunnel", "of one worker", "spread"}};
  for (const IpsecRow& row : report.rows) {
    IpsecRow encap = row, one = row;
    encap.direction = "encap";
    one.tunnels = 1;
    const bool alone = row.workers == 1;
    lines.push_back({row.algorithm, row.size, row.direction, fmt::format("{}", row.tunnels),
                     fmt::format("{}", row.workers), fmt::format("{:.2f}", row.mpps()),
                     fmt::format("{:.1f}", row.gbps()), fmt::format("{:.0f}", row.ns),
                     alone ? fmt::format("{:.0f}", row.raw_ns) : "",
                     alone ? percent(row.share_of_raw) : "",
                     alone ? fmt::format("{:.0f}", row.streamed_ns) : "",
                     alone ? percent(row.share_of_streamed) : "",
                     of_encap(row, find(report, encap)), of_one_tunnel(row, find(report, one)),
                     alone ? "" : fmt::format("{:.2f}", row.of_one_worker), percent(row.spread)});
  }
  std::string text = report.rows.empty() ? "" : align_columns(lines, 3);
  text += alone_text(report);
  text += beside_text(report);
  if (report.control) {
    const IpsecControl& control = *report.control;
    text += fmt::format(
        "\ncontrol, beside 10,000 SAs and policies: {:.0f} SAs/s each committed alone, {:.0f} SAs "
        "with a policy/s\nin batches of 64, {:.0f}/s each committed alone; the first 10,000 pairs "
        "at once: {:.0f}/s\nrekeys under load, {}: {} in both directions, {} of {} packets lost, "
        "{} of them in clear\n",
        control.sas_per_s, control.pairs_per_s, control.pairs_alone_per_s, control.bulk_pairs_per_s,
        control.own_core ? "the worker on a core of its own" : "worker and control in turn",
        control.rekeys, control.lost, control.sent, control.leaked);
  }
  for (const IpsecPeer& peer : report.peers)
    text += fmt::format("{}: {} {} bytes {:.0f} ns\n", peer.program, peer.algorithm, peer.bytes,
                        peer.ns);
  for (const std::string& line : report.not_measured) text += "not measured: " + line + '\n';
  return text;
}

}  // namespace hecto::bench
