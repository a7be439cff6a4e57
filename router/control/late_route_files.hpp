// The route files of a start that already forwards, by the tables of the run before: they are read on a
// thread of their own while packets pass, and loaded over several turns. A file that cannot be read
// keeps such a start from nothing; it is said. Control only.
#pragma once

#include <memory>

#include "router/control/parts.hpp"
#include "router/control/route_files.hpp"

namespace hecto::router {

class LateRouteFiles {
 public:
  // bring_up() has left them out.
  void expect() { state_ = State::kWanted; }
  // Not all is known yet of what the files have.
  bool pending() const { return state_ != State::kNone; }
  // Then its end waits for the disk.
  bool reading() const { return state_ == State::kReading; }
  // Each turn.
  void tick(const Parts& parts);

 private:
  enum class State { kNone, kWanted, kReading, kLoading };

  void read(const Parts& parts);
  void load(const Parts& parts, ReadRouteFiles& files);

  State state_ = State::kNone;
  std::unique_ptr<RouteFilesReader> reader_;  // after the last has let go, too: it frees them
};

}  // namespace hecto::router
