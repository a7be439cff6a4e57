// The command lines of doctor, bind, unbind and prepare.
#pragma once

#include <string>

#include "router/cli/verbs.hpp"

namespace hecto::cli {

void add_machine_verbs(CLI::App& app, Arguments& a, AddVerb add_verb, const std::string& group);

}  // namespace hecto::cli
