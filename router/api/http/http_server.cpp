#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "router/api/http/http.hpp"
#include "router/api/http/http_status.hpp"
#include "router/api/http/http_stream.hpp"
#include "router/api/http/listener.hpp"

namespace hecto::router {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLongestPath = 256;
constexpr milliseconds kDrain{2'000};

// The connection whose request this thread works on; httplib passes its stream to no callback.
thread_local HttpStream* current = nullptr;

void set_answer(httplib::Response& response, int status, const std::string& body) {
  response.status = status;
  response.set_content(body, "application/json");
}

void set_secret(httplib::Response& response, const HttpAnswer& answer) {
  const auto secret = answer.secret;
  if (secret->empty()) return response.set_content("", answer.type.c_str());
  response.set_content_provider(
      secret->size(), answer.type.c_str(),
      [secret](size_t offset, size_t length, httplib::DataSink& sink) {
        return sink.write(reinterpret_cast<const char*>(secret->data()) + offset, length);
      });
}

void set_error(httplib::Response& response, int status) {
  set_answer(response, status, error_body(words(status)));
}

// httplib below a path: every request goes to one HttpHandler.
class Http final : public httplib::Server {
 public:
  Http(const HttpLimits& limits, HttpHandler handler)
      : limits_(limits), handler_(std::move(handler)) {
    svr_sock_ = 0;  // never used: without one httplib takes itself for stopped and sends no secret
    set_payload_max_length(limits.body_bytes);
    set_read_timeout(limits.request);
    set_write_timeout(limits.stall);
    set_keep_alive_max_count(limits.requests_per_connection);  // what the answers announce
    set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(limits.idle).count());
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      const int status = check_head(request);
      if (status == 0) {
        current->begin_body();
        return HandlerResponse::Unhandled;
      }
      current->close_after_answer();
      set_error(response, status);
      return HandlerResponse::Handled;
    });
    set_expect_100_continue_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          const int status = check_head(request);
          if (status == 0) return 100;
          current->close_after_answer();
          response.status = status;
          return status;
        });
    set_error_handler(
        httplib::Server::Handler([](const httplib::Request&, httplib::Response& response) {
          if (response.body.empty()) set_error(response, response.status);
        }));
    const Handler plain = [this](const auto& request, auto& response) { serve(request, response); };
    const HandlerWithContentReader with_body = [this](const auto& request, auto& response,
                                                      const auto& reader) {
      std::string body;
      if (!has_body(request) || read_body(request, response, reader, body)) {
        serve(request, response, std::move(body));
      }
    };
    Get(".*", plain);
    Post(".*", with_body).Post(".*", plain);
    Delete(".*", with_body).Delete(".*", plain);
  }

  // False when the connection is to be closed.
  bool process(HttpStream& stream, bool last) {
    bool understood = false, closed = false;
    const std::function<void(httplib::Request&)> setup = [&](httplib::Request& request) {
      understood = true;
      request.ranges.clear();  // no part answers, and no compressed ones: cycles of a control core
      request.headers.erase("Accept-Encoding");
    };
    current = &stream;
    const bool done = process_as(*this, stream, last, closed, setup);
    current = nullptr;
    return done && understood && !closed;
  }

 private:
  // The signature of process_request differs between versions.
  template <typename Self>
  static bool process_as(Self& self, httplib::Stream& stream, bool last, bool& closed,
                         const std::function<void(httplib::Request&)>& setup) {
    if constexpr (requires { self.process_request(stream, last, closed, setup); }) {
      return self.process_request(stream, last, closed, setup);
    } else {
      return self.process_request(stream, "local", 0, "local", 0, last, closed, setup);
    }
  }

  static bool has_body(const httplib::Request& request) {
    return request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
  }

  // 0, or the status to refuse the request with before any of its body is read.
  int check_head(const httplib::Request& request) const {
    if (request.path.size() > kLongestPath) return 414;
    if (request.method != "GET" && request.method != "HEAD" && request.method != "POST" &&
        request.method != "DELETE") {
      return 405;
    }
    const size_t lengths = request.get_header_value_count("Content-Length");
    if (lengths > 1 || (lengths == 1 && request.has_header("Transfer-Encoding"))) {
      return 400;  // RFC 9112 §6.3: two lengths are none
    }
    if (lengths == 1) {
      const std::string text = request.get_header_value("Content-Length");
      uint64_t length = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      if (error == std::errc::result_out_of_range) return 413;
      if (error != std::errc() || end != text.data() + text.size()) return 400;
      if (length > limits_.body_bytes) return 413;
      if (length > 0 && request.method != "POST" && request.method != "DELETE") return 400;
    } else if (request.has_header("Transfer-Encoding") &&
               (request.method == "GET" || request.method == "HEAD")) {
      return 400;
    }
    // httplib does not tell an encoded body that is cut off from a whole one.
    if (request.has_header("Content-Encoding")) return 415;
    return request.get_header_value("Content-Type").rfind("multipart/", 0) == 0 ? 415 : 0;
  }

  static bool read_body(const httplib::Request&, httplib::Response& response,
                        const httplib::ContentReader& reader, std::string& body) {
    HttpStream& stream = *current;
    const bool complete = reader([&](const char* data, size_t size) {
      if (!stream.account_body(size)) return false;
      body.append(data, size);
      return true;
    });
    if (complete) return true;
    stream.close_after_answer();
    set_error(response, status_of(stream.failure()));
    return false;
  }

  void serve(const httplib::Request& request, httplib::Response& response, std::string body = {}) {
    HttpRequest mine;
    mine.method = request.method == "HEAD" ? "GET" : request.method;
    mine.path = request.path;
    for (const auto& [key, value] : request.params) mine.query[key] = value;
    mine.body = std::move(body);
    mine.peer_uid = current->peer_uid();
    try {
      const HttpAnswer answer = handler_(mine);
      response.status = answer.status;
      if (answer.secret)
        set_secret(response, answer);
      else
        response.set_content(answer.body, answer.type.c_str());
    } catch (const std::exception& problem) {
      set_answer(response, 500, error_body(problem.what()));
    }
  }

  const HttpLimits limits_;
  const HttpHandler handler_;
};

