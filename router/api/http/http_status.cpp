#include "router/api/http/http_status.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include "router/api/http/http.hpp"

namespace hecto::router {
namespace {

const char* title(int status) {
  switch (status) {
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

}  // namespace

const char* words(int status) {
  switch (status) {
    case 400:
      return "this is no HTTP request that the API understands";
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

int status_of(StreamFailure failure) {
  switch (failure) {
    case StreamFailure::kTooSlow:
      return 408;
    case StreamFailure::kHeadTooLarge:
      return 431;
    case StreamFailure::kBodyTooLarge:
      return 413;
    case StreamFailure::kBusy:
      return 503;
    default:
      return 400;
  }
}

void answer_raw(int fd, int status) {
  const std::string body = error_body(words(status));
  const std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, title(status), body.size(), body);
  [[maybe_unused]] const ssize_t sent =
      ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace hecto::router
