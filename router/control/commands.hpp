// Questions and orders for the control thread from other threads (the API's connections). Each is
// a closure that control runs between two of its own steps; the caller waits for the answer.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "base/file_descriptor.hpp"

namespace hecto::router {

class Commands {
 public:
  Commands();

  int fd() const { return event_.get(); }  // readable while what waits may be answered
  // Control only: what comes waits, and does not wake control, till release().
  void hold();
  void release();
  // Runs `work` on the control thread; empty once control has ended. What it throws is logged and
  // thrown here as an internal error, in words for the client.
  template <typename Answer>
  std::optional<Answer> call(std::function<Answer()> work) {
    auto task = std::make_shared<std::packaged_task<Answer()>>(std::move(work));
    std::future<Answer> answer = task->get_future();
    if (!post([task] { (*task)(); })) return std::nullopt;
    task.reset();
    return wait(answer);
  }
  // Without an answer; false once control has ended.
  bool post(std::function<void()> work);
  // For work that spans several turns of control: waits for a promise that control will keep.
  template <typename Answer>
  static std::optional<Answer> wait(std::future<Answer>& answer) {
    try {
      return answer.get();
    } catch (const std::future_error&) {  // control ended and dropped the promise
      return std::nullopt;
    } catch (const std::exception& thrown) {
      throw internal_error(thrown);
    }
  }
  // The same, waited for here: `work` runs on the control thread and gets what keeps the promise.
  template <typename Answer>
  std::optional<Answer> call_over_turns(
      std::function<void(std::function<void(Answer)> keep)> work) {
    auto promise = std::make_shared<std::promise<Answer>>();
    std::future<Answer> answer = promise->get_future();
    const bool posted = post([promise, work = std::move(work)] {
      try {
        work([promise](Answer given) { promise->set_value(std::move(given)); });
      } catch (const std::exception&) {
        promise->set_exception(std::current_exception());
      }
    });
    promise.reset();
    return posted ? wait(answer) : std::nullopt;
  }

  void run_pending();  // control only; what one throws keeps nobody else from his answer
  void close();        // control only: refuses what comes, drops what waits

 private:
  bool wake() const;
  static std::runtime_error internal_error(const std::exception& thrown);

  std::mutex mutex_;
  std::deque<std::function<void()>> pending_;
  bool closed_ = false, held_ = false;
  FileDescriptor event_;
};

}  // namespace hecto::router
