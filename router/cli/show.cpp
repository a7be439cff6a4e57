#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <thread>

#include "lookup/prefix.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"
#include "router/cli/mark.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

using Render = std::string (*)(const json&, Style);

Render renderer(const std::string& noun) {
  static const std::pair<const char*, Render> table[] = {
      {"summary", render_summary},     {"ports", render_ports},
      {"bonds", render_bonds},         {"bridges", render_bridges},
      {"filters", render_filters},     {"nat", render_nat},
      {"flows", render_flows},         {"interfaces", render_interfaces},
      {"neighbors", render_neighbors}, {"rules", render_rules},
      {"tables", render_tables},       {"nexthops", render_nexthops},
      {"workers", render_workers},     {"offload", render_offload},
      {"ipsec", render_ipsec},         {"drops", render_drops},
      {"pools", render_pools},         {"config", render_config},
      {"plan", render_plan},           {"punt", render_punt},
      {"sflow", render_sflow},         {"ipfix", render_ipfix},
      {"labels", render_labels},
  };
  for (const auto& [name, render] : table) {
    if (noun == name) return render;
  }
  return nullptr;
}

// The counters of the answer since `hecto clear`, with the line that says so; else as it is.
struct Since {
  json body;
  std::string line;
};
Since since_clear(const Session& session, json body) {
  const Arguments& arguments = session.arguments();
  const bool marked = std::any_of(std::begin(kMarkedNouns), std::end(kMarkedNouns),
                                  [&](const char* noun) { return arguments.object == noun; });
  if (!marked || arguments.total || arguments.json) return {std::move(body), {}};
  const std::string file = mark_file(arguments.socket);
  if (file.empty() || ::access(file.c_str(), R_OK) != 0) return {std::move(body), {}};
  const auto summary = session.get("/v1/summary");
  if (!summary) return {std::move(body), {}};
  const auto now = static_cast<int64_t>(std::time(nullptr));
  const auto mark = read_mark(file, json::parse(*summary, nullptr, false), now);
  if (!mark) return {std::move(body), {}};
  const auto age = static_cast<uint64_t>(
      std::max<int64_t>(0, now - static_cast<int64_t>(whole(*mark, "at_unix_s"))));
  return {since_mark(arguments.object, std::move(body), at(*mark, arguments.object.c_str())),
          fmt::format("since hecto clear, {} ago; --total: since the router's start\n",
                      clock_time(age))};
}

int show_noun(const Session& session, json body, Render render) {
  const auto [since, line] = since_clear(session, std::move(body));
  session.out(render(since, session.style()) + line);
  return kDone;
}

// The whole list with --json, so that scripts see the answer of the API; else the one of that name.
int show_named(const Session& session, Render render) {
  const std::string& noun = session.arguments().object;
  const std::string& name = session.arguments().filter;
  const auto answer = session.get("/v1/" + noun);
  if (!answer) return kFailed;
  json body = json::parse(*answer, nullptr, false);
  json kept = json::array();
  std::string names;
  for (const json& item : list(body, noun.c_str())) {
    if (text(item, "name") == name) kept.push_back(item);
    names += (names.empty() ? "" : ", ") + text(item, "name");
  }
  if (kept.empty()) {
    return session.fail(fmt::format("there is no {} \"{}\"; there is {}",
                                    noun.substr(0, noun.size() - 1), name,
                                    names.empty() ? "none" : names));
  }
  body[noun] = std::move(kept);
  if (session.arguments().json) return session.show(body.dump() + "\n", render);
  return show_noun(session, std::move(body), render);
}

int show_all(const Session& session, Render render) {
  const auto answer = session.get("/v1/" + session.arguments().object);
  const json body = answer ? json::parse(*answer, nullptr, false) : json();
  if (session.arguments().json || !body.is_object()) return session.show(answer, render);
  return show_noun(session, body, render);
}

int explain(const Session& session, const std::string& address) {
  std::map<std::string, std::string> query = {{"address", address}};
  const Arguments& arguments = session.arguments();
  if (!arguments.from.empty()) query["from"] = arguments.from;
  if (!arguments.interface.empty()) query["interface"] = arguments.interface;
  if (!arguments.table.empty()) query["table"] = arguments.table;
  if (arguments.length > 0) query["length"] = std::to_string(arguments.length);
  if (arguments.ttl > 0) query["ttl"] = std::to_string(arguments.ttl);
  return session.show(session.get("/v1/routes", query), render_explanation);
}

