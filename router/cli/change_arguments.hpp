// The command lines of reload, diff, confirm, rollback, route and load-routes.
#pragma once

#include "router/cli/verbs.hpp"

namespace hecto::cli {

void add_change_verbs(CLI::App& app, Arguments& a, AddVerb add_verb);

}  // namespace hecto::cli
