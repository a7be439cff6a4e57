#include "router/control/persist_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/route_control.hpp"
#include "router/ipsec/ipsec.hpp"
#include "router/ipsec/ipsec_config.hpp"
#include "router/rib/route_table.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

constexpr uint64_t kMostSequence = UINT32_MAX;  // RFC 4303 §3.3.3, without ESN
template <typename Item>
void erase_same(std::vector<Item>& items, const Item& item) {
  std::erase_if(items, [&](const Item& other) { return key_of(other) == key_of(item); });
}

std::string name_of(const config::RouteConfig& route) {
  const auto [prefix, metric] = key_of(route);
  return fmt::format("route {} metric {}", prefix.to_string(), metric);
}
std::string name_of(const SaId& id) {
  return "SA " + to_string(id);
}
std::string name_of(const config::IpsecPolicyConfig& policy) {
  return "policy " + to_string(ipsec_policy(policy, RouteOrigin::kApi));
}

// In the place of one with its key, or no more.
template <typename Item>
void place(std::vector<Item>& items, const Item& item, bool persist) {
  const auto there = std::find_if(items.begin(), items.end(),
                                  [&](const Item& one) { return key_of(one) == key_of(item); });
  if (!persist)
    erase_same(items, item);
  else if (there != items.end())
    *there = item;
  else
    items.push_back(item);
}

// Not all that the API takes can be said in the file's words.
Result<void> check_words(const config::KeptItems& one) {
  const SecretBytes yaml = to_yaml(one);
  auto back = config::parse_kept_items({reinterpret_cast<const char*>(yaml.data()), yaml.size()},
                                       "persist");
  if (!back) return fail(back.error().front());
  return *back == one ? Result<void>{} : fail("persist: it cannot be said in the file's words");
}

Result<void> check_room(size_t count, size_t most, const char* what) {
  if (count <= most) return {};
  return fail(
      fmt::format("persist: {} {} are kept already; write more of them into the file", most, what),
      ENOSPC);
}

}  // namespace

PersistControl::PersistControl(const std::string& directory, const std::string& api_socket,
                               RouteControl& routes, const Routing& routing, Ipsec& ipsec)
    : file_(directory, api_socket),
      numbers_(state_path(directory, api_socket, "numbers")),
      routes_(routes),
      routing_(routing),
      ipsec_(ipsec) {}

std::vector<SaNumbers> PersistControl::numbers_left() {
  file_.read();
  return file_.items().sas.empty() && !file_.blocked() ? std::vector<SaNumbers>() : numbers_.read();
}

void PersistControl::restore(const std::vector<SaNumbers>& left, bool holds_ipsec) {
  const Items& items = file_.items();
  for (const config::RouteConfig& route : items.routes)
    if (auto added = routes_.add(route, RouteOrigin::kApi); !added)
      leave_out(name_of(route), added.error().message + "; tried again each second");
  if (holds_ipsec) {
    restore_sas(left);
    for (const config::IpsecPolicyConfig& policy : items.policies)
      if (auto added = ipsec_.add_policy(ipsec_policy(policy, RouteOrigin::kApi)); !added)
        leave_out(name_of(policy), added.error().message);
    ipsec_.commit();
  } else {
    for (const config::IpsecSaConfig& sa : items.sas) {
      const SaId id{sa.destination, sa.spi};
      prints_[id] = SaRecord::kAnyPrint;
      leave_out(name_of(id), "nothing here can hold SAs");
    }
    for (const config::IpsecPolicyConfig& policy : items.policies)
      leave_out(name_of(policy), "nothing here can hold policies");
  }
  if (!items.empty())
    spdlog::info("persist: {} routes, {} SAs and {} policies of the API are kept; {} of them wait",
                 items.routes.size(), items.sas.size(), items.policies.size(), left_out_.size());
}

