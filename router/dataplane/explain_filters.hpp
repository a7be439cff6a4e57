// "Which rules of the file's filters hold for this packet?" Asked as workers ask, and nothing is counted
// and no token taken. Control thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/reason.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/filter/filter_views.hpp"

namespace hecto::router {

class FilterJudge;

// What a filter said.
struct FilterFinding {
  const char* where = "";  // in, vrf, out, local
  std::string filter;
  std::string rule;               // its name, or its number from 1; empty: none held
  Reason reason = Reason::kNone;  // kNone: it goes on
  std::string policer;            // where that has the last word; empty: none
};

class FilterQuestions {
 public:
  explicit FilterQuestions(const Snapshot& snapshot);
  ~FilterQuestions();

  bool any_in() const;  // of interfaces or VRFs, wherever it comes in
  // Of a packet behind an L2 header, which may get a mark: why it is refused.
  Reason in(rte_mbuf* packet, Ingress ingress, lookup::Family family);  // and by the VRF's
  Reason out(rte_mbuf* packet, Ingress ingress, lookup::Family family, InterfaceId egress);
  Reason local(rte_mbuf* packet, Ingress ingress, lookup::Family family);
  std::vector<FilterFinding> take() { return std::move(findings_); }
  const FilterViews* views() const { return views_; }  // null: there are none

 private:
  Reason ask(FilterNumber number, const char* where, rte_mbuf* packet, Ingress ingress,
             lookup::Family family);

  const FilterTables* const tables_;  // null: there are no filters
  const FilterViews* views_ = nullptr;
  std::unique_ptr<FilterJudge> judge_;
  std::vector<FilterFinding> findings_;
};

}  // namespace hecto::router
