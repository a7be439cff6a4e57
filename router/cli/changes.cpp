#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "lookup/prefix.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;
using router::HttpRequest;

constexpr std::chrono::milliseconds kLoadTime{300'000};
constexpr size_t kMostBytes = 256u << 20;  // of a body, docs/api.md

HttpRequest change_request(const char* method, const char* path) {
  HttpRequest made;
  made.method = method;
  made.path = path;
  return made;
}

tl::expected<std::string, std::string> read_file(const std::string& name) {
  const auto close = [](FILE* file) {
    if (file != stdin) std::fclose(file);
  };
  const std::unique_ptr<FILE, decltype(close)> file(
      name == "-" ? stdin : std::fopen(name.c_str(), "re"), close);
  if (!file) return tl::unexpected<std::string>(name + ": " + std::strerror(errno));
  std::string body;
  char buffer[1 << 16];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    body.append(buffer, got);
    if (body.size() > kMostBytes) {
      return tl::unexpected<std::string>(name + ": is larger than 256 MiB; load it in parts");
    }
  }
  if (std::ferror(file.get()) != 0) {
    return tl::unexpected<std::string>(name + ": " + std::strerror(errno));
  }
  if (body.empty()) return tl::unexpected<std::string>(name + ": is empty");
  return body;
}

const char* other_compression(const std::string& body) {
  if (body.rfind("BZh", 0) == 0) return "bzip2";
  if (body.rfind("\xfd"
                 "7zXZ",
                 0) == 0)
    return "xz";
  if (body.rfind("\x28\xb5\x2f\xfd", 0) == 0) return "zstd";
  return nullptr;
}

std::string render_changed(const json& answer, Style) {
  return fmt::format("{} changed, {} routes over the API now\n", count(whole(answer, "changed")),
                     count(whole(answer, "routes")));
}

std::string render_set(const json& answer, Style) {
  return fmt::format("set {}: {} prefixes now\n", text(answer, "set"),
                     count(whole(answer, "prefixes")));
}

std::string render_load(const json& answer, Style style) {
  std::string out = fmt::format(
      "{} routes ({}) in {}: {} added, {} replaced, {} removed\n", count(whole(answer, "routes")),
      text(answer, "format"), duration(number(answer, "duration_s")), count(whole(answer, "added")),
      count(whole(answer, "replaced")), count(whole(answer, "removed")));
  const uint64_t skipped = whole(answer, "skipped");
  const uint64_t bad = whole(answer, "bad");
  if (skipped != 0) {
    out += painted(fmt::format("! {} entries could not be used\n", count(skipped)), Paint::kWarn,
                   style);
  }
  if (bad != 0) {
    out += painted(fmt::format("! {} bad lines or records are left out\n", count(bad)),
                   Paint::kWarn, style);
  }
  for (const json& problem : list(answer, "problems")) out += paragraph("  ", plain(problem));
  return out;
}

bool is_type(const std::string& word) {
  return word == "unicast" || word == "blackhole" || word == "unreachable" || word == "prohibit";
}

// The words of `ip route`: [TYPE] PREFIX [via GW[,GW]] [dev IF] [metric N].
tl::expected<json, std::string> route_of(const std::vector<std::string>& words, size_t first) {
  json body = json::object();
  json via = json::array();
  std::string interface;
  for (size_t i = first; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool takes_value = word == "via" || word == "dev" || word == "metric";
    if (takes_value && i + 1 == words.size()) {
      return tl::unexpected<std::string>(word + ": needs a value");
    }
    if (word == "via") {
      const std::string gateways = words[++i];
      for (size_t at = 0; at <= gateways.size();) {
        const size_t comma = std::min(gateways.find(',', at), gateways.size());
        via.push_back({{"gateway", gateways.substr(at, comma - at)}});
        at = comma + 1;
      }
    } else if (word == "dev") {
      interface = words[++i];
    } else if (word == "metric") {
      const std::string& value = words[++i];
      uint32_t metric = 0;
      const char* last = value.data() + value.size();
      const auto [end, error] = std::from_chars(value.data(), last, metric);
      if (error != std::errc() || end != last) {
        return tl::unexpected<std::string>("metric: \"" + value +
                                           "\" is no metric; use 0 to 4294967295");
      }
      body["metric"] = metric;
    } else if (is_type(word)) {
      body["type"] = word;
    } else if (!body.contains("to")) {
      const bool everything = word == "default";
      const auto prefix = lookup::IpPrefix::parse(everything ? "0.0.0.0/0" : word);
      if (!prefix) {
        return tl::unexpected<std::string>(
            "\"" + word + "\" is no prefix, or has host bits; use one like 203.0.113.0/24");
      }
      body["to"] = prefix->to_string();
    } else {
      return tl::unexpected<std::string>("\"" + word + "\" is not known; use via, dev, metric");
    }
  }
  if (!interface.empty()) {
    for (json& hop : via) hop["interface"] = interface;
  }
  if (!via.empty()) body["via"] = std::move(via);
  return body;
}

// Its body and its name, with which the router tells what is wrong with it; false when told.
bool send_file(const Session& session, const std::string& file, HttpRequest& request) {
  auto body = read_file(file);
  if (!body) {
    session.fail(body.error());
    return false;
  }
  if (const char* packed = other_compression(*body)) {
    session.fail(fmt::format("{}: is packed with {}; unpack it: {} -dc FILE | hecto {} -", file,
                             packed, packed,
                             request.path == "/v1/flows/load" ? "flow load"
                             : request.method == "POST"       ? "load-routes"
                                                              : "route delete file"));
    return false;
  }
  request.body = std::move(*body);
  request.query["name"] = file == "-" ? "standard input" : file;
  return true;
}

