// The verbs. Each gives the program's exit code.
#pragma once

#include "router/cli/session.hpp"

namespace hecto::cli {

int show(const Session& session);
int check(const Session& session);
int plan(const Session& session);
int plan_cluster(const Session& session);
int reload(const Session& session);
int diff(const Session& session);
int confirm(const Session& session);
int rollback(const Session& session);
int load_routes(const Session& session);
int route(const Session& session);
int set(const Session& session);
int flow(const Session& session);
int trace(const Session& session);
int capture(const Session& session);
int clear(const Session& session);
int top(const Session& session);
int version(const Session& session);
int drain(const Session& session);
int undrain(const Session& session);
int doctor(const Session& session);
int bind(const Session& session);
int unbind(const Session& session);
int prepare(const Session& session);

}  // namespace hecto::cli
