// drain, undrain: takes a router out of the way of traffic before it is stopped, by BGP's graceful
// shutdown (RFC 8326), and waits until none is left.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"
#include "router/cli/frr.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kEach{500};
constexpr int kQuietInARow = 2;  // intervals

// What the router has forwarded and each port received, since the start.
struct Counted {
  Clock::time_point at;
  uint64_t forwarded = 0;
  std::vector<std::pair<std::string, uint64_t>> ports;
};

struct Rates {
  double forwarded_pps = 0;
  std::string busiest;  // the port that receives most
  double busiest_pps = 0;
};

std::optional<json> parsed(const std::optional<std::string>& answer) {
  if (!answer) return std::nullopt;
  return json::parse(*answer, nullptr, false);
}

// Packets that Linux sent (BGP, BFD) are not forwarded ones: a drained router has them as before.
std::optional<Counted> count_now(const Session& session) {
  const auto drops = parsed(session.get("/v1/drops")), ports = parsed(session.get("/v1/ports"));
  if (!drops || !ports) return std::nullopt;
  const json& totals = at(*drops, "totals");
  const uint64_t sent = whole(totals, "transmitted"), own = whole(totals, "injected");
  Counted counted{Clock::now(), sent - std::min(sent, own), {}};
  for (const json& port : list(*ports, "ports"))
    counted.ports.emplace_back(text(port, "name"), whole(at(port, "rx"), "packets"));
  return counted;
}

Rates rates_between(const Counted& before, const Counted& now) {
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  const auto rate = [seconds](uint64_t from, uint64_t to) {
    return to > from && seconds > 0 ? static_cast<double>(to - from) / seconds : 0;
  };
  Rates rates{rate(before.forwarded, now.forwarded), {}, 0};
  for (const auto& [name, packets] : now.ports) {
    const auto same = std::ranges::find(before.ports, name, [](const auto& p) { return p.first; });
    const double pps = same == before.ports.end() ? 0 : rate(same->second, packets);
    if (pps > rates.busiest_pps) {
      rates.busiest = name;
      rates.busiest_pps = pps;
    }
  }
  return rates;
}

std::optional<Rates> measure(const Session& session, std::optional<Counted>& last) {
  if (!last) last = count_now(session);
  std::this_thread::sleep_for(kEach);
  const auto now = count_now(session);
  if (!last || !now) return std::nullopt;
  const Rates rates = rates_between(*last, *now);
  last = now;
  return rates;
}

tl::expected<Frr, std::string> frr_of(const Session& session) {
  const auto summary = parsed(session.get("/v1/summary"));
  if (!summary) return tl::unexpected(std::string());  // told already
  return find_frr(session.arguments().frr,
                  has(*summary, "namespace") ? text(*summary, "namespace") : std::string());
}

tl::expected<void, std::string> shut_down(const Frr& frr, bool gracefully) {
  const auto known = tell_bgpd(frr, {"show bgp vrfs json"});
  if (!known) return tl::unexpected(known.error());
  const size_t begin = known->find('{');
  const json vrfs =
      json::parse(begin == known->npos ? *known : known->substr(begin), nullptr, false);
  if (!vrfs.is_discarded() && list(vrfs, "vrfs").empty() && at(vrfs, "vrfs").empty())
    return tl::unexpected("bgpd of " + frr.words() + " speaks no BGP: it has no \"router bgp\"");
  const auto told = tell_bgpd(
      frr, {"configure terminal", std::string(gracefully ? "" : "no ") + "bgp graceful-shutdown"});
  if (!told) return tl::unexpected(told.error());
  return {};
}

int told_drained(const Session& session, const Frr& frr, const Rates& before, const Rates& now,
                 double seconds, bool drained) {
  if (session.arguments().json) {
    const json answer = {{"drained", drained},
                         {"frr", frr.name},
                         {"seconds", seconds},
                         {"before_pps", before.forwarded_pps},
                         {"forwarded_pps", now.forwarded_pps},
                         {"busiest_port", now.busiest.empty() ? json() : json(now.busiest)}};
    session.out(answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    return drained ? kDone : kFailed;
  }
  if (!drained)
    return session.fail(fmt::format(
        "drain: after {} {} are still forwarded, most of it received by {} ({}): is there another "
        "way for it? {} goes on announcing graceful shutdown; hecto undrain ends it",
        duration(seconds), packet_rate(now.forwarded_pps),
        now.busiest.empty() ? "no port" : now.busiest, packet_rate(now.busiest_pps), frr.words()));
  session.out(printable(fmt::format("drained in {}: {} forwarded, {} before; {} announces graceful "
                                    "shutdown until hecto undrain, "
                                    "or a restart of bgpd",
                                    duration(seconds), packet_rate(now.forwarded_pps),
                                    packet_rate(before.forwarded_pps), frr.words())) +
              "\n");
  return kDone;
}

}  // namespace

int drain(const Session& session) {
  const Arguments& a = session.arguments();
  const auto frr = frr_of(session);
  if (!frr) return frr.error().empty() ? kFailed : session.fail("drain: " + frr.error());
  std::optional<Counted> last;
  const auto before = measure(session, last);
  if (!before) return kFailed;
  const auto started = Clock::now();
  if (const auto done = shut_down(*frr, true); !done) return session.fail("drain: " + done.error());
  for (int quiet = 0;;) {
    const auto now = measure(session, last);
    if (!now) return kFailed;
    quiet = now->forwarded_pps <= a.below_pps ? quiet + 1 : 0;
    const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
    if (quiet == kQuietInARow || seconds >= a.drain_timeout_s)
      return told_drained(session, *frr, *before, *now, seconds, quiet == kQuietInARow);
  }
}

int undrain(const Session& session) {
  const auto frr = frr_of(session);
  if (!frr) return frr.error().empty() ? kFailed : session.fail("undrain: " + frr.error());
  if (const auto done = shut_down(*frr, false); !done)
    return session.fail("undrain: " + done.error());
  if (session.arguments().json)
    session.out(json({{"drained", false}, {"frr", frr->name}}).dump() + "\n");
  else
    session.out(printable(frr->words() + " announces its routes as before") + "\n");
  return kDone;
}

}  // namespace hecto::cli