// What they may send is written down before any of them sends.
void PersistControl::restore_sas(const std::vector<SaNumbers>& left) {
  if (file_.items().sas.empty()) return;
  std::vector<SaState> wanted;
  std::vector<SaNumbers> begin;
  for (const config::IpsecSaConfig& sa : file_.items().sas) {
    const SaId id{sa.destination, sa.spi};
    auto state = sa_state(sa, RouteOrigin::kApi);
    const uint64_t print = state ? fingerprint(state->transform, state->keys) : SaRecord::kAnyPrint;
    prints_[id] = print;
    SaNumbers last{id, print, 0, 0};
    bool known = false;
    for (const SaNumbers& one : left) {
      if (one.id != id || one.fingerprint != print) continue;
      known = true;
      last.sequence = std::max(last.sequence, one.sequence);
      last.replay_sequence = std::max(last.replay_sequence, one.replay_sequence);
    }
    if (!state)
      leave_out(name_of(id), state.error().message);
    else if (!known)
      leave_out(name_of(id), "the record of its numbers is lost, and none may go out twice");
    else if (!sa.esn && last.sequence >= kMostSequence)
      leave_out(name_of(id), "its sequence numbers are used up");
    else {
      begin.push_back(last);
      wanted.push_back(std::move(*state));
    }
  }
  const auto written = numbers_.write(prints_, begin, SaNumbers::kReserve);
  for (SaState& state : wanted) {
    const std::string name = name_of(state.id);
    if (!written)
      leave_out(name, "its numbers cannot be written down: " + written.error().message);
    else if (auto added = ipsec_.add_sa(std::move(state)); !added)
      leave_out(name, added.error().message);
  }
}

void PersistControl::leave_out(const std::string& name, const std::string& why) {
  left_out_[name] = why;
  spdlog::warn("persist: {} is not taken up: {}", name, why);
}

Result<void> PersistControl::add_route(const config::RouteConfig& route, bool persist) {
  Items next = file_.items();
  place(next.routes, route, persist);
  if (auto room = check_room(next.routes.size(), kMostRoutes, "routes"); !room) return room;
  if (persist)
    if (auto said = check_words({{route}, {}, {}}); !said) return said;
  return file_.change(std::move(next), [&]() -> Result<void> {
    auto added = routes_.add(route, RouteOrigin::kApi);
    if (!added) return tl::unexpected(added.error());
    left_out_.erase(name_of(route));
    return {};
  });
}

Result<void> PersistControl::remove_route(const lookup::IpPrefix& prefix, uint32_t metric) {
  config::RouteConfig route;
  route.to = prefix;
  route.metric = metric;
  Items next = file_.items();
  erase_same(next.routes, route);
  const bool kept = next != file_.items();
  return file_.change(std::move(next), [&]() -> Result<void> {
    auto removed = routes_.remove(prefix, metric, RouteOrigin::kApi);
    return left_out_.erase(name_of(route)) != 0 || kept ? Result<void>{} : removed;
  });
}

Result<void> PersistControl::forget_routes() {
  Items next = file_.items();
  next.routes.clear();
  return file_.change(std::move(next), [&]() -> Result<void> {
    std::erase_if(left_out_, [](const auto& one) { return one.first.starts_with("route "); });
    return {};
  });
}

void PersistControl::find_routes() {
  drop_routes([&](const config::RouteConfig& route) {
    RouteFilter filter;
    filter.within = route.to;
    filter.origin = RouteOrigin::kApi;
    const RoutePage page = routing_.routes({}, 1, filter);
    const auto there =
        std::find_if(page.routes.begin(), page.routes.end(), [&](const RouteView& one) {
          return one.prefix == route.to && one.metric == key_of(route).second;
        });
    if (there == page.routes.end()) return !left_out_.contains(name_of(route));
    return there->load != 0;
  });
}

void PersistControl::forget_waiting(const RouteTable& listed) {
  std::set<lookup::IpPrefix> gone;
  for (const config::RouteConfig& route : file_.items().routes)
    if (left_out_.contains(name_of(route))) gone.insert(route.to);
  if (gone.empty()) return;
  std::set<lookup::IpPrefix> found;
  for (const RouteTable::Entry& entry : listed.entries)
    if (gone.contains(entry.prefix)) found.insert(entry.prefix);
  drop_routes([&](const config::RouteConfig& route) {
    return found.contains(route.to) && left_out_.contains(name_of(route));
  });
}

void PersistControl::drop_routes(const std::function<bool(const config::RouteConfig&)>& gone) {
  Items next = file_.items();
  std::vector<std::string> names;
  std::erase_if(next.routes, [&](const config::RouteConfig& route) {
    const bool drop = gone(route);
    if (drop) names.push_back(name_of(route));
    return drop;
  });
  if (next == file_.items()) return;
  for (const std::string& name : names) left_out_.erase(name);
  file_.follow(std::move(next));
}

