#include "bench/lib/self.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/lib/child.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;

// Goes with all that is in it.
struct ScratchFolder {
  fs::path path;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

Result<nlohmann::json> run_self(std::vector<std::string> words, double limit_seconds) {
  std::string name = (fs::temp_directory_path() / "hecto-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    return fail(fmt::format("{}: {}", name, std::strerror(errno)));
  const ScratchFolder scratch{name};
  const fs::path log = scratch.path / "log", answer = scratch.path / "answer.json";
  const std::string what = words.front();
  words.insert(words.begin(), fs::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), {"--json", answer.string()});
  auto child = Child::start(words, {log, {}});
  if (!child) return tl::unexpected(child.error());
  const auto code = (*child)->wait(limit_seconds);
  const auto said = last_lines(log, 1);
  const std::string last = said.empty() ? "it said nothing" : said.front();
  if (!code) return fail(fmt::format("{}: not done in {} s", what, limit_seconds));
  if (*code != 0) return fail(fmt::format("{}: {}: {}", what, describe_exit(*code), last));
  std::ifstream stream(answer);
  auto value = nlohmann::json::parse(stream, nullptr, false);
  if (value.is_discarded()) return fail(fmt::format("{}: no JSON came: {}", what, last));
  return value;
}

Result<std::string> find_hectod() {
  std::error_code error;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const std::filesystem::path& path :
       {here / "hectod", here / "../router/hectod", here / "../../../router/hectod"})
    if (access(path.c_str(), X_OK) == 0) return path.lexically_normal().string();
  if (auto found = find_program("hectod")) return *found;
  return fail(
      "hectod is not there, neither beside hecto-bench nor in PATH; name it with "
      "--hectod PATH");
}

}  // namespace hecto::bench
