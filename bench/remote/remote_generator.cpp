#include "bench/remote/remote_generator.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>

#include "base/file_descriptor.hpp"
#include "base/ssh_words.hpp"
#include "bench/lib/child.hpp"
#include "bench/remote/line_pipe.hpp"
#include "bench/remote/wire.hpp"

namespace hecto::bench {
namespace {

using nlohmann::json;

constexpr double kHello_s = 60;     // a name to be resolved, a password to be typed
constexpr double kPatience_s = 60;  // beyond what is asked for
constexpr double kLook_s = 0.05;    // for a signal

// A file that goes with this object.
class LogFile {
 public:
  LogFile() {
    std::string name = (std::filesystem::temp_directory_path() / "hecto-generator-XXXXXX").string();
    const int fd = mkstemp(name.data());
    if (fd < 0) return;
    close(fd);
    path_ = name;
  }
  ~LogFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class OverSsh final : public RemoteGenerator {
 public:
  OverSsh(std::string host, const std::atomic<bool>* stop) : host_(std::move(host)), stop_(stop) {}

  Result<void> connect(const std::string& program);
  Result<void> open(const TrafficSpec& spec, const GeneratorOptions& options);

  Result<TrialResult> run(const TrialRequest& request) override;
  Result<void> use(const std::vector<StreamSpec>& streams) override;
  Result<double> pps(const TrafficRate& rate) const override;
  const TrialResult& last() const override { return last_; }
  std::vector<PortInfo> ports() const override { return ports_; }
  std::vector<std::string> unchecked() const override { return unchecked_; }
  const json& machine() const override { return machine_; }

 private:
  // `read` is given the answer, and may throw.
  template <typename Read>
  Result<void> ask(const char* key, const json& value, double seconds, Read read) const;
  Result<json> answer(double seconds) const;
  tl::unexpected<Error> broken(const std::string& what) const;

  std::string host_;
  const std::atomic<bool>* stop_;
  LogFile log_;
  FileDescriptor output_;
  mutable std::optional<LinePipe> pipe_;
  std::unique_ptr<Child> child_;  // ends before the pipe goes
  json machine_;
  TrialResult last_;
  std::vector<PortInfo> ports_;
  std::vector<std::string> unchecked_;
};

tl::unexpected<Error> OverSsh::broken(const std::string& what) const {
  const auto words = last_lines(log_.path(), 3);
  return fail(words.empty() ? fmt::format("{}: {}", host_, what)
                            : fmt::format("{}: {}: {}", host_, what, fmt::join(words, "; ")),
              EIO);
}

Result<void> OverSsh::connect(const std::string& program) {
  int ends[2];
  if (log_.path().empty() || pipe2(ends, O_CLOEXEC) != 0)
    return fail(fmt::format("{}: no pipe or log file for ssh", host_), errno);
  output_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  ChildOptions options;
  options.log = log_.path();
  options.output = theirs.get();
  auto child = Child::start({"ssh", "-T", "--", host_, shell_quoted(program) + " generate --serve"},
                            options);
  if (!child) return tl::unexpected(child.error());
  child_ = std::move(*child);
  pipe_.emplace(output_.get());
  return {};
}

// One line; a signal while it is waited for is said to the other side, which then ends early.
Result<json> OverSsh::answer(double seconds) const {
  bool told = false;
  for (double left = seconds; left > 0; left -= kLook_s) {
    if (const auto line = pipe_->read(kLook_s)) {
      json said = json::parse(*line, nullptr, false);
      if (!said.is_object()) return broken("what it says is no answer");
      return said;
    }
    if (pipe_->ended()) {
      const auto code = child_->wait(1);
      return broken(
          code ? fmt::format("ssh, or hecto-bench there, has ended: {}", describe_exit(*code))
               : "it has closed the connection");
    }
    if (!told && stop_ != nullptr && *stop_) {
      told = true;
      child_->say(std::string(kWireStop) + "\n");
    }
  }
  return broken(fmt::format("no answer in {:.0f} s", seconds));
}

template <typename Read>
Result<void> OverSsh::ask(const char* key, const json& value, double seconds, Read read) const {
  if (!child_->say(json{{key, value}}.dump() + "\n")) return broken("it has gone");
  auto said = answer(seconds);
  if (!said) return tl::unexpected(said.error());
  try {
    if (said->contains("trial") || !said->contains("error")) read(*said);
  } catch (const std::exception& error) {
    return broken(fmt::format("an answer that is none: {}", error.what()));
  }
  if (!said->contains("error")) return {};
  return fail(fmt::format("{}: {}", host_, said->value("error", "")), EIO);
}

Result<void> OverSsh::open(const TrafficSpec& spec, const GeneratorOptions& options) {
  auto hello = answer(kHello_s);
  if (!hello) return tl::unexpected(hello.error());
  if (hello->value("protocol", 0) != kWireProtocol)
    return fail(fmt::format("{}: its hecto-bench ({}) speaks another protocol than this one ({}); "
                            "install the same version there",
                            host_, hello->value("hecto-bench", "?"), HECTO_VERSION),
                EPROTO);
  machine_ = hello->value("machine", json::object());
  const double seconds = options.link_seconds + options.neighbor_seconds + kPatience_s;
  return ask("create", {{"spec", wire_spec(spec)}, {"options", wire_options(options)}}, seconds,
             [this](const json& said) {
               ports_ = ports_of_wire(said.at("ports"));
               said.at("unchecked").get_to(unchecked_);
             });
}

Result<void> OverSsh::use(const std::vector<StreamSpec>& streams) {
  return ask("use", wire_streams(streams), kPatience_s,
             [this](const json& said) { said.at("unchecked").get_to(unchecked_); });
}

Result<double> OverSsh::pps(const TrafficRate& rate) const {
  double pps = 0;
  const auto done = ask("rate", wire_rate(rate), kPatience_s,
                        [&pps](const json& said) { said.at("pps").get_to(pps); });
  return done.map([pps] { return pps; });
}

Result<TrialResult> OverSsh::run(const TrialRequest& request) {
  last_ = {};
  const double seconds = request.seconds + request.settle_seconds + kPatience_s;
  const auto done = ask("run", wire_request(request), seconds,
                        [this](const json& said) { last_ = trial_of_wire(said.at("trial")); });
  return done.map([this] { return last_; });
}

}  // namespace

Result<std::unique_ptr<RemoteGenerator>> RemoteGenerator::create(const RemoteBox& box,
                                                                 const TrafficSpec& spec,
                                                                 const GeneratorOptions& options) {
  auto generator = std::make_unique<OverSsh>(box.host, options.stop);
  if (auto done = generator->connect(box.program); !done) return tl::unexpected(done.error());
  if (auto done = generator->open(spec, options); !done) return tl::unexpected(done.error());
  return generator;
}

}  // namespace hecto::bench
