// What is wrong with a connection, as a status and in words.
#pragma once

#include "router/api/http/http_stream.hpp"

namespace hecto::router {

const char* words(int status);
int status_of(StreamFailure failure);
// For connections that never got as far as httplib's own answer.
void answer_raw(int fd, int status);

}  // namespace hecto::router
