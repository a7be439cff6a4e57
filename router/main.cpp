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

#include "base/version.hpp"
#include "config/box/topology.hpp"
#include "config/file/filter_check.hpp"
#include "config/file/load.hpp"
#include "router/api/backend/router_backend.hpp"
#include "router/api/check_machine.hpp"
#include "router/api/http/listener.hpp"
#include "router/api/roles.hpp"
#include "router/api/server.hpp"
#include "router/control/instance.hpp"
#include "router/control/router.hpp"
#include "router/control/startup.hpp"
#include "router/process/log/bounded_sink.hpp"
#include "router/process/privileges/privileges.hpp"
#include "router/process/service/service_manager.hpp"
#include "router/process/service/signal_sender.hpp"

namespace {

using namespace hecto;
using namespace hecto::router;

// Signals are taken by a thread of their own; SIGHUP reloads the running file.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);  // before any other thread exists
    signal(SIGPIPE, SIG_IGN);
  }
  void serve(Router& router, RouterBackend& backend, const ServiceManager& service) {
    thread_ = std::thread([this, &router, &backend, &service] {
      confine_service();
      while (!done_.load()) {
        const timespec wait{0, 200'000'000};
        siginfo_t from{};
        const int signal = sigtimedwait(&set_, &from, &wait);
        if (signal == SIGINT || signal == SIGTERM) {
          const std::string why = "stopping: " + signal_and_sender(from);
          spdlog::info(why);
          service.stopping(why);
          return router.stop();
        }
        if (signal != SIGHUP) continue;
        const bool sent = from.si_code == SI_USER || from.si_code == SI_QUEUE;
        backend.reload_running_file(sent ? std::optional<uint32_t>(from.si_uid) : std::nullopt,
                                    from.si_pid);
      }
    });
  }
  ~Signals() { end(); }
  // What serve() was given is used no more.
  void end() {
    done_.store(true);
    if (thread_.joinable()) thread_.join();
  }

 private:
  sigset_t set_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// What is not needed any more goes before the first byte of a stranger is read.
void give_up_privileges(const config::Config& config, bool unconfined) {
  if (unconfined) {
    spdlog::warn("privileges: --unconfined: all are kept, and no system call is refused");
    return;
  }
  const auto kept = confine({.namespaces = config.linux_side.enabled, .devices = true});
  if (kept)
    spdlog::info("privileges: {}", *kept);
  else
    spdlog::warn("privileges: {}; what could not be given up is kept", kept.error().message);
}

struct Options {
  std::optional<std::string> log_level;
  bool unconfined = false;
};

int tell(const config::Problems& problems) {
  for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
  return problems.empty() ? 0 : 1;
}

int run(const config::Config& config, config::Topology topology, const Options& options,
        ServiceManager& service, BoundedSink& log) {
  Signals signals;
  auto rules = AccessRules::from(config);
  if (!rules) {
    spdlog::error("{}", rules.error().message);
    return 1;
  }
  if (auto may = check_user(config); !may) {
    spdlog::error("{}", may.error().message);
    return 1;
  }
  auto locks = lock_instance(config);
  if (!locks) {
    spdlog::error("{}", locks.error().message);
    return 1;
  }
  std::optional<Listener> loopback;  // in the namespace that hectod started in, with all its rights
  if (config.api_http) {
    // Any user of the machine can take a port: that keeps no router from starting.
    if (auto opened = Listener::open_tcp(*config.api_http))
      loopback.emplace(std::move(*opened));
    else
      spdlog::warn("{}: no HTTP until the next start", opened.error().message);
  }
  auto router = Router::create(config, std::move(topology), locks->get(), &service);
  if (!router) {
    spdlog::error("{}", router.error().message);
    return 1;
  }
  log.run_where_i_may();
  give_up_privileges(config, options.unconfined);
  RouterBackend backend(**router, options.log_level);
  auto api = ApiServer::start(backend, config.api_socket, *rules, {}, confine_service);
  if (!api) {
    spdlog::error("{}", api.error().message);
    return 1;
  }
  std::unique_ptr<ApiServer> http;
  if (loopback) {
    auto started = ApiServer::start_on_loopback(backend, std::move(*loopback), confine_service);
    if (!started) {
      spdlog::error("{}", started.error().message);
      return 1;
    }
    http = std::move(*started);
  }
  spdlog::info("API: {}{}; ready", config.api_socket, http ? ", " + http->socket() : "");
  signals.serve(**router, backend, service);
  struct End {
    Signals& signals;
    ~End() { signals.end(); }
  } end{signals};
  (*router)->run();
  if (http) http->stop();
  (*api)->stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"hectod, a software router. `hecto` asks it and changes it while it runs."};
  std::string file = "/etc/hecto/hecto.yaml";
  std::optional<std::string> level;
  bool check = false, unconfined = false;
  app.add_option("config", file, "the configuration file")->capture_default_str();
  app.add_option("--log-level", level, "trace, debug, info, warn or error; default: the file's")
      ->check(CLI::IsMember(std::vector<std::string>{"trace", "debug", "info", "warn", "error"}));
  app.add_flag("--check", check, "check the file against this machine and end");
  app.add_flag("--unconfined", unconfined,
               "for debuggers: keep all capabilities, filter no system calls");
  app.set_version_flag("--version", "hectod " + std::string(version_and_commit()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  auto config = config::load(file);
  if (!config) return tell(config.error());
  auto topology = config::read_topology();
  if (!topology) return tell({"topology: " + topology.error()});
  if (const auto problems = check_machine(*config, *topology); check || !problems.empty()) {
    const int code = tell(problems);
    for (const std::string& note : config::check_filters(*config))
      fmt::print(stderr, "! {}: {}\n", file, note);
    return code;
  }
  if (level) config->log_level = *level;
  std::error_code error;
  config->file = std::filesystem::absolute(file, error).lexically_normal();
  ServiceManager service = ServiceManager::from_environment();
  const auto log = start_log(config->log_level);
  try {
    return run(*config, std::move(*topology), {level, unconfined}, service, *log);
  } catch (const std::exception& failure) {
    spdlog::error("{}", failure.what());
    return 1;
  }
}
