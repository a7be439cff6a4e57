#include "router/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <sstream>

namespace hecto::cli {
namespace {

using Words = std::vector<CompletionWord>;

struct Option {
  std::vector<std::string> names;  // with their dashes
  std::string text;
  bool takes_value = false;
  std::vector<std::string> values;  // empty: any
};
struct Verb {
  std::string name, text;  // without a name: what stands before and after every verb
  std::vector<Option> options;
  Words objects;
};

// The first line, without what ends it.
std::string short_text(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  line.erase(line.find_last_not_of(" ;:,") + 1);
  return line;
}

// CLI11 knows the words of an option in what it says of its type: "TEXT:{ipv4,ipv6}".
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> values;
  if (begin == type.npos || end == type.npos) return values;
  std::istringstream words(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(words, word, ',');) values.push_back(word);
  return values;
}

std::vector<Option> options_of(const CLI::App& app) {
  std::vector<Option> options;
  for (const CLI::Option* each : app.get_options()) {
    // A verb's --help is that of all.
    if (each->get_positional() || (app.get_parent() != nullptr && each == app.get_help_ptr()))
      continue;
    Option option{{},
                  short_text(each->get_description()),
                  each->get_items_expected_min() > 0,
                  values_of(*each)};
    for (const std::string& name : each->get_lnames()) option.names.push_back("--" + name);
    for (const std::string& name : each->get_snames()) option.names.push_back("-" + name);
    options.push_back(std::move(option));
  }
  return options;
}

std::vector<Verb> verbs_of(const CLI::App& app, const CompletionObjects& objects) {
  std::vector<Verb> verbs = {{"", "", options_of(app), {}}};
  for (const CLI::App* each : app.get_subcommands({})) {
    const auto found = objects.find(each->get_name());
    verbs.push_back({each->get_name(), short_text(each->get_description()), options_of(*each),
                     found == objects.end() ? Words() : found->second});
    verbs.front().objects.push_back({each->get_name(), verbs.back().text});
  }
  return verbs;
}

Words option_words(const Verb& verb) {
  Words words;
  for (const Option& option : verb.options)
    for (const std::string& name : option.names) words.push_back({name, option.text});
  return words;
}

// In single quotes of all three shells; `also` is escaped, too.
std::string in_quotes(std::string_view text, char also = '\0') {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == also) out += '\\';
    out += c;
  }
  return out + "'";
}

std::string in_a_row(const Words& words) {
  std::string out;
  for (const CompletionWord& word : words) out += (out.empty() ? "" : " ") + word.word;
  return out;
}
std::string in_a_row(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// The same in bash and zsh: a branch for each option with a value, of its verb or of all.
std::string value_branches(const std::vector<Verb>& verbs, const char* known, const char* any) {
  std::string out;
  for (const Verb& verb : verbs)
    for (const Option& option : verb.options) {
      if (!option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        patterns.push_back((verb.name.empty() ? "*" : in_quotes(verb.name)) +
                           in_quotes(" " + name));
      out += fmt::format(
          "    {}) {} ;;\n", fmt::join(patterns, " | "),
          option.values.empty() ? any : fmt::format(fmt::runtime(known), in_a_row(option.values)));
    }
  return out;
}

// The verb is the first word without a dash that is not an option's value.
constexpr const char* kBash = R"(# bash completion of hecto: hecto completion bash
_hecto() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      --socket | -H | --host) ((i++)) ;;
      -*) ;;
      *) verb=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  COMPREPLY=()
  case "$verb $before" in
{}    *) case "$verb" in
{}      esac
      [[ $current == -* ]] || [[ -z $verb || $before == "$verb" ]] || return 0 ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _hecto hecto
)";

std::string bash(const std::vector<Verb>& verbs) {
  std::string branches;
  const std::string everywhere = in_a_row(option_words(verbs.front()));
  for (const Verb& verb : verbs)
    branches += fmt::format(
        "      {}) [[ $current == -* ]] && words={} || words={} ;;\n", in_quotes(verb.name),
        in_quotes(verb.name.empty() ? everywhere : in_a_row(option_words(verb)) + " " + everywhere),
        in_quotes(in_a_row(verb.objects)));
  return fmt::format(fmt::runtime(kBash), value_branches(verbs, "words='{}'", "return 0"),
                     branches);
}

constexpr const char* kZsh = R"(#compdef hecto
# zsh completion of hecto: hecto completion zsh
_hecto() {{
  local verb='' i
  local -a options objects
  for ((i = 2; i < CURRENT; i++)); do
    case ${{words[i]}} in
      --socket | -H | --host) ((i++)) ;;
      -*) ;;
      *) verb=${{words[i]}}; break ;;
    esac
  done
  case "$verb ${{words[CURRENT-1]}}" in
{}  esac
  case $verb in
{}  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options
  elif [[ -n $objects && ( -z $verb || ${{words[CURRENT-1]}} == "$verb" ) ]]; then
    _describe word objects
  else
    _files
  fi
}}
if [[ ${{funcstack[1]}} == _hecto ]]; then _hecto "$@"; else compdef _hecto hecto; fi
)";

std::string zsh_list(const Words& words) {
  std::string out;
  for (const CompletionWord& word : words)
    out += fmt::format("\n      {}:{}", in_quotes(word.word, ':'), in_quotes(word.text, ':'));
  return out;
}

std::string zsh(const std::vector<Verb>& verbs) {
  std::string branches;
  for (const Verb& verb : verbs) {
    Words options = option_words(verb);
    if (!verb.name.empty())
      for (const CompletionWord& word : option_words(verbs.front())) options.push_back(word);
    branches += fmt::format("    {}) objects=({})\n      options=({}) ;;\n", in_quotes(verb.name),
                            zsh_list(verb.objects), zsh_list(options));
  }
  return fmt::format(fmt::runtime(kZsh),
                     value_branches(verbs, "compadd -- {}; return", "_files; return"), branches);
}

std::string fish(const std::vector<Verb>& verbs) {
  std::string out = "# fish completion of hecto: hecto completion fish\n";
  for (const Verb& verb : verbs) {
    const std::string when = verb.name.empty() ? std::string("__fish_use_subcommand")
                                               : "__fish_seen_subcommand_from " + verb.name;
    const std::string condition = " -n " + in_quotes(when);
    const std::string first =
        verb.name.empty() ? condition
                          : " -n " + in_quotes(when + "; and not __fish_seen_subcommand_from " +
                                               in_a_row(verb.objects));
    for (const CompletionWord& word : verb.objects)
      out += fmt::format("complete -c hecto -f{} -a {} -d {}\n", first, word.word,
                         in_quotes(word.text));
    for (const Option& option : verb.options) {
      out += "complete -c hecto" + (verb.name.empty() ? "" : condition);
      for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.takes_value) out += " -r";
      if (!option.values.empty()) out += " -f -a " + in_quotes(in_a_row(option.values));
      out += fmt::format(" -d {}\n", in_quotes(option.text));
    }
  }
  return out;
}

}  // namespace

std::string completion(const CLI::App& app, const CompletionObjects& objects,
                       std::string_view shell) {
  const std::vector<Verb> verbs = verbs_of(app, objects);
  if (shell == "bash") return bash(verbs);
  if (shell == "zsh") return zsh(verbs);
  return shell == "fish" ? fish(verbs) : std::string();
}

}  // namespace hecto::cli
