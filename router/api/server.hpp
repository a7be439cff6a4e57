// The API of hectod: HTTP and JSON over a UNIX socket, and on loopback, as docs/api.md has it. Paths, parameters
// and bodies are checked here; what remains goes to the ApiBackend. The threads of the server
// inherit the affinity of the thread that starts it: start it from a control core.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "router/api/backend.hpp"
#include "router/api/http/http.hpp"
#include "router/api/roles.hpp"

namespace hecto::router {

class ApiServer {
 public:
  // `backend` outlives the server. Fails when the socket cannot be had: another router serves it,
  // the directory is not writable, the path is too long or is something else than a socket.
  // `rules`: who may do what. `thread_begins`: on the thread whose children all others are.
  static Result<std::unique_ptr<ApiServer>> start(ApiBackend& backend, const std::string& socket,
                                                  const AccessRules& rules = {},
                                                  const HttpLimits& limits = {},
                                                  std::function<void()> thread_begins = {});
  // The same on loopback, for who is `read` or, with the token, `operate`; with limits of its own, so
  // that nobody there takes places of the socket.
  static Result<std::unique_ptr<ApiServer>> start_on_loopback(
      ApiBackend& backend, Listener listener, std::function<void()> thread_begins = {},
      const HttpLimits& limits = loopback_limits());
  static HttpLimits loopback_limits();
  // Waits for the calls to the backend that are under way, closes connections, removes the socket.
  void stop() { server_->stop(); }
  const std::string& socket() const { return server_->socket(); }

 private:
  explicit ApiServer(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}
  std::unique_ptr<HttpServer> server_;
};

// One request to its answer, without any socket; for who has the role, or 403.
HttpAnswer answer(ApiBackend& backend, HttpRequest& request, Role role = Role::kAdmin);

}  // namespace hecto::router
