#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <utility>

#include "router/cli/capture_text.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kKeysEvery{10};  // SAs come and go while it runs

volatile std::sig_atomic_t capture_interrupted = 0;

// A file of ours alone, or standard output.
class File {
 public:
  File() = default;
  static File standard_output() {
    File file;
    file.fd_ = STDOUT_FILENO;
    return file;
  }
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  // A description of what went wrong; empty: nothing.
  std::string open(const std::string& path) {
    if (path == "-") {
      fd_ = STDOUT_FILENO;
      return ::isatty(fd_) == 1 ? "standard output is a terminal; send it into a pipe or a file"
                                : std::string();
    }
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat status {};
    if (fd_ < 0 || ::fstat(fd_, &status) != 0) return path + ": " + ::strerror(errno);
    // A file that was there keeps its mode otherwise; a pipe has none to speak of.
    if (S_ISREG(status.st_mode) && ::fchmod(fd_, 0600) != 0)
      return path + ": cannot be made readable to its owner only: " + ::strerror(errno);
    return {};
  }
  // False, with errno, when not all of it could be written.
  bool write(const std::string& bytes) const {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t written = ::write(fd_, bytes.data() + at, bytes.size() - at);
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) at += static_cast<size_t>(written);
    }
    return true;
  }
  // Who reads a pipe may close it while there is nothing to write.
  bool is_closed_by_reader() const {
    pollfd watched{fd_, 0, 0};
    return ::poll(&watched, 1, 0) == 1 && (watched.revents & (POLLERR | POLLHUP)) != 0;
  }

 private:
  int fd_ = -1;
};

// Where nothing was said the end comes by itself: a capture that is forgotten fills a disk.
constexpr uint64_t kPackets = 10'000;
constexpr double kSeconds = 60;

bool by_itself(const Arguments& arguments) {
  return !arguments.endless && arguments.packets == 0 && arguments.seconds == 0;
}
uint64_t packets_of(const Arguments& arguments) {
  return by_itself(arguments) ? kPackets : arguments.packets;
}
double seconds_of(const Arguments& arguments) {
  return by_itself(arguments) ? kSeconds : arguments.seconds;
}

json capture_filter(const Arguments& arguments) {
  json filter = {{"snaplen", arguments.snaplen}, {"buffer_mib", arguments.buffer_mib}};
  const std::pair<const char*, const std::string*> words[] = {{"from", &arguments.from},
                                                              {"to", &arguments.to},
                                                              {"port", &arguments.port},
                                                              {"interface", &arguments.interface},
                                                              {"protocol", &arguments.protocol}};
  for (const auto& [key, value] : words)
    if (!value->empty()) filter[key] = *value;
  if (arguments.transport_port > 0) filter["transport_port"] = arguments.transport_port;
  if (!arguments.where.empty()) filter["where"] = arguments.where;
  if (const uint64_t packets = packets_of(arguments); packets > 0) filter["count"] = packets;
  return filter;
}

router::HttpRequest capture_request(const char* method, const char* path,
                                    const std::string& id = {}) {
  router::HttpRequest made;
  made.method = method;
  made.path = path;
  if (!id.empty()) made.query["id"] = id;
  return made;
}

// All keys that there have been since the first call, written anew each time: an SA that a rekey
// took away is needed for the packets before.
class KeyFile {
 public:
  explicit KeyFile(const Session& session) : session_(session) {
    ::prctl(PR_SET_DUMPABLE, 0);  // no keys in a core dump
  }
  bool update() {
    const std::string& path = session_.arguments().esp_keys;
    if (path.empty() || Clock::now() < next_) return true;
    next_ = Clock::now() + kKeysEvery;
    auto answer = session_.ask(capture_request("GET", "/v1/capture/keys"), kQuick);
    if (!answer) return false;
    for (size_t at = 0; at < answer->size();) {
      const size_t end = std::min(answer->find('\n', at), answer->size() - 1) + 1;
      std::string line = answer->substr(at, end - at);
      if (known_.insert(line).second) lines_ += line;
      at = end;
    }
    File file;
    std::string wrong = path == "-" ? "use a file" : file.open(path);
    if (wrong.empty() && !file.write(lines_)) wrong = path + ": " + ::strerror(errno);
    if (!wrong.empty()) session_.fail("capture: --esp-keys: " + wrong);
    return wrong.empty();
  }
  void again() { next_ = {}; }

 private:
  const Session& session_;
  Clock::time_point next_{};
  std::set<std::string> known_;
  std::string lines_;
};

