#include "bench/remote/serve.hpp"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "bench/lib/machine.hpp"
#include "bench/remote/line_pipe.hpp"
#include "bench/remote/wire.hpp"

namespace hecto::bench {
namespace {

using nlohmann::json;

json failure(const std::string& line) {
  return {{"error", line}};
}

// An error may quote bytes that are no text.
std::string text_of(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

// What was said and is to be answered, in its order.
class Requests {
 public:
  explicit Requests(int in) : pipe_(in), thread_([this] { read_all(); }) {}
  ~Requests() { thread_.join(); }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // None: there will be no more.
  std::optional<std::string> next() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    std::string line = std::move(waiting_.front());
    waiting_.pop_front();
    return line;
  }
  const std::atomic<bool>& stop() const { return stop_; }

 private:
  void read_all() {
    while (auto line = pipe_.read(kForever_s)) {
      if (*line == kWireStop) {
        stop_ = true;
        continue;
      }
      stop_ = false;  // it was for what was asked before
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(*line));
      news_.notify_one();
    }
    stop_ = true;
    const std::lock_guard lock(mutex_);
    ended_ = true;
    news_.notify_one();
  }

  LinePipe pipe_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::string> waiting_;
  bool ended_ = false;
  std::thread thread_;
};

class Served {
 public:
  Served(const MakeGenerator& make, const std::atomic<bool>& stop) : make_(make), stop_(stop) {}

  json answer(const std::string& line) {
    try {
      const json said = json::parse(line);
      if (said.contains("create")) return create(said["create"]);
      if (!generator_) return failure("there are no ports yet");
      if (said.contains("use")) return use(said["use"]);
      if (said.contains("rate")) return pps(said["rate"]);
      if (said.contains("run")) return run(said["run"]);
      return failure("what is asked for is not known here");
    } catch (const std::exception& error) {
      return failure(error.what());
    }
  }

 private:
  json create(const json& said) {
    GeneratorOptions options = options_of_wire(said.at("options"));
    options.stop = &stop_;
    generator_.reset();
    auto made = make_(spec_of_wire(said.at("spec")), options);
    if (!made) return failure(made.error().message);
    generator_ = std::move(*made);
    return {{"ports", wire_ports(generator_->ports())}, {"unchecked", generator_->unchecked()}};
  }
  json use(const json& said) {
    if (const auto done = generator_->use(streams_of_wire(said)); !done)
      return failure(done.error().message);
    return {{"unchecked", generator_->unchecked()}};
  }
  json pps(const json& said) const {
    const auto found = generator_->pps(rate_of_wire(said));
    return found ? json{{"pps", *found}} : failure(found.error().message);
  }
  json run(const json& said) {
    const auto trial = generator_->run(request_of_wire(said));
    json out = {{"trial", wire_trial(generator_->last())}};
    if (!trial) out["error"] = trial.error().message;
    return out;
  }

  const MakeGenerator& make_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<Generator> generator_;
};

}  // namespace

int serve_over(int in, int out, const MakeGenerator& make) {
  const json hello = {
      {"hecto-bench", HECTO_VERSION}, {"protocol", kWireProtocol}, {"machine", machine_facts()}};
  bool heard = write_line(out, hello.dump());
  Requests requests(in);
  Served served(make, requests.stop());
  while (const auto line = requests.next())
    if (heard) heard = write_line(out, text_of(served.answer(*line)));
  return heard ? 0 : 1;
}

int serve(const MakeGenerator& make) {
  const int out = dup(STDOUT_FILENO);
  if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  const int code = serve_over(STDIN_FILENO, out, make);
  close(out);
  return code;
}

}  // namespace hecto::bench