// Its keys are kept themselves, wherever they came from.
Result<void> PersistControl::add_sa(config::IpsecSaConfig sa, SaState state, bool persist) {
  sa.key_file.clear();
  const SaId id = state.id;
  const uint64_t print = fingerprint(state.transform, state.keys);
  Items next = file_.items();
  place(next.sas, sa, persist);
  if (persist) {
    if (sa.lifetime != config::IpsecLifetime{})
      return fail("persist: a lifetime would begin anew with each start; take one of both out");
    if (auto room = check_room(next.sas.size(), kMostSas, "SAs"); !room) return room;
    if (auto said = check_words({{}, {sa}, {}}); !said) return said;
    if (auto may = file_.may_write(); !may) return may;
    std::vector<SaNumbers> now = numbers_now();
    if (SaRecord::find(now, id, print) == nullptr) {
      const std::vector<SaNumbers> all = ipsec_.sa_numbers();
      const SaNumbers* last = SaRecord::find(all, id, print);
      now.push_back(last != nullptr ? *last : SaNumbers{id, print, 0, 0});
    }
    if (auto written = numbers_.write(prints_, now, SaNumbers::kReserve); !written)
      return fail(fmt::format("persist: {}; nothing was changed", written.error().message));
  }
  return file_.change(std::move(next), [&]() -> Result<void> {
    auto added = ipsec_.add_sa(std::move(state));
    if (!added) return tl::unexpected(added.error());
    left_out_.erase(name_of(id));
    prints_.erase(id);
    if (persist) prints_[id] = print;
    return {};
  });
}

Result<void> PersistControl::remove_sa(const SaId& id) {
  config::IpsecSaConfig sa;
  sa.destination = id.destination;
  sa.spi = id.spi;
  Items next = file_.items();
  erase_same(next.sas, sa);
  // It may have expired since, or Linux may have its place.
  const bool kept = next != file_.items();
  return file_.change(std::move(next), [&]() -> Result<void> {
    auto removed = ipsec_.remove_sa(id, RouteOrigin::kApi);
    const bool waited = left_out_.erase(name_of(id)) != 0;
    if (!removed && !waited && !kept) return removed;
    prints_.erase(id);
    return {};
  });
}

Result<void> PersistControl::add_policy(const config::IpsecPolicyConfig& policy, bool persist) {
  Items next = file_.items();
  place(next.policies, policy, persist);
  if (auto room = check_room(next.policies.size(), kMostPolicies, "policies"); !room) return room;
  if (persist)
    if (auto said = check_words({{}, {}, {policy}}); !said) return said;
  return file_.change(std::move(next), [&]() -> Result<void> {
    auto added = ipsec_.add_policy(ipsec_policy(policy, RouteOrigin::kApi));
    if (!added) return tl::unexpected(added.error());
    left_out_.erase(name_of(policy));
    return {};
  });
}

Result<void> PersistControl::remove_policy(const config::IpsecPolicyConfig& policy) {
  Items next = file_.items();
  erase_same(next.policies, policy);
  const bool kept = next != file_.items();
  return file_.change(std::move(next), [&]() -> Result<void> {
    auto removed = ipsec_.remove_policy(ipsec_policy(policy, RouteOrigin::kApi));
    return left_out_.erase(name_of(policy)) != 0 || kept ? Result<void>{} : removed;
  });
}

void PersistControl::tick() {
  for (const config::RouteConfig& route : file_.items().routes) {
    const auto waits = left_out_.find(name_of(route));
    if (waits == left_out_.end() || !routes_.add(route, RouteOrigin::kApi)) continue;
    spdlog::info("persist: {} is there again", waits->first);
    left_out_.erase(waits);
  }
  file_.tick();
  // A file that is blocked knows of SAs whose records are here.
  if (!file_.blocked()) numbers_.watch(prints_, numbers_now());
}

void PersistControl::end() {
  if (!file_.blocked()) numbers_.end(prints_, numbers_now());
}

std::vector<SaNumbers> PersistControl::numbers_now() const {
  std::vector<SaNumbers> now;
  if (prints_.empty()) return now;
  for (const SaNumbers& one : ipsec_.sa_numbers()) {
    const auto kept = prints_.find(one.id);
    if (kept != prints_.end() && kept->second == one.fingerprint) now.push_back(one);
  }
  return now;
}

std::vector<std::string> PersistControl::lines() const {
  std::vector<std::string> lines = file_.lines();
  if (!numbers_.trouble().empty()) lines.push_back("persist: " + numbers_.trouble());
  if (left_out_.empty()) return lines;
  const auto& [name, why] = *left_out_.begin();
  lines.push_back(fmt::format(
      "persist: {} is not taken up: {}{}", name, why,
      left_out_.size() == 1 ? std::string()
                            : fmt::format("; and {} more, as the log says", left_out_.size() - 1)));
  return lines;
}

}  // namespace hecto::router
