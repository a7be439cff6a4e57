#include "router/cli/top_keys.hpp"

#include <algorithm>
#include <iterator>

namespace hecto::cli {
namespace {

constexpr double kIntervals_s[] = {0.2, 0.5, 1, 2, 5, 10, 30, 60};

double longer(double interval_s) {
  const auto* next = std::upper_bound(std::begin(kIntervals_s), std::end(kIntervals_s), interval_s);
  return next == std::end(kIntervals_s) ? interval_s : *next;
}

double shorter(double interval_s) {
  const auto* next = std::lower_bound(std::begin(kIntervals_s), std::end(kIntervals_s), interval_s);
  return next == std::begin(kIntervals_s) ? interval_s : *(next - 1);
}

void show_pane(TopView& view, unsigned pane) {
  view.pane = static_cast<TopPane>(pane % kTopPanes);
  view.first = 0;
}

void move(TopView& view, bool down) {
  if (down && view.pane != TopPane::kAll) ++view.first;
  if (!down && view.first > 0) --view.first;
}

}  // namespace

bool apply_key(const TopEvent& event, TopView& view) {
  if (event.key == TopKey::kNone) return true;
  if (view.help) {
    view.help = false;
    return event.character != 'q';
  }
  if (event.key == TopKey::kUp || event.key == TopKey::kDown) {
    move(view, event.key == TopKey::kDown);
    return true;
  }
  switch (event.character) {
    case 'q':
      return false;
    case 'h':
    case '?':
      view.help = true;
      break;
    case ' ':
      view.paused = !view.paused;
      break;
    case '\t':
      show_pane(view, static_cast<unsigned>(view.pane) + 1);
      break;
    case 'p':
    case 'b':
      view.by_bits = event.character == 'b';
      break;
    case '+':
      view.interval_s = longer(view.interval_s);
      break;
    case '-':
      view.interval_s = shorter(view.interval_s);
      break;
    case 'k':
    case 'j':
      move(view, event.character == 'j');
      break;
    default:
      if (event.character >= '0' && event.character < static_cast<char>('0' + kTopPanes))
        show_pane(view, static_cast<unsigned>(event.character - '0'));
  }
  return true;
}

}  // namespace hecto::cli
