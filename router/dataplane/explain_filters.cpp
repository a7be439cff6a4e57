#include "router/dataplane/explain_filters.hpp"

#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/judge.hpp"
#include "router/dataplane/filter/policer.hpp"

namespace hecto::router {

FilterQuestions::FilterQuestions(const Snapshot& snapshot) : tables_(snapshot.filters.get()) {
  if (tables_ == nullptr) return;
  views_ = &tables_->views(0);
  judge_ = std::make_unique<FilterJudge>();
}

FilterQuestions::~FilterQuestions() = default;

bool FilterQuestions::any_in() const {
  return views_ != nullptr && (views_->has_in || views_->has_vrf);
}

Reason FilterQuestions::in(rte_mbuf* packet, Ingress ingress, lookup::Family family) {
  if (tables_ == nullptr || ingress.interface() >= kMaxInterfaces) return Reason::kNone;
  const InterfaceId interface = ingress.interface();
  const Reason first = ask(views_->in[interface], "in", packet, ingress, family);
  if (first != Reason::kNone) return first;
  return ask(views_->vrf[interface], "vrf", packet, ingress, family);
}

Reason FilterQuestions::out(rte_mbuf* packet, Ingress ingress, lookup::Family family,
                            InterfaceId egress) {
  if (tables_ == nullptr || egress >= kMaxInterfaces) return Reason::kNone;
  return ask(views_->out[egress], "out", packet, ingress, family);
}

Reason FilterQuestions::local(rte_mbuf* packet, Ingress ingress, lookup::Family family) {
  if (tables_ == nullptr) return Reason::kNone;
  return ask(views_->local, "local", packet, ingress, family);
}

Reason FilterQuestions::ask(FilterNumber number, const char* where, rte_mbuf* packet,
                            Ingress ingress, lookup::Family family) {
  if (number == 0) return Reason::kNone;
  const FilterView& filter = views_->filter(number);
  uint32_t rule = 0;
  if (family == lookup::Family::kIpv4)
    judge_->judge4(*views_, filter.ipv4, &packet, &ingress, 1, &rule);
  else
    judge_->judge6(*views_, filter.ipv6, &packet, &ingress, 1, &rule);
  const FilterAction& action = filter.actions[rule];
  FilterFinding finding{where,
                        tables_->filter_name(number),
                        rule == 0 ? std::string() : tables_->rule_name(number, rule),
                        action.reason,
                        {}};
  if ((action.beside & FilterAction::kMark) != 0) views_->mark.set(packet, action.mark);
  if ((action.beside & FilterAction::kTable) != 0) views_->lead.name(packet, action.table);
  if ((action.beside & FilterAction::kPolice) != 0)
    finding.policer = views_->policers[action.policer]->config().name;
  if ((action.beside & FilterAction::kEach) != 0)
    finding.policer = views_->policed[action.policer].policer->config().name;
  findings_.push_back(std::move(finding));
  return action.reason;
}

}  // namespace hecto::router
