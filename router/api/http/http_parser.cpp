#include "router/api/http/http_parser.hpp"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <charconv>

namespace hecto::router {
namespace {

namespace http = boost::beast::http;
using BeastError = boost::beast::error_code;
using BeastText = boost::beast::string_view;
using Length = boost::optional<uint64_t>;

constexpr size_t kLongestPath = 256;
constexpr size_t kLongestTarget = 8192;
constexpr size_t kLongestField = 8192;
constexpr size_t kLongestChunkHead = 16384;  // and of the trailer

std::string_view view(BeastText text) {
  return {text.data(), text.size()};
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Percent-encoding (RFC 3986 §2.1); what is none stays as it is.
std::string decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* hex = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(hex, hex + 2, byte, 16).ptr == hex + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

void set_target(HttpRequest& request, std::string_view target) {
  target = target.substr(0, target.find('#'));
  const size_t question = std::min(target.find('?'), target.size());
  request.path = decode(target.substr(0, question), false);
  target.remove_prefix(std::min(question + 1, target.size()));
  while (!target.empty()) {
    const std::string_view pair = target.substr(0, target.find('&'));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (equals > 0) {
      request.query[decode(pair.substr(0, equals), true)] =
          decode(pair.substr(std::min(equals + 1, pair.size())), true);
    }
    target.remove_prefix(std::min(pair.size() + 1, target.size()));
  }
}

// Beast stops in front of the field that it refuses: a length of more than 64 bits is too large,
// all others are no lengths.
bool is_huge_length(std::string_view line) {
  line = line.substr(0, line.find('\r'));
  line.remove_prefix(std::min(line.find(':'), line.size()));
  line.remove_prefix(std::min(line.find_first_not_of(": \t"), line.size()));
  return line.size() > 19 && all_digits(line);
}

int status_of(BeastError error, std::string_view rest) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  return error == http::error::bad_content_length && is_huge_length(rest) ? 413 : 400;
}

}  // namespace

struct RequestParser::Impl final : http::basic_parser<true> {
  Impl(const HttpLimits& limits, ByteBudget& uploads)
      : head_limit(limits.head_bytes), memory(uploads) {
    request.memory = &memory;
    header_limit(static_cast<uint32_t>(std::min<size_t>(head_limit, UINT32_MAX)));
    body_limit(limits.body_bytes);
  }

  void refuse(int status, BeastError& error) {
    refusal = status;
    error = http::error::bad_value;
  }

  void on_request_impl(http::verb verb, BeastText method, BeastText target, int version,
                       BeastError& error) override {
    http11 = version >= 11;
    head_only = verb == http::verb::head;
    request.method = head_only ? "GET" : std::string(method);
    if (verb == http::verb::unknown) return refuse(400, error);
    if (target.size() > kLongestTarget) return refuse(414, error);
    set_target(request, view(target));
  }

  void on_field_impl(http::field name, BeastText text, BeastText value,
                     BeastError& error) override {
    if (text.size() + value.size() > kLongestField) return refuse(400, error);
    if (name == http::field::content_length) {
      // RFC 9112 §6.3: two lengths are none. Beast takes equal ones, and lists of them.
      if (++lengths > 1 || !all_digits(view(value))) return refuse(400, error);
    } else if (name == http::field::transfer_encoding) {
      if (!boost::beast::iequals(value, "chunked")) return refuse(400, error);
      chunked = true;
    } else if (name == http::field::expect) {
      expects_continue = boost::beast::iequals(value, "100-continue");
    } else if (name == http::field::content_encoding) {
      encoded = true;  // whether such a body is whole only its decoder could tell
    } else if (name == http::field::content_type) {
      encoded |= value.starts_with("multipart/");
    } else if (std::optional<std::string>* kept = kept_field(text)) {
      // RFC 9112 §3.2: two hosts are none, nor are two origins or tokens one. Others are lists.
      const bool is_list = kept == &request.fields.accept || kept == &request.fields.if_none_match;
      if (*kept && !is_list) return refuse(400, error);
      *kept = (*kept ? **kept + ", " : std::string()) + std::string(value);
    }
  }

  // Beast 1.74 does not know all of them.
  std::optional<std::string>* kept_field(BeastText name) {
    HttpFields& fields = request.fields;
    const std::pair<const char*, std::optional<std::string>*> known[] = {
        {"Host", &fields.host},
        {"Origin", &fields.origin},
        {"Sec-Fetch-Site", &fields.fetch_site},
        {"Authorization", &fields.authorization},
        {"Accept", &fields.accept},
        {"If-None-Match", &fields.if_none_match}};
    for (const auto& [word, field] : known)
      if (boost::beast::iequals(name, word)) return field;
    return nullptr;
  }

