#include "router/api/metrics_format.hpp"

#include <algorithm>
#include <cctype>

namespace hecto::router {

const char* content_type(MetricsFormat format) noexcept {
  return format == MetricsFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

MetricsFormat metrics_format(const std::optional<std::string>& accept) {
  std::string types = accept.value_or("");
  std::ranges::transform(types, types.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool plain = types.find("text/plain") != std::string::npos &&
                     types.find("application/openmetrics-text") == std::string::npos;
  return plain ? MetricsFormat::kPlain : MetricsFormat::kOpenMetrics;
}

}  // namespace hecto::router
