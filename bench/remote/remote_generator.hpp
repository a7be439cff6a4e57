// A generator on another box, over ssh: `hecto-bench generate --serve` there, with the ports of that
// box. It ends with this object.
//
// An error names the box, and the last words of ssh or of the program there.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/traffic/generator.hpp"

namespace hecto::bench {

struct RemoteBox {
  std::string host;                     // BOX or USER@BOX, as ssh takes it
  std::string program = "hecto-bench";  // there
};

class RemoteGenerator : public Generator {
 public:
  // As Generator::create(); captures of the spec are files of that box.
  static Result<std::unique_ptr<RemoteGenerator>> create(const RemoteBox& box,
                                                         const TrafficSpec& spec,
                                                         const GeneratorOptions& options);
  virtual const nlohmann::json& machine() const = 0;  // machine_facts() of the box
};

}  // namespace hecto::bench