  void on_header_impl(BeastError& error) override {
    const std::string& method = request.method;
    if (request.path.size() > kLongestPath) return refuse(414, error);
    if (method != "GET" && method != "POST" && method != "DELETE") return refuse(405, error);
    const bool has_body = chunked || content_length().value_or(0) > 0;
    if (has_body && method == "GET") return refuse(400, error);
    if (encoded) return refuse(415, error);
  }

  size_t take(BeastText bytes, BeastError& error) {
    if (!memory.grow(bytes.size())) {
      refuse(503, error);
      return 0;
    }
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  size_t on_body_impl(BeastText bytes, BeastError& error) override { return take(bytes, error); }
  size_t on_chunk_body_impl(uint64_t, BeastText bytes, BeastError& error) override {
    return take(bytes, error);
  }
  void on_response_impl(int, BeastText, int, BeastError&) override {}
  void on_body_init_impl(const Length&, BeastError&) override {}
  void on_chunk_header_impl(uint64_t, BeastText, BeastError&) override {}
  void on_finish_impl(BeastError&) override {}

  const size_t head_limit;
  HttpRequest request;
  ByteReservation memory;
  size_t head_bytes = 0;  // taken of the head
  unsigned lengths = 0;
  bool http11 = false, head_only = false, chunked = false, encoded = false;
  bool expects_continue = false;
  int refusal = 0;
};

RequestParser::RequestParser(const HttpLimits& limits, ByteBudget& budget)
    : impl_(std::make_unique<Impl>(limits, budget)) {}

RequestParser::~RequestParser() = default;

size_t RequestParser::put(std::string_view bytes) {
  const bool in_head = !impl_->is_header_done();
  BeastError error;
  const size_t taken = impl_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  const size_t left = bytes.size() - taken;
  if (in_head) impl_->head_bytes += taken;
  if (error && error != http::error::need_more) {
    if (impl_->refusal == 0) impl_->refusal = status_of(error, bytes.substr(taken));
  } else if (!impl_->is_header_done()) {
    // Beast bounds its parts, not the head.
    if (impl_->head_bytes + left >= impl_->head_limit) impl_->refusal = 431;
  } else if (error && left >= kLongestChunkHead) {
    impl_->refusal = 400;
  }
  return taken;
}

bool RequestParser::done() const {
  return impl_->is_done() && impl_->refusal == 0;
}

int RequestParser::refusal() const {
  return impl_->refusal;
}

bool RequestParser::awaits_continue() const {
  return impl_->is_header_done() && !impl_->is_done() && impl_->http11 && impl_->expects_continue;
}

HttpRequest& RequestParser::request() {
  return impl_->request;
}

bool RequestParser::keep_alive() const {
  return impl_->keep_alive();
}

bool RequestParser::head_only() const {
  return impl_->head_only;
}

struct ResponseParser::Impl final : http::basic_parser<false> {
  Impl() { body_limit(UINT64_MAX); }  // Boost 1.74 takes `none` for 0

  void on_response_impl(int status, BeastText, int, BeastError&) override {
    answer.status = status;
  }
  void on_field_impl(http::field name, BeastText, BeastText value, BeastError&) override {
    if (name == http::field::content_type) answer.type = std::string(value);
  }
  size_t take(BeastText bytes) {
    answer.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  size_t on_body_impl(BeastText bytes, BeastError&) override { return take(bytes); }
  size_t on_chunk_body_impl(uint64_t, BeastText bytes, BeastError&) override { return take(bytes); }
  void on_request_impl(http::verb, BeastText, BeastText, int, BeastError&) override {}
  void on_header_impl(BeastError&) override {}
  void on_body_init_impl(const Length& length, BeastError&) override {
    if (length) answer.body.reserve(std::min<uint64_t>(*length, 64 << 20));
  }
  void on_chunk_header_impl(uint64_t, BeastText, BeastError&) override {}
  void on_finish_impl(BeastError&) override {}

  HttpAnswer answer;
  bool failed = false;
};

ResponseParser::ResponseParser() : impl_(std::make_unique<Impl>()) {}

ResponseParser::~ResponseParser() = default;

size_t ResponseParser::put(std::string_view bytes) {
  BeastError error;
  const size_t taken = impl_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  if (error && error != http::error::need_more) impl_->failed = true;
  return taken;
}

void ResponseParser::end() {
  BeastError error;
  if (impl_->got_some() && !impl_->is_done()) impl_->put_eof(error);
}

bool ResponseParser::done() const {
  return impl_->is_done();
}

bool ResponseParser::failed() const {
  return impl_->failed;
}

HttpAnswer& ResponseParser::answer() {
  return impl_->answer;
}

std::string_view reason_phrase(int status) {
  return view(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status))));
}

}  // namespace hecto::router
