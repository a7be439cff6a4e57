// Any bytes as a request: however they are cut into pieces, the same request or the same refusal
// comes out, within the limits, and the budget of bodies is whole again afterwards.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "router/api/http/http_parser.hpp"

namespace {

using namespace hecto::router;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Outcome {
  int refusal = 0;
  bool done = false;
  std::string method, path, body;
  std::map<std::string, std::string> query;
  bool operator==(const Outcome&) const = default;
};

Outcome parse(std::string_view text, size_t piece) {
  HttpLimits limits;
  limits.head_bytes = 4096;
  limits.body_bytes = 256;
  limits.upload_bytes = 512;
  hecto::ByteBudget budget(limits.upload_bytes);
  Outcome outcome;
  {
    RequestParser parser(limits, budget);
    size_t come = 0, taken = 0;
    while (come < text.size() && !parser.done() && parser.refusal() == 0) {
      come = std::min(text.size(), come + piece);
      while (taken < come && !parser.done() && parser.refusal() == 0) {
        const size_t some = parser.put(text.substr(taken, come - taken));
        if (some == 0) break;
        taken += some;
      }
    }
    outcome.refusal = parser.refusal();
    outcome.done = parser.done();
    const HttpRequest& request = parser.request();
    require(request.body.size() <= limits.body_bytes, "a body over its limit");
    if (outcome.done) {
      require(outcome.refusal == 0, "done, but refused");
      outcome.method = request.method;
      outcome.path = request.path;
      outcome.body = request.body;
      outcome.query = request.query;
    }
  }
  require(budget.take(limits.upload_bytes), "the budget is not whole");
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (text.size() >= 4096) return 0;  // where the limit of the head is met depends on the pieces
  const Outcome whole = parse(text, text.size()), cut = parse(text, 1 + data[0]);
  // Beast waits for the end of a head that it could not read at once.
  const bool decided = cut.done || cut.refusal != 0;
  require(decided ? cut == whole : !whole.done, "depends on how it is cut");
  ResponseParser answer;
  std::string_view rest = text;
  while (!rest.empty() && !answer.done() && !answer.failed()) {
    const size_t taken = answer.put(rest);
    if (taken == 0) break;
    rest.remove_prefix(taken);
  }
  if (!answer.done() && !answer.failed()) answer.end();
  return 0;
}
