// Numbers as an operator reads them: "1,204", "12.4 Mpps", "96.2 Gb/s", "40.0 MiB", "71%".
// At most three digits before the point, one behind it; below a thousand without a point.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hecto::cli {

std::string count(uint64_t value);                        // with thousands' commas
std::string scaled(double value, std::string_view unit);  // decimal: "12.4 Mpps"
std::string packet_rate(double packets_per_second);       // "3 pps"
std::string bit_rate(double bits_per_second);             // "96.2 Gb/s"
std::string link_speed(double mbps);                      // "100 Gb/s", but "2.5 Gb/s"
std::string bytes(double value);                          // binary: "512 B", "40.0 MiB"
std::string percent(double value);                        // "71%"
std::string decimal(double value, int digits = 1);        // "58.1"
std::string duration(double seconds);      // that something took: "1.84 s", "00:05:23"
std::string clock_time(uint64_t seconds);  // that something lasts: "00:05:23", "1d 00:00:23"

}  // namespace hecto::cli
