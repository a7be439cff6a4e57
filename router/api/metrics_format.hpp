// In which format a scrape is answered. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hecto::router {

enum class MetricsFormat : uint8_t {
  kOpenMetrics,  // 1.0.0
  kPlain,        // Prometheus' text format 0.0.4
};
const char* content_type(MetricsFormat format) noexcept;

// By the request's Accept: OpenMetrics, unless text/plain stands there and OpenMetrics does not.
MetricsFormat metrics_format(const std::optional<std::string>& accept);

}  // namespace hecto::router
