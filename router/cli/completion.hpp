// What a shell completes after `hecto`: verbs, objects, options and the words that options take, as the
// command line itself declares them (arguments.cpp). Everything else is a file's name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace hecto::cli {

struct CompletionWord {
  std::string word, text;
};
// Of verbs whose first argument is one of some words.
using CompletionObjects = std::map<std::string, std::vector<CompletionWord>, std::less<>>;

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// A script to be sourced, or put where the shell looks for it. Empty: there is no such shell.
std::string completion(const CLI::App& app, const CompletionObjects& objects,
                       std::string_view shell);

}  // namespace hecto::cli