struct Connection {
  int fd = -1;
  std::atomic<bool> done{false};
  std::thread thread;
};

class UnixServer final : public HttpServer {
 public:
  UnixServer(Listener listener, int wake_fd, const HttpLimits& limits, HttpHandler handler)
      : listener_(std::move(listener)),
        wake_fd_(wake_fd),
        limits_(limits),
        budget_(limits.upload_bytes),
        http_(limits, std::move(handler)),
        acceptor_([this] { accept_all(); }) {}

  ~UnixServer() override {
    stop();
    ::close(wake_fd_);
  }

  const std::string& socket() const override { return path_; }

  void stop() override {
    if (stopping_.exchange(true)) return;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t woken = ::write(wake_fd_, &one, sizeof one);
    acceptor_.join();
    shutdown_all(SHUT_RD);  // requests that are under way get their answer
    const auto grace = std::chrono::steady_clock::now() + kDrain;
    while (!all_done() && std::chrono::steady_clock::now() < grace) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    shutdown_all(SHUT_RDWR);
    for (Connection& connection : connections_) finish(connection);
    connections_.clear();
    listener_.reset();
  }

 private:
  void shutdown_all(int how) {
    for (Connection& connection : connections_) ::shutdown(connection.fd, how);
  }

  bool all_done() const {
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const Connection& connection) { return connection.done.load(); });
  }

  void accept_all() {
    for (;;) {
      pollfd entries[2] = {{listener_->fd(), POLLIN, 0}, {wake_fd_, POLLIN, 0}};
      if (::poll(entries, 2, 1'000) < 0 && errno != EINTR) return;
      if (stopping_) return;
      connections_.remove_if([](Connection& connection) {
        if (!connection.done) return false;
        finish(connection);
        return true;
      });
      const int fd = ::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) {
        begin(fd);
      } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        std::this_thread::sleep_for(milliseconds(50));  // EMFILE, ENOMEM: others may end meanwhile
      }
    }
  }

  void begin(int fd) {
    if (connections_.size() >= limits_.connections) {
      answer_raw(fd, 503);
      ::close(fd);
      return;
    }
    Connection& connection = connections_.emplace_back();
    connection.fd = fd;
    try {
      connection.thread = std::thread([this, &connection] { converse(connection); });
    } catch (const std::system_error&) {
      answer_raw(fd, 503);
      ::close(fd);
      connections_.pop_back();
    }
  }

  static void finish(Connection& connection) {
    connection.thread.join();
    ::close(connection.fd);
  }

  void converse(Connection& connection) {
    {
      HttpStream stream(connection.fd, limits_, budget_);
      for (unsigned i = 1; i <= limits_.requests_per_connection && !stopping_; ++i) {
        if (!stream.begin_request()) break;
        const bool last = i == limits_.requests_per_connection;
        const bool goes_on = http_.process(stream, last);
        if (!goes_on || stream.must_close()) break;
      }
      const StreamFailure failure = stream.failure();
      if (failure != StreamFailure::kNone && failure != StreamFailure::kPeer &&
          !stream.answered()) {
        answer_raw(connection.fd, status_of(failure));
      }
      stream.end_request();
      if (failure != StreamFailure::kPeer && !stopping_) stream.drain(kDrain);
    }
    ::shutdown(connection.fd, SHUT_RDWR);
    connection.done = true;
  }

  std::optional<Listener> listener_;
  const std::string path_ = listener_->path();
  const int wake_fd_;
  const HttpLimits limits_;
  UploadBudget budget_;
  Http http_;
  std::list<Connection> connections_;  // the accepting thread's, then that of stop()
  std::atomic<bool> stopping_{false};
  std::thread acceptor_;
};

// The threads of the server leave the process's signals to the others.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

std::string error_body(const std::string& message) {
  std::string line = message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return nlohmann::json{{"error", line}}.dump(-1, ' ', false,
                                              nlohmann::json::error_handler_t::replace) +
         "\n";
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& socket,
                                                      const HttpLimits& limits,
                                                      HttpHandler handler) {
  auto listener = Listener::open(socket);
  if (!listener) return tl::unexpected<Error>(listener.error());
  const int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) return fail("API socket " + socket + ": no event descriptor", errno);
  const SignalsBlocked blocked;
  return std::make_unique<UnixServer>(std::move(*listener), wake_fd, limits, std::move(handler));
}

}  // namespace hecto::router
