// The journal of systemd, where stderr is its stream: each line becomes an entry with fields.
//
//   PRIORITY   as syslog's: 3 error, 4 warning, 6 info, 7 debug and trace
//   SUBJECT    what stands before the first ": ", if it is short: `journalctl SUBJECT="port wan0"`
#pragma once

#include <string>
#include <string_view>

namespace hecto::router {

// Whether what is written to `fd` goes to the journal (systemd.exec(5), $JOURNAL_STREAM).
bool is_journal(int fd);

int syslog_priority(int level) noexcept;  // of spdlog's levels
// Empty: the line names none.
std::string_view subject_of(std::string_view line) noexcept;

// False: the journal did not take it. Waits for it.
bool send_to_journal(int priority, std::string_view line);

}  // namespace hecto::router