class Capture {
 public:
  // `file`: none, where packets are only shown.
  Capture(const Session& session, std::optional<File> file, KeyFile& keys)
      : session_(session), file_(std::move(file)), keys_(keys) {}

  int run() {
    router::HttpRequest start = capture_request("POST", "/v1/capture");
    start.body =
        capture_filter(session_.arguments()).dump(-1, ' ', false, json::error_handler_t::replace);
    const auto started = session_.ask(start, kQuick);
    if (!started) return kFailed;
    id_ = text(json::parse(*started, nullptr, false), "id");
    const double seconds = seconds_of(session_.arguments());
    if (seconds > 0)
      until_ = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    while (step()) {
    }
    return finish();
  }

 private:
  // False: that was all, or it is over.
  bool step() {
    if (!stopped_ && (capture_interrupted != 0 || Clock::now() >= until_)) {
      stopped_ = true;
      if (!session_.ask(capture_request("POST", "/v1/capture/stop", id_), kQuick)) return wrong();
    }
    auto answer = router::http_request(session_.arguments().socket,
                                       capture_request("GET", "/v1/capture", id_), kQuick);
    if (!answer) return wrong(answer.error().message);
    if (answer->status == 204) return false;
    if (answer->status != 200)
      return wrong(text(json::parse(answer->body, nullptr, false), "error"));
    if (session_.arguments().text && !put(lines_of(answer->body), shown_, "standard output"))
      return false;
    if (file_ && !put(answer->body, *file_, session_.arguments().write)) return false;
    return keys_.update() || wrong();
  }
  bool put(const std::string& bytes, const File& to, const std::string& name) {
    const bool written = to.write(bytes);
    reader_gone_ = written ? to.is_closed_by_reader() : errno == EPIPE;
    if (written || reader_gone_) return !reader_gone_;
    return wrong(name + ": " + ::strerror(errno));
  }
  std::string lines_of(const std::string& piece) {
    std::string lines;
    for (const std::string& line : text_.lines(piece)) lines += printable(line) + "\n";
    return lines;
  }
  bool wrong(const std::string& line = {}) {
    if (!line.empty()) session_.fail("capture: " + line);
    code_ = kFailed;
    return false;
  }

  int finish() {
    keys_.again();  // also those that came since
    if (!keys_.update()) code_ = kFailed;
    const auto last = session_.ask(capture_request("DELETE", "/v1/capture", id_), kQuick);
    if (!last) return kFailed;
    const json counts = json::parse(*last, nullptr, false);
    const uint64_t captured = whole(counts, "captured"), lost = whole(counts, "lost");
    if (session_.arguments().json && session_.arguments().write != "-") session_.out(*last);
    if (reader_gone_) return kDone;  // as with `hecto capture --text | head`
    session_.note(fmt::format("hecto: capture: {} packet{} captured, {} lost", captured,
                              captured == 1 ? "" : "s", lost));
    if (lost > 0)
      session_.note(
          "hecto: capture: the buffer was full; ask for fewer packets (--from, --to, --port), "
          "fewer "
          "bytes of each (--snaplen 128), or give it more room (--buffer 512)");
    return code_;
  }

  const Session& session_;
  const std::optional<File> file_;
  const File shown_ = File::standard_output();
  CaptureText text_;
  KeyFile& keys_;
  std::string id_;
  Clock::time_point until_ = Clock::time_point::max();
  bool stopped_ = false;
  bool reader_gone_ = false;
  int code_ = kDone;
};

}  // namespace

int capture(const Session& session) {
  const Arguments& arguments = session.arguments();
  if (arguments.write.empty() && !arguments.text && arguments.esp_keys.empty())
    return session.wrong_usage("say where to: --write FILE, - for a pipe, or --text");
  if (arguments.text && arguments.write == "-")
    return session.wrong_usage("--text and --write - are both standard output");
  std::signal(SIGINT, [](int) { capture_interrupted = 1; });
  std::signal(SIGTERM, [](int) { capture_interrupted = 1; });
  KeyFile keys(session);
  if (!keys.update()) return kFailed;
  if (arguments.write.empty() && !arguments.text) return kDone;
  std::optional<File> file;
  if (!arguments.write.empty()) {
    file.emplace();
    if (const std::string wrong = file->open(arguments.write); !wrong.empty())
      return session.fail("capture: --write: " + wrong);
  }
  if (by_itself(arguments))
    session.note(
        fmt::format("hecto: capture: ends after {} packets or {:.0f} s; -n, --seconds or "
                    "--endless say otherwise",
                    count(kPackets), kSeconds));
  return Capture(session, std::move(file), keys).run();
}

}  // namespace hecto::cli
