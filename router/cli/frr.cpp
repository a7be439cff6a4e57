#include "router/cli/frr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "router/cli/child.hpp"

namespace hecto::cli {
namespace {

constexpr std::chrono::milliseconds kVtyshTime{10'000};

bool is_name(const std::string& name) {
  return name != "." && name != ".." && name[0] != '-' &&
         std::ranges::none_of(name, [](char c) { return c == '/' || c == '\0'; });
}

bool has_bgpd(const std::string& folder, const std::string& name) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(folder) / name / "bgpd.vty", error);
}

}  // namespace

tl::expected<Frr, std::string> find_frr(const std::string& asked, const std::string& space,
                                        const std::string& folder) {
  if (!asked.empty()) {
    const std::string name = asked == "default" ? std::string() : asked;
    if (!name.empty() && !is_name(name))
      return tl::unexpected(fmt::format("--frr: \"{}\" is no name of an instance (-N)", asked));
    if (has_bgpd(folder, name)) return Frr{name};
    return tl::unexpected(fmt::format("no bgpd runs as {}: {}/{}bgpd.vty is not there",
                                      Frr{name}.words(), folder, name.empty() ? name : name + "/"));
  }
  if (!space.empty() && is_name(space) && has_bgpd(folder, space)) return Frr{space};
  if (has_bgpd(folder, {})) return Frr{};
  return tl::unexpected(fmt::format(
      "no bgpd is found: neither {0}/{1}/bgpd.vty nor {0}/bgpd.vty is there; start FRR in the "
      "router's namespace, or name its instance (-N) with --frr",
      folder, space.empty() ? "NAMESPACE" : space));
}

std::string refusal(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // Of instances with a name vtysh tells that it has no file of its own, and goes on.
    if (line.starts_with("% ") && line.find("vtysh.conf") == line.npos) return line.substr(2);
    if (line.starts_with("Exiting: ")) return line.substr(9);
  }
  return {};
}

tl::expected<std::string, std::string> tell_bgpd(const Frr& frr,
                                                 const std::vector<std::string>& commands) {
  std::vector<std::string> words = {"vtysh"};
  if (!frr.name.empty()) words.insert(words.end(), {"-N", frr.name});
  words.insert(words.end(), {"-d", "bgpd"});
  for (const std::string& command : commands) words.insert(words.end(), {"-c", command});
  const auto output = run_child(words, kVtyshTime);
  if (!output) return tl::unexpected(output.error());
  const std::string no = refusal(output->text);
  if (!no.empty()) return tl::unexpected(fmt::format("vtysh, to bgpd of {}: {}", frr.words(), no));
  if (output->code != 0)
    return tl::unexpected(fmt::format("vtysh, to bgpd of {}: exit code {}{}{}", frr.words(),
                                      output->code, output->text.empty() ? "" : ": ",
                                      output->text.substr(0, output->text.find('\n'))));
  return output->text;
}

}  // namespace hecto::cli
