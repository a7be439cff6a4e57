// What every command needs: the arguments, where text goes, and the router behind its socket.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "router/api/http/http.hpp"
#include "router/cli/arguments.hpp"
#include "router/cli/table.hpp"

namespace hecto::cli {

inline constexpr std::chrono::milliseconds kQuick{10'000};  // for what the router answers at once

class Session {
 public:
  explicit Session(const Arguments& arguments);

  const Arguments& arguments() const { return arguments_; }
  Style style() const { return style_; }
  // Standard output and standard error. Ends the program when the reader of the output is gone.
  void out(const std::string& text) const;
  // "hecto: line"; gives kFailed.
  int fail(const std::string& line) const;
  int wrong_usage(const std::string& line) const;
  void note(const std::string& line) const;  // standard error, without exit code

  // The answer when the router gave one with status 200; else the error has been told (with
  // --json, the router's own words go to standard output).
  std::optional<std::string> ask(const router::HttpRequest& request,
                                 std::chrono::milliseconds timeout) const;
  std::optional<std::string> get(const std::string& path,
                                 std::map<std::string, std::string> query = {}) const;
  // Prints the answer as it is with --json, else as `render` makes it.
  int show(const std::optional<std::string>& answer,
           const std::function<std::string(const nlohmann::json&, Style)>& render) const;

 private:
  const Arguments arguments_;
  Style style_;
};

}  // namespace hecto::cli
