// The class of a packet that goes to Linux: by what is in it where it is for the router itself, by
// its reason where it is not. Thread-safe.
#pragma once

#include <span>

#include "base/punt_class.hpp"
#include "base/reason.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/punt/sessions.hpp"

struct rte_mbuf;

namespace hecto::router {

// `frame`: what lies together of it, from the Ethernet header on. `own`: its destination is an
// address of the router. `sessions`: null where its sockets are not known; then every port counts
// as one at which somebody is.
PuntClass punt_class(std::span<const uint8_t> frame, Reason reason, bool own,
                     const PuntSessions* sessions) noexcept;

// Asks the tables whose address it is, where that matters.
PuntClass punt_class(const rte_mbuf* packet, Reason reason, const TableViews& tables,
                     const PuntSessions* sessions) noexcept;

}  // namespace hecto::router
