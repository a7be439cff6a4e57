// hecto -H BOX: the same command on another box, over ssh.
#pragma once

#include <string>
#include <vector>

#include "router/cli/session.hpp"

namespace hecto::cli {

// The command line for the other side's shell: every word of ours in quotes, without -H and its
// value. `words` begins with the program.
std::string remote_command(const std::vector<std::string>& words);

// Empty: a name that ssh takes for nothing but a host. Else what is wrong with it.
std::string host_problem(const std::string& host);

// Runs it on each box, one after the other; the exit code is the largest of theirs, and kFailed
// where ssh itself failed. Standard input is one box's; of several none has it.
int remote(const Session& session, const std::vector<std::string>& words);

}  // namespace hecto::cli
