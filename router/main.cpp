// hectod: reads the configuration, becomes the router, ends on SIGINT or SIGTERM.
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "config/file/load.hpp"
#include "router/api/backend/router_backend.hpp"
#include "router/api/server.hpp"
#include "router/control/router.hpp"

namespace {

using namespace hecto;
using namespace hecto::router;

void set_up_log(const std::string& level) {
  spdlog::set_pattern(isatty(STDERR_FILENO) ? "%T %^%-5l%$ %v" : "%Y-%m-%dT%T.%e %-5l %v");
  spdlog::set_level(spdlog::level::from_str(level));
  spdlog::flush_on(spdlog::level::info);
}

// Signals are taken by a thread of their own; SIGHUP reloads the running file.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);  // before any other thread exists
    signal(SIGPIPE, SIG_IGN);
  }
  void serve(Router& router, RouterBackend& backend) {
    thread_ = std::thread([this, &router, &backend] {
      while (!done_.load()) {
        const timespec wait{0, 200'000'000};
        const int signal = sigtimedwait(&set_, nullptr, &wait);
        if (signal == SIGINT || signal == SIGTERM) return router.stop();
        if (signal != SIGHUP) continue;
        backend.reload_running_file();
      }
    });
  }
  ~Signals() {
    done_.store(true);
    if (thread_.joinable()) thread_.join();
  }

 private:
  sigset_t set_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

int run(const config::Config& config, const std::optional<std::string>& log_level) {
  Signals signals;
  auto router = Router::create(config);
  if (!router) {
    spdlog::error("{}", router.error().message);
    return 1;
  }
  RouterBackend backend(**router, log_level);
  auto api = ApiServer::start(backend, config.api_socket);
  if (!api) {
    spdlog::error("{}", api.error().message);
    return 1;
  }
  spdlog::info("API: {}; ready", config.api_socket);
  signals.serve(**router, backend);
  (*router)->run();
  (*api)->stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"hectod, a software router. `hecto` asks it and changes it while it runs."};
  std::string file = "/etc/hecto/hecto.yaml";
  std::optional<std::string> level;
  bool check = false;
  app.add_option("config", file, "the configuration file")->capture_default_str();
  app.add_option("--log-level", level, "trace, debug, info, warn or error; default: the file's");
  app.add_flag("--check", check, "check the file and end");
  app.set_version_flag("--version", HECTO_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  auto config = config::load(file);
  if (!config) {
    for (const std::string& problem : config.error()) fmt::print(stderr, "{}\n", problem);
    return 1;
  }
  if (check) return 0;
  if (level) config->log_level = *level;
  std::error_code error;
  config->file = std::filesystem::absolute(file, error);
  set_up_log(config->log_level);
  try {
    return run(*config, level);
  } catch (const std::exception& failure) {
    spdlog::error("{}", failure.what());
    return 1;
  }
}
