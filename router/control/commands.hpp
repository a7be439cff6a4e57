// Questions and orders for the control thread from other threads (the API's connections). Each is
// a closure that control runs between two of its own steps; the caller waits for the answer.
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include "base/file_descriptor.hpp"

namespace hecto::router {

class Commands {
 public:
  Commands();

  int fd() const { return event_.get(); }  // readable while something waits
  // Runs `work` on the control thread; empty once control has ended.
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
    }
  }

  void run_pending();  // control only
  void close();        // control only: refuses what comes, drops what waits

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> pending_;
  bool closed_ = false;
  FileDescriptor event_;
};

}  // namespace hecto::router
