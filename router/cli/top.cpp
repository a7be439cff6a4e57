// hecto top: what the router does, on a screen that stays.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"
#include "router/cli/render_top.hpp"
#include "router/cli/top_keys.hpp"
#include "router/cli/top_screen.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Keys wait as long for a router that does not answer.
constexpr std::chrono::milliseconds kPatience{1'000};
// One picture of flows waits for so many whole seconds of them, and no longer than that.
constexpr uint64_t kFlowSeconds = 3;
constexpr int kFlowTries = 8;

double seconds_of(Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string clock_now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

Result<json> ask(const std::string& socket, const std::string& noun,
                 const std::map<std::string, std::string>& query = {}) {
  router::HttpRequest request;
  request.method = "GET";
  request.path = "/v1/" + noun;
  request.query = query;
  const auto answer = router::http_request(socket, request, kPatience);
  if (!answer) return tl::unexpected<Error>(answer.error());
  json body = json::parse(answer->body, nullptr, false);
  if (answer->status != 200)
    return fail(has(body, "error") ? text(body, "error")
                                   : fmt::format("the router at {} answered {} to /v1/{}", socket,
                                                 answer->status, noun));
  if (!body.is_object())
    return fail("the router at " + socket + " answered no JSON: is it hectod?");
  return body;
}

// The last two answers, and what is wrong now.
class Watch {
 public:
  explicit Watch(const std::string& socket) : socket_(socket) {}

  void look(const TopView& view) {
    TopSample next;
    next.at_s = seconds_of(Clock::now());
    if (view.pane == TopPane::kFlows) {
      auto answer =
          ask(socket_, kTopFlows, {{"by", view.by_bits ? "bytes" : "packets"}, {"limit", "200"}});
      if (!answer) {
        trouble_ = answer.error().message;
        return;
      }
      next.answers[kTopFlows] = std::move(*answer);
    }
    for (const char* noun : kTopNouns) {
      auto answer = ask(socket_, noun);
      if (!answer) {
        trouble_ = answer.error().message;
        return;
      }
      next.answers[noun] = std::move(*answer);
    }
    trouble_.clear();
    before_ = std::exchange(now_, std::move(next));
  }
  const std::string& trouble() const { return trouble_; }
  // Whole seconds that the flows are of.
  uint64_t flow_seconds() const { return whole(at(now_.answers, kTopFlows), "seconds"); }
  std::vector<std::string> lines(TopView view, Style style) const {
    view.trouble = trouble_;
    view.age_s = seconds_of(Clock::now()) - now_.at_s;
    return render_top(now_, before_, view, style);
  }

 private:
  const std::string socket_;
  TopSample now_, before_;
  std::string trouble_;
};

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Clock::duration step_of(const TopView& view) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(view.interval_s));
}

TopView view_of(const Arguments& arguments) {
  TopView view;
  view.interval_s = arguments.interval_s;
  if (arguments.object == "flows") {
    view.pane = TopPane::kFlows;
    view.by_bits = true;
  }
  return view;
}

int once(const Session& session) {
  Watch watch(session.arguments().socket);
  TopView view = view_of(session.arguments());
  watch.look(view);
  // Samples begin with the question.
  for (int tries = 0; view.pane == TopPane::kFlows && tries < kFlowTries; ++tries) {
    if (!watch.trouble().empty() || watch.flow_seconds() >= kFlowSeconds) break;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    watch.look(view);
  }
  if (!watch.trouble().empty()) return session.fail(watch.trouble());
  view.clock = clock_now();
  session.out(joined_lines(watch.lines(view, session.style())));
  return kDone;
}

// A picture behind the other; on standard error when the router goes, and when it is back.
int without_screen(const Session& session) {
  Watch watch(session.arguments().socket);
  TopView view = view_of(session.arguments());
  std::string told;
  for (auto due = Clock::now();; due = std::max(due + step_of(view), Clock::now())) {
    std::this_thread::sleep_until(due);
    watch.look(view);
    if (watch.trouble() != told && !watch.trouble().empty())
      session.fail(watch.trouble() + "; trying again");
    if (!told.empty() && watch.trouble().empty()) session.note("hecto: the router answers again");
    told = watch.trouble();
    view.clock = clock_now();
    if (told.empty()) session.out(joined_lines(watch.lines(view, session.style())) + "\n");
  }
}

// The signal that ends it; 0: a key, or nobody looks any more.
int on_screen(const Session& session) {
  Watch watch(session.arguments().socket);
  TopScreen screen;
  TopView view = view_of(session.arguments());
  for (auto looked = Clock::now() - step_of(view);;) {
    if (Clock::now() >= looked + step_of(view)) {
      if (!view.paused) watch.look(view);
      view.clock = view.paused ? view.clock : clock_now();
      looked = Clock::now();
    }
    const TopScreen::Size size = screen.size();
    Style style = session.style();
    style.width = size.columns;
    view.rows = size.rows;
    if (!screen.draw(watch.lines(view, style))) return 0;
    for (const TopEvent& event : screen.next(looked + step_of(view))) {
      if (event.key == TopKey::kEnd) return event.signal;
      const TopPane before = view.pane;
      if (!apply_key(event, view)) return 0;
      // What it shows has to be asked for.
      if (view.pane == TopPane::kFlows && before != view.pane) looked = Clock::time_point{};
    }
  }
}

}  // namespace

int top(const Session& session) {
  const Arguments& arguments = session.arguments();
  if (arguments.json)
    return session.wrong_usage("--json: is of one answer: hecto show ports --json --watch 1");
  if (arguments.once) return once(session);
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || *term == '\0' || std::strcmp(term, "dumb") == 0;
  if (dumb || session.style().whole) return without_screen(session);
  const int signal = on_screen(session);  // which has given the terminal back
  if (signal == 0) return kDone;
  std::signal(signal, SIG_DFL);
  return ::raise(signal);
}

}  // namespace hecto::cli