int delete_route(const Session& session) {
  const Arguments& arguments = session.arguments();
  HttpRequest made = change_request("DELETE", "/v1/routes");
  if (arguments.words.size() > 1 && arguments.words[1] == "file") {
    if (arguments.words.size() != 3 || arguments.all)
      return session.wrong_usage("delete: file: use file FILE, alone; - is standard input");
    if (!send_file(session, arguments.words[2], made)) return kFailed;
  } else if (arguments.all) {
    if (arguments.words.size() > 1) return session.wrong_usage("delete: --all stands alone");
    made.query["all"] = "1";
  } else {
    const auto body = route_of(arguments.words, 1);
    if (!body) return session.wrong_usage("delete: " + body.error());
    if (!has(*body, "to")) return session.wrong_usage("delete: which prefix? or --all");
    made.query["to"] = text(*body, "to");
    if (has(*body, "metric")) made.query["metric"] = text(*body, "metric");
  }
  return session.show(session.ask(made, kLoadTime), render_changed);
}

}  // namespace

// The words as they are: the router reads them.
int flow(const Session& session) {
  const Arguments& arguments = session.arguments();
  const std::vector<std::string>& words = arguments.words;
  const std::string verb = words.empty() ? std::string() : words[0];
  const bool add = verb == "add", load = verb == "load";
  if (!add && !load && verb != "delete" && verb != "del")
    return session.wrong_usage("\"" + verb + "\" is not known; use add, delete or load");
  if (arguments.all && (add || load || words.size() > 1))
    return session.wrong_usage("--all goes with delete, alone");
  HttpRequest made = change_request(add || load ? "POST" : "DELETE", "/v1/flows");
  if (load) {
    if (words.size() != 2) return session.wrong_usage("load: use load FILE; - is standard input");
    made.path = "/v1/flows/load";
    if (!send_file(session, words[1], made)) return kFailed;
  } else if (arguments.all) {
    made.query["all"] = "1";
  } else {
    if (words.size() < 2) return session.wrong_usage(verb + ": which entry?");
    std::string line;
    for (size_t i = 1; i < words.size(); ++i) line += (i == 1 ? "" : " ") + words[i];
    made.body = json(line).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return session.show(session.ask(made, kLoadTime), [](const json& answer, Style) {
    return fmt::format("{} changed, {} entries now\n", count(whole(answer, "changed")),
                       count(whole(answer, "flows")));
  });
}

int load_routes(const Session& session) {
  const Arguments& arguments = session.arguments();
  HttpRequest made = change_request("POST", "/v1/routes/load");
  if (!send_file(session, arguments.object, made)) return kFailed;
  if (!arguments.via.empty()) made.query["via"] = arguments.via;
  if (arguments.metric != 0) made.query["metric"] = std::to_string(arguments.metric);
  if (arguments.replace) made.query["replace"] = "1";
  if (arguments.skip_bad) made.query["skip_bad"] = "1";
  return session.show(session.ask(made, kLoadTime), render_load);
}

int set(const Session& session) {
  const std::vector<std::string>& words = session.arguments().words;
  const bool add = words[0] == "add";
  if (!add && words[0] != "delete" && words[0] != "del")
    return session.wrong_usage("\"" + words[0] + "\" is not known; use add or delete");
  if (words.size() < 3) return session.wrong_usage(words[0] + ": which set, and which prefixes?");
  json prefixes = json::array();
  for (size_t i = 2; i < words.size(); ++i) {
    const auto prefix = lookup::IpPrefix::parse(words[i]);
    if (!prefix)
      return session.wrong_usage(
          fmt::format("{}: \"{}\" is no prefix, or has host bits; use one like 203.0.113.0/24",
                      words[0], words[i]));
    prefixes.push_back(prefix->to_string());
  }
  HttpRequest made = change_request("POST", "/v1/sets");
  const json body = {{"set", words[1]}, {add ? "add" : "remove", std::move(prefixes)}};
  made.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return session.show(session.ask(made, kLoadTime), render_set);
}

int route(const Session& session) {
  const std::vector<std::string>& words = session.arguments().words;
  const std::string verb = words.empty() ? std::string() : words[0];
  if (verb != "add" && session.arguments().persist)
    return session.wrong_usage("--persist goes with add");
  if (verb == "delete" || verb == "del") return delete_route(session);
  if (verb != "add") return session.wrong_usage("\"" + verb + "\" is not known; use add or delete");
  auto body = route_of(words, 1);
  if (!body) return session.wrong_usage("add: " + body.error());
  if (!has(*body, "to")) return session.wrong_usage("add: which prefix?");
  if (!has(*body, "via") && !has(*body, "type")) {
    return session.wrong_usage("add: via which gateway?");
  }
  HttpRequest made = change_request("POST", "/v1/routes");
  if (session.arguments().persist) (*body)["persist"] = true;
  made.body = body->dump(-1, ' ', false, json::error_handler_t::replace);
  return session.show(session.ask(made, kLoadTime), render_changed);
}

}  // namespace hecto::cli
