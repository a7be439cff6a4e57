// What the sources of command lines share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "router/cli/arguments.hpp"

namespace hecto::cli {

// A verb with its help, among those that need a router.
using AddVerb = CLI::App& (*)(CLI::App& app, const char* name, const char* text,
                              const std::string& footer);

// An option with a value, which the help calls `value`.
inline CLI::Option* add_option(CLI::App& verb, const char* names, auto& into, const char* value,
                               const std::string& text) {
  return verb.add_option(names, into, text)->option_text(value);
}

}  // namespace hecto::cli
