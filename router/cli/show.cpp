#include <fmt/format.h>

#include "lookup/prefix.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

using Render = std::string (*)(const json&, Style);

Render renderer(const std::string& noun) {
  static const std::pair<const char*, Render> table[] = {
      {"summary", render_summary},
      {"ports", render_ports},
      {"interfaces", render_interfaces},
      {"neighbors", render_neighbors},
      {"nexthops", render_nexthops},
      {"workers", render_workers},
      {"offload", render_offload},
      {"ipsec", render_ipsec},
      {"drops", render_drops},
      {"pools", render_pools},
      {"config", render_config},
      {"plan", render_plan},
      {"punt", render_punt},
  };
  for (const auto& [name, render] : table) {
    if (noun == name) return render;
  }
  return nullptr;
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
  return session.show(body.dump() + "\n", render);
}

int explain(const Session& session, const std::string& address) {
  return session.show(session.get("/v1/routes", {{"address", address}}), render_explanation);
}

// Pages of the walk until its end, or just the first.
int walk(const Session& session, const std::string& prefix) {
  const Arguments& arguments = session.arguments();
  std::map<std::string, std::string> query = {
      {"limit", std::to_string(arguments.all ? 10'000 : arguments.limit)}};
  if (!prefix.empty()) query["prefix"] = prefix;
  for (bool first = true;; first = false) {
    const auto answer = session.get("/v1/routes", query);
    if (!answer) return kFailed;
    const json body = json::parse(*answer, nullptr, false);
    if (arguments.json) {
      session.out(*answer);
    } else {
      if (first) session.out(render_route_counts(body, session.style()));
      session.out(render_route_page(body, session.style()));
    }
    if (!has(body, "next")) break;
    if (!arguments.all) {
      if (!arguments.json) session.out("… there are more: --all, --limit N, or a prefix\n");
      break;
    }
    query["after"] = text(body, "next");
  }
  return kDone;
}

int show_routes(const Session& session) {
  const std::string& filter = session.arguments().filter;
  if (filter.empty()) return walk(session, {});
  if (lookup::IpAddress::parse(filter)) return explain(session, filter);
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
  if (arguments.object == "routes") return show_routes(session);
  const Render render = renderer(arguments.object);
  if (!arguments.filter.empty()) return show_named(session, render);
  return session.show(session.get("/v1/" + arguments.object), render);
}

}  // namespace hecto::cli
