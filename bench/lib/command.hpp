// What every sub-command of hecto-bench has: options, and a function that does the work and gives
// the exit code (0 done, 1 failed, 2 wrong usage). A folder's command.cpp defines
// `void add_NAME(CLI::App& app, Work& work)`: it adds the sub-command to `app`, and if the user
// chose it, puts what is to be done into `work`. main.cpp lists them.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace hecto::bench {

using Work = std::function<int()>;

}  // namespace hecto::bench
