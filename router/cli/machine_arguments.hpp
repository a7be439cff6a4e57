// The command lines of doctor, bind, unbind and prepare.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "router/cli/arguments.hpp"

namespace hecto::cli {

using AddVerb = CLI::App& (*)(CLI::App& app, const char* name, const char* text,
                              const std::string& footer);

void add_machine_verbs(CLI::App& app, Arguments& a, AddVerb add_verb, const std::string& group);

}  // namespace hecto::cli
