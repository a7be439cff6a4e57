#include "router/dataplane/filter/filter_places.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {
namespace {

using config::FilterConfig;

// One binding.
class FilterPlaces {
 public:
  FilterPlaces(const FilterSurroundings& around, FilterState& out) : around_(around), out_(out) {}

  // An interface has one filter for each way; the first keeps it.
  void place(size_t index, const FilterConfig& filter) {
    number_ = static_cast<FilterNumber>(index + 1);
    notes_ = &out_.places[index];
    put_interfaces(filter.in, &FilterViews::in, "in");
    put_interfaces(filter.out, &FilterViews::out, "out");
    for (const std::string& vrf : filter.vrfs) {
      const auto members = around_.members ? around_.members(vrf) : std::vector<InterfaceId>();
      if (members.empty()) notes_->push_back(fmt::format("VRF {} has no interface (now)", vrf));
      for (const InterfaceId id : members) put(id, &FilterViews::vrf, fmt::format("VRF {}", vrf));
    }
    for (const FilterState::Mirror& mirror : out_.filters[index]->mirrors) put_mirror(mirror);
    if (!filter.local) return;
    const FilterNumber there = out_.views[0].local;
    if (there != 0)
      return notes_->push_back(fmt::format("local has filter {} already", called(there)));
    for (FilterViews& views : out_.views) views.local = number_;
  }

  // Nothing that comes in by it passes, whatever its filters say.
  void bar(InterfaceId id) {
    if (id >= kMaxInterfaces) return;
    for (FilterViews& views : out_.views)
      views.in[id] = static_cast<FilterNumber>(views.filters.size());
  }

  void count() {
    const auto some = [](const auto& table) {
      return std::ranges::any_of(table, [](FilterNumber each) { return each != 0; });
    };
    for (FilterViews& views : out_.views) {
      views.has_in = some(views.in);
      views.has_vrf = some(views.vrf);
      views.has_out = some(views.out);
    }
  }

 private:
  using Table = std::array<FilterNumber, kMaxInterfaces> FilterViews::*;

  const std::string& called(FilterNumber number) const { return out_.filters[number - 1u]->name; }

  bool put(InterfaceId id, Table which, const std::string& where) {
    if (id >= kMaxInterfaces) return false;
    const FilterNumber there = (out_.views[0].*which)[id];
    if (there != 0 && there != number_) {
      notes_->push_back(fmt::format("{} has filter {} already", where, called(there)));
      return true;
    }
    for (FilterViews& views : out_.views) (views.*which)[id] = number_;
    return true;
  }

  void put_interfaces(const std::vector<std::string>& names, Table which, const char* way) {
    for (const std::string& name : names) {
      const InterfaceId id = around_.interface ? around_.interface(name) : kNoInterface;
      if (!put(id, which, fmt::format("{} of {}", way, name)))
        notes_->push_back(fmt::format("there is no interface {} (now)", name));
    }
  }

  void put_mirror(const FilterState::Mirror& mirror) {
    const PortId port = around_.port ? around_.port(mirror.port) : kNoPort;
    for (FilterViews& views : out_.views)
      views.filters[number_ - 1u].tellings[mirror.rule].mirror = port;
    if (port != kNoPort) return;
    const std::string& own = out_.filters[number_ - 1u]->rules[mirror.rule - 1];
    notes_->push_back(fmt::format("rule {}: mirror: there is no port {} (now)",
                                  own.empty() ? std::to_string(mirror.rule) : own, mirror.port));
  }

  const FilterSurroundings& around_;
  FilterState& out_;
  FilterNumber number_ = 0;
  std::vector<std::string>* notes_ = nullptr;
};

}  // namespace

void bind_filters(const config::FiltersConfig& config, const FilterSurroundings& around,
                  FilterState& out) {
  out.places.assign(out.filters.size(), {});
  for (FilterViews& views : out.views) {
    views.in = views.vrf = views.out = {};
    views.local = 0;
  }
  FilterPlaces places(around, out);
  for (size_t i = 0; i < config.filters.size(); ++i) places.place(i, config.filters[i]);
  for (const InterfaceId id : around.barred) places.bar(id);
  places.count();
}

void share_filters(const FilterState& from, FilterState& out) {
  out.slots = from.slots;
  out.filters = from.filters;
  out.barrier = from.barrier;
  out.sets = from.sets;
  out.policers = from.policers;
  out.policers_known = from.policers_known;
  out.prefix_policers = from.prefix_policers;
  out.policed = from.policed;
  out.wanted = from.wanted;
  out.log = from.log;
  out.sockets = from.sockets;
  out.views = from.views;
}

}  // namespace hecto::router
