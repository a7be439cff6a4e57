#include "router/api/http/http_status.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hecto::router {
namespace {

const char* words(int status) {
  switch (status) {
    case 400:
      return "this is no HTTP request that the API understands";
    case 403:
      return "no role: this router lets in root and members of the groups of its api section";
    case 404:
      return "no such path; see docs/api.md";
    case 405:
      return "this path does not know the method; see docs/api.md";
    case 408:
      return "the request took too long";
    case 411:
      return "the body has no length: send Content-Length, or chunks";
    case 413:
      return "the body is too large";
    case 414:
      return "the path is too long";
    case 415:
      return "send the body as it is: no form, no Content-Encoding (a gzip file is recognised)";
    case 431:
      return "the request has too long headers";
    case 503:
      return "the router has too many API connections or uploads; try again";
    default:
      return "the router could not answer";
  }
}

}  // namespace

std::string error_body(const std::string& message) {
  std::string line = message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return nlohmann::json{{"error", line}}.dump(-1, ' ', false,
                                              nlohmann::json::error_handler_t::replace) +
         "\n";
}

HttpAnswer refusal(int status) {
  return {status, error_body(words(status))};
}

}  // namespace hecto::router
