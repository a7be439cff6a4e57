// What the verbs that need no router share.
#pragma once

#include <tl/expected.hpp>

#include "config/file/config.hpp"
#include "router/cli/session.hpp"

namespace hecto::cli {

// The file named by OBJECT, or the exit code after its problems have been told.
tl::expected<config::Config, int> load_config(const Session& session);
tl::expected<config::Config, int> load_config(const Session& session, const std::string& file);

}  // namespace hecto::cli
