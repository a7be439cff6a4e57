#include "bench/lib/json_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace hecto::bench {

Result<void> write_json(const std::string& file, const nlohmann::json& value) {
  if (file.empty()) return {};
  const std::string text = value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  if (file == "-") {
    fmt::print("{}\n", text);
    return {};
  }
  std::error_code ignored;  // the stream says what is wrong
  std::filesystem::create_directories(std::filesystem::absolute(file).parent_path(), ignored);
  std::ofstream stream(file);
  stream << text << "\n";
  if (!stream.flush()) return fail(fmt::format("{}: {}", file, std::strerror(errno)));
  fmt::print("\nwritten: {}\n", file);
  return {};
}

int complain(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  return 1;
}

}  // namespace hecto::bench