// The first page, or all to the end. A filter may leave a page with few: then until there are enough.
int walk(const Session& session, const std::string& prefix) {
  const Arguments& arguments = session.arguments();
  uint64_t left = arguments.all ? UINT64_MAX : arguments.limit;
  std::map<std::string, std::string> query;
  const std::pair<const char*, const std::string&> filters[] = {{"prefix", prefix},
                                                                {"origin", arguments.origin},
                                                                {"protocol", arguments.protocol},
                                                                {"interface", arguments.interface}};
  for (const auto& [key, value] : filters)
    if (!value.empty()) query[key] = value;
  const bool filtered = query.size() > (prefix.empty() ? 0u : 1u);
  if (!arguments.table.empty()) query["table"] = arguments.table;
  bool any = false;
  for (bool first = true;; first = false) {
    query["limit"] = std::to_string(std::min<uint64_t>(left, 10'000));
    const auto answer = session.get("/v1/routes", query);
    if (!answer) return kFailed;
    const json body = json::parse(*answer, nullptr, false);
    if (arguments.json) {
      session.out(*answer);
    } else {
      if (first) session.out(render_route_counts(body, session.style()));
      session.out(render_route_page(body, session.style()));
    }
    std::set<std::string> prefixes;
    for (const json& route : list(body, "routes")) prefixes.insert(text(route, "prefix"));
    any = any || !prefixes.empty();
    if (!arguments.all) left -= std::min<uint64_t>(left, prefixes.size());
    if (!has(body, "next")) break;
    if (left == 0 || (!filtered && !arguments.all)) {
      if (!arguments.json) session.out("… there are more: --all, --limit N, or a prefix\n");
      break;
    }
    query["after"] = text(body, "next");
  }
  if (!any && !arguments.json) session.out("no route is like that\n");
  return kDone;
}

int show_mtu(const Session& session) {
  const Arguments& arguments = session.arguments();
  std::map<std::string, std::string> query;
  if (!arguments.filter.empty() && !lookup::IpAddress::parse(arguments.filter))
    return session.wrong_usage(
        fmt::format("mtu: \"{}\" is no address; use one like 203.0.113.9", arguments.filter));
  if (arguments.filter.empty() && !arguments.from.empty())
    return session.wrong_usage("mtu: --from goes with an ADDRESS");
  if (!arguments.filter.empty()) query["address"] = arguments.filter;
  if (!arguments.from.empty()) query["from"] = arguments.from;
  return session.show(session.get("/v1/mtu", query), render_mtu);
}

int show_routes(const Session& session) {
  const std::string& filter = session.arguments().filter;
  const bool address = lookup::IpAddress::parse(filter).has_value();
  const Arguments& arguments = session.arguments();
  for (const auto& [option, given] :
       {std::pair("--from", !arguments.from.empty()), std::pair("--length", arguments.length > 0),
        std::pair("--ttl", arguments.ttl > 0)})
    if (given && !address)
      return session.wrong_usage(fmt::format("routes: {} goes with an ADDRESS", option));
  if (filter.empty()) return walk(session, {});
  if (address) return explain(session, filter);
  // 203.0.113.7/24 is what `ip addr` shows: its network is meant.
  if (const auto prefix = lookup::IpPrefix::parse_interface(filter)) {
    return walk(session, prefix->network().to_string());
  }
  return session.wrong_usage(fmt::format(
      "routes: \"{}\" is neither address nor prefix; use one like 203.0.113.9 or 10.0.0.0/8",
      filter));
}

}  // namespace

int show(const Session& session) {
  const Arguments& arguments = session.arguments();
  const auto once = [&] {
    if (arguments.object == "routes") return show_routes(session);
    if (arguments.object == "mtu") return show_mtu(session);
    const Render render = renderer(arguments.object);
    return arguments.filter.empty() ? show_all(session, render) : show_named(session, render);
  };
  if (!arguments.watch_s) return once();
  const bool terminal = !session.style().whole;
  for (bool first = true;; first = false) {
    if (terminal) session.out("\033[H\033[2J");  // to the corner, and nothing behind it
    if (!terminal && !first && !arguments.json) session.out("\n");
    if (const int code = once(); code != kDone) return code;
    std::this_thread::sleep_for(std::chrono::duration<double>(*arguments.watch_s));
  }
}

}  // namespace hecto::cli
