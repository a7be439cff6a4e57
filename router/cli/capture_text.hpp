// A capture as lines: when, where, what. Reads the pcapng blocks that hectod writes, whole ones, in
// this machine's byte order; of others, and of what is cut off, nothing is shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hecto::cli {

class CaptureText {
 public:
  // A line for each packet of the piece. Interfaces are remembered from one piece to the next.
  std::vector<std::string> lines(std::string_view piece);

 private:
  struct Interface {
    uint16_t link_type = 0;
    std::string name;
  };
  void interface(std::string_view block);
  std::string packet(std::string_view block) const;

  std::vector<Interface> interfaces_;
};

}  // namespace hecto::cli
