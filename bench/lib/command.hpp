// What every sub-command of hecto-bench has: options, and a function that does the work and gives
// the exit code (0 done, 1 failed, 2 wrong usage). main.cpp lists them.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace hecto::bench {

using Work = std::function<int()>;

// Each adds its sub-command to `app`; the one that the user chose puts its work into `work`.
void add_calibrate(CLI::App& app, Work& work);
void add_compare(CLI::App& app, Work& work);
void add_compare_plan(CLI::App& app, Work& work);
void add_forward(CLI::App& app, Work& work);
void add_generate(CLI::App& app, Work& work);
void add_ipsec(CLI::App& app, Work& work);
void add_lookup(CLI::App& app, Work& work);
void add_offload(CLI::App& app, Work& work);
void add_run(CLI::App& app, Work& work);
void add_scale(CLI::App& app, Work& work);
void add_table(CLI::App& app, Work& work);
void add_throughput(CLI::App& app, Work& work);

}  // namespace hecto::bench
