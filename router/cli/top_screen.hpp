// The terminal while `hecto top` has it: another screen, no cursor, keys as they are pressed. It is
// given back by the destructor; signals come by next(), so that every end passes there.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"

namespace hecto::cli {

enum class TopKey : uint8_t { kNone, kCharacter, kUp, kDown, kEnd };

struct TopEvent {
  TopKey key = TopKey::kNone;  // kNone: time is up, or the screen has another size
  char character = 0;          // of kCharacter
  int signal = 0;              // of kEnd: what ends the program; 0: nobody looks any more
};

// The keys of what a terminal sent. Escape sequences that are not known are no key.
std::vector<TopEvent> keys_in(std::string_view bytes);

class TopScreen {
 public:
  TopScreen();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  struct Size {
    size_t columns = 80, rows = 24;
  };
  Size size() const;
  // False: the terminal is gone.
  bool draw(const std::vector<std::string>& lines);
  // What comes until then. Stopping (SIGTSTP) and going on happen inside.
  std::vector<TopEvent> next(std::chrono::steady_clock::time_point until);

 private:
  void take();
  void give_back();
  std::optional<TopEvent> read_signal();

  std::optional<termios> before_;  // none: standard input is no terminal, there are no keys
  FileDescriptor signals_;
  bool taken_ = false;
};

}  // namespace hecto::cli
