#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <list>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "router/api/http/eviction.hpp"
#include "router/api/http/http.hpp"
#include "router/api/http/http_connection.hpp"
#include "router/api/http/listener.hpp"

namespace hecto::router {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGrace{2'000};  // for requests under way, once the server stops

Peer peer_of(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return {};
  return {peer.uid, peer.pid};
}

struct Client {
  explicit Client(int accepted) : fd(accepted), peer(peer_of(accepted)) {}
  ~Client() {
    if (thread.joinable()) thread.join();
  }
  FileDescriptor fd;
  const Peer peer;
  ConnectionState state;
  std::atomic<bool> done{false};
  std::thread thread;
};

class SocketServer final : public HttpServer {
 public:
  SocketServer(Listener listener, FileDescriptor wake, const HttpLimits& limits,
               HttpHandler handler, HttpDoor door)
      : listener_(std::move(listener)),
        wake_(std::move(wake)),
        service_(limits, std::move(handler), std::move(door.admits), std::move(door.headers)),
        acceptor_([this, begins = std::move(door.thread_begins)] {
          if (begins) begins();
          accept_all();
        }) {}

  ~SocketServer() override { stop(); }

  const std::string& socket() const override { return path_; }

  void stop() override {
    if (service_.stopping.exchange(true)) return;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t woken = ::write(wake_.get(), &one, sizeof one);
    acceptor_.join();
    shutdown_all(SHUT_RD);  // requests that are under way get their answer
    const auto grace = std::chrono::steady_clock::now() + kGrace;
    while (!std::ranges::all_of(clients_, [](const Client& client) {
      return client.done.load();
    }) && std::chrono::steady_clock::now() < grace) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    shutdown_all(SHUT_RDWR);
    clients_.clear();
    listener_.reset();
  }

 private:
  void shutdown_all(int how) {
    for (const Client& client : clients_) ::shutdown(client.fd.get(), how);
  }

  void accept_all() {
    for (;;) {
      pollfd entries[2] = {{listener_->fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      if (::poll(entries, 2, 1'000) < 0 && errno != EINTR) return;
      if (service_.stopping) return;
      clients_.remove_if([](const Client& client) { return client.done.load(); });
      const int fd = ::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) {
        begin(fd);
      } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        std::this_thread::sleep_for(milliseconds(50));  // EMFILE, ENOMEM: others may end meanwhile
      }
    }
  }

  void begin(int fd) {
    Client& client = clients_.emplace_back(fd);
    try {
      if (find_place()) {
        client.thread = std::thread([this, &client] { serve(client); });
        return;
      }
    } catch (const std::system_error&) {  // no thread
    }
    HttpConnection::turn_away(fd, service_);
    clients_.pop_back();
  }

  // For one more, which is in the list already. Evicted ones need a moment to end: no more of them
  // than there are places, so that what the threads take is bounded.
  bool find_place() {
    const size_t places = service_.limits.connections;
    constexpr int kPatience_ms = 100;
    for (int i = 0; clients_.size() > 2 * places && i < kPatience_ms; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
      clients_.remove_if([](const Client& client) { return client.done.load(); });
    }
    std::vector<Client*> staying;
    std::vector<Held> held;
    for (Client& client : clients_) {
      if (&client == &clients_.back() || client.done || client.state.evicted()) continue;
      staying.push_back(&client);
      held.push_back({client.peer, client.state.doing(), client.state.since_ns()});
    }
    if (clients_.size() > 2 * places) return false;
    if (staying.size() < places) return true;
    const auto victim = choose_victim(held);
    if (!victim) return false;
    Client& evicted = *staying[*victim];
    // One that takes nothing of its answer would stay until its time is up.
    constexpr int64_t kStuck_ns = 1'000'000'000;
    const int64_t now_ns = std::chrono::steady_clock::now().time_since_epoch().count();
    const bool stuck =
        evicted.state.doing() == Doing::kSending && now_ns - evicted.state.since_ns() > kStuck_ns;
    evicted.state.evict();
    ::shutdown(evicted.fd.get(), stuck ? SHUT_RDWR : SHUT_RD);
    return true;
  }

  void serve(Client& client) {
    try {
      HttpConnection(client.fd.get(), service_, client.state).serve();
    } catch (const std::exception&) {  // no memory, and none to say so
    }
    ::shutdown(client.fd.get(), SHUT_RDWR);
    client.done = true;
  }

  std::optional<Listener> listener_;
  const std::string path_ = listener_->path();
  const FileDescriptor wake_;
  HttpService service_;
  std::list<Client> clients_;  // the accepting thread's, then that of stop()
  std::thread acceptor_;
};

// The threads of the server leave the process's signals to the others.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGSYS);  // of a call that a seccomp filter refuses
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& socket,
                                                      const HttpLimits& limits, HttpHandler handler,
                                                      HttpDoor door) {
  auto listener = Listener::open(socket, door.mode);
  if (!listener) return tl::unexpected<Error>(listener.error());
  return start(std::move(*listener), limits, std::move(handler), std::move(door));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Listener listener, const HttpLimits& limits,
                                                      HttpHandler handler, HttpDoor door) {
  FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail("API socket " + listener.path() + ": no event descriptor", errno);
  const SignalsBlocked blocked;
  return std::make_unique<SocketServer>(std::move(listener), std::move(wake), limits,
                                        std::move(handler), std::move(door));
}

}  // namespace hecto::router
