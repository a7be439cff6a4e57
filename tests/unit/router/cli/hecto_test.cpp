// The hecto program itself against a fake router: exit codes, output, errors.
#include <gtest/gtest.h>

#include <chrono>

#include "base/version.hpp"
#include "router/cli/table.hpp"
#include "tests/unit/router/cli/hecto_bed.hpp"

namespace hecto::cli {
namespace {

TEST_F(HectoTest, ShowsEveryNounAsTextAndAsTheApisJson) {
  for (const std::string noun :
       {"summary",   "ports", "bonds",   "bridges",  "flows",   "interfaces",
        "neighbors", "rules", "tables",  "nexthops", "workers", "offload",
        "ipsec",     "drops", "punt",    "sflow",    "pools",   "config",
        "plan",      "mtu",   "filters", "nat",      "ipfix",   "labels"}) {
    const Outcome text = run("show " + noun);
    EXPECT_EQ(text.code, 0) << noun << text.err;
    EXPECT_FALSE(text.out.empty()) << noun;
    EXPECT_EQ(text.out.find('\033'), std::string::npos) << "colour is for terminals";
    EXPECT_EQ(text.err, "");
    const Outcome raw = run("show " + noun + " --json");
    EXPECT_EQ(raw.code, 0);
    EXPECT_EQ(json::parse(raw.out), test::documented(noun));
  }
}

// Who asks waits for the program's start, not for what it does then.
TEST_F(HectoTest, AnswersAboutAsSoonAsItStarts) {
  using Clock = std::chrono::steady_clock;
  auto starts = Clock::duration::max(), answers = Clock::duration::max();
  const auto time_of = [this](const char* arguments) {
    const auto begun = Clock::now();
    EXPECT_EQ(run(arguments).code, 0);
    return Clock::now() - begun;
  };
  for (int i = 0; i < 5; ++i) {
    starts = std::min(starts, time_of("--version"));
    answers = std::min(answers, time_of("show workers"));
  }
  EXPECT_LT(answers, 20 * starts);
}

TEST_F(HectoTest, ShowsOnePortByName) {
  EXPECT_EQ(run("show ports wan0").code, 0);
  const Outcome none = run("show ports wan9");
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.err, "hecto: there is no port \"wan9\"; there is wan0\n");
}

TEST_F(HectoTest, AsksForTheMtuOfAWay) {
  EXPECT_EQ(run("show mtu").code, 0);
  EXPECT_EQ(backend_.asked(), "mtu");
  EXPECT_EQ(run("show mtu 203.0.113.9 --from 192.0.2.1").code, 0);
  EXPECT_EQ(backend_.asked(), "mtu 203.0.113.9 from 192.0.2.1");
  EXPECT_EQ(run("show mtu wan0").code, 2);
  EXPECT_EQ(run("show mtu --from 192.0.2.1").code, 2);
}

TEST_F(HectoTest, WalksRoutesPageByPage) {
  const Outcome first = run("show routes");
  EXPECT_EQ(first.code, 0);
  EXPECT_NE(first.out.find("10.0.0.0/8"), std::string::npos);
  EXPECT_NE(first.out.find("there are more: --all"), std::string::npos);
  EXPECT_EQ(backend_.asked(), "routes limit 100");
  const Outcome all = run("show routes --all");
  EXPECT_EQ(all.code, 0);
  for (const char* prefix : {"10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"}) {
    EXPECT_NE(all.out.find(prefix), std::string::npos) << all.out;
  }
  EXPECT_EQ(all.out.find("there are more"), std::string::npos);
  EXPECT_EQ(backend_.asked(), "routes after 11.0.0.0/8 limit 10000");
  EXPECT_EQ(run("show routes --limit 2 --origin linux").code, 0);
  EXPECT_EQ(backend_.asked(), "routes origin linux after 10.0.0.0/8 limit 1")
      << "a filter leaves fewer on a page";
}

TEST_F(HectoTest, FiltersRoutesAndSaysWhatAnAddressIsAskedFor) {
  EXPECT_EQ(run("show routes 10.0.0.0/8 --origin linux --protocol bgp --interface wan0").code, 0);
  EXPECT_NE(backend_.asked().find("interface wan0 origin linux protocol bgp prefix 10.0.0.0/8"),
            std::string::npos)
      << backend_.asked();
  EXPECT_EQ(run("show routes 203.0.113.9 --from 10.1.0.5 --interface lan0").code, 0);
  EXPECT_EQ(backend_.asked(), "routes address 203.0.113.9 from 10.1.0.5 interface lan0 limit 100");
  EXPECT_EQ(run("show routes --from 10.1.0.5").code, 2);
  EXPECT_EQ(run("show drops --origin linux").code, 2);
}

TEST_F(HectoTest, ClearMarksWhereCountersStandForThisUserAlone) {
  const std::string home = "XDG_STATE_HOME=" + (scratch_ / "state");
  const std::string before = run("show drops", home).out;
  EXPECT_EQ(run("clear", home).code, 0);
  const std::string since = run("show drops", home).out;
  EXPECT_NE(since.find("received 0 = transmitted 0"), std::string::npos) << since;
  EXPECT_NE(since.find("since hecto clear, 00:00:0"), std::string::npos) << since;
  EXPECT_EQ(run("show drops --total", home).out, before);
  EXPECT_EQ(json::parse(run("show drops --json", home).out), test::documented("drops"));
  EXPECT_EQ(run("show drops", "XDG_STATE_HOME=" + (scratch_ / "other")).out, before);
}

TEST_F(HectoTest, WatchesAgainAndAgain) {
  const Outcome watched = run("show drops --watch 0.1", "timeout 2 env");
  EXPECT_EQ(watched.code, 124) << watched.err;
  size_t times = 0;
  for (size_t at = 0; (at = watched.out.find("received ", at)) != std::string::npos; ++at) ++times;
  EXPECT_GE(times, 3u);
  EXPECT_EQ(watched.out.find('\033'), std::string::npos) << "no terminal";
}

TEST_F(HectoTest, SaysOfWhichCommitItIs) {
  const Outcome version = run("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "hecto " + std::string(version_and_commit()) + "\n");
  EXPECT_NE(run("version").out.find(version.out), std::string::npos);
}

TEST_F(HectoTest, TakesWhatIpAddrShowsForAPrefixAndExplainsAnAddress) {
  EXPECT_EQ(run("show routes 203.0.113.7/24").code, 0);
  EXPECT_EQ(backend_.asked(), "routes prefix 203.0.113.0/24 limit 100");
  const Outcome address = run("show routes 2001:db8::1");
  EXPECT_EQ(address.code, 0);
  EXPECT_EQ(backend_.asked(), "routes address 2001:db8::1 limit 100");
  EXPECT_NE(address.out.find("rewrite 7:"), std::string::npos);
  EXPECT_EQ(run("show routes 203.0.113.7 --length 1501 --ttl 2").code, 0);
  EXPECT_EQ(backend_.asked(), "routes address 203.0.113.7 length 1501 ttl 2 limit 100");
  EXPECT_EQ(run("show routes 203.0.113.0/24 --ttl 2").err,
            "hecto: show: routes: --ttl goes with an ADDRESS (see hecto show --help)\n");
}

TEST_F(HectoTest, WrongUsageIsOneLineAndCode2) {
  const std::pair<const char*, const char*> cases[] = {
      {"shwo", "hecto: \"shwo\" is not known; did you mean show? (see hecto --help)\n"},
      {"show wokers",
       "hecto: show: \"wokers\" is not known; did you mean workers? (see hecto show --help)\n"},
      {"show", "hecto: show: OBJECT is required (see hecto show --help)\n"},
      {"show drops wan0",
       "hecto: show drops: \"wan0\" is one word too many (see hecto show --help)\n"},
      {"route add 10.0.0.0/8", "hecto: route: add: via which gateway? (see hecto route --help)\n"},
      {"route add 10.0.0.0/8 via",
       "hecto: route: add: via: needs a value (see hecto route --help)\n"},
      {"route delete", "hecto: route: delete: which prefix? or --all (see hecto route --help)\n"},
      {"route delete 10.0.0.0/8 --persist",
       "hecto: route: --persist goes with add (see hecto route --help)\n"},
      {"trace -n 0",
       "hecto: trace: --count: Value 0 not in range 1 to 1000 (see hecto trace --help)\n"},
      {"capture",
       "hecto: capture: say where to: --write FILE, - for a pipe, or --text (see hecto capture "
       "--help)\n"},
  };
  for (const auto& [arguments, line] : cases) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, line);
  }
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("--help").code, 0);
  for (const char* verb : {"show", "trace", "reload", "route", "load-routes", "check", "plan",
                           "capture", "clear", "version"}) {
    const Outcome help = run(std::string(verb) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.out.rfind("hecto " + std::string(verb), 0), 0u) << help.out;
    EXPECT_NE(help.out.find("Examples:\n  "), std::string::npos) << help.out;
  }
}

TEST_F(HectoTest, HelpNamesEverythingInLinesOf100Columns) {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"",
       {"show", "trace", "capture", "reload", "route", "load-routes", "check", "plan", "version",
        "nexthops", "--json", "$HECTO_SOCKET", "NO_COLOR", "2 wrong usage", "bgpdump -m"}},
      {"show", {"OBJECT [NAME]", "routes PREFIX", "routes ADDRESS", "drops", "1 to 10000"}},
      {"trace", {"--from A", "-n,--count N", "1 to 1000 (default 10)", "One trace runs"}},
      {"capture", {"-w,--write FILE", "inner, outer", "14 to 65535", "wireshark -k", "mode 0600"}},
      {"route", {"blackhole|unreachable|prohibit PREFIX", "GW%IF", "--all"}},
      {"flow", {"MATCH: interface IF", "ACTION: accept", "flow delete --all"}},
      {"load-routes", {"TABLE_DUMP_V2", "--skip-bad", "(default 0)", "standard input"}},
      {"plan", {"--box FILE", "9000, imix", "ipv4, ipv6, ipsec (default ipv4)", "--explain"}},
      {"check", {"FILE", "file, line, key"}},
      {"diff", {"[FILE]", "nothing is changed"}},
      {"confirm", {"hecto reload --confirm"}},
      {"rollback", {"before the last reload"}},
      {"reload", {"[FILE]", "nothing is changed", "--confirm TIME"}}};
  for (const auto& [verb, words] : cases) {
    const Outcome help = run(std::string(verb) + " --help");
    for (const char* word : words)
      EXPECT_NE(help.out.find(word), std::string::npos) << word << " in\n" << help.out;
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(HectoTest, SaysWhichSocketItDidNotReach) {
  server_->stop();
  const Outcome outcome = run("show ports");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "hecto: no router at " + socket_ +
                             ": start hectod, or name the socket of a running one with --socket "
                             "PATH\n");
  const Outcome version = run("version");
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out.rfind("hecto 0", 0), 0u);
}

TEST_F(HectoTest, TheOptionGoesBeforeTheEnvironmentAndMayStandAnywhere) {
  const std::string none = scratch_ / "none.sock";
  EXPECT_EQ(run("--socket '" + none + "' show ports").code, 1);
  EXPECT_EQ(run("show ports --socket '" + none + "'").code, 1);
  EXPECT_EQ(run("--json show ports").code, 0);
}

TEST_F(HectoTest, ReloadGivesAnAbsolutePathAndTellsTheProblems) {
  EXPECT_EQ(run("reload").code, 0);
  EXPECT_EQ(backend_.asked(), "reload -");
  EXPECT_EQ(run("reload a/../new.yaml", "cd /tmp;").code, 0);
  EXPECT_EQ(backend_.asked(), "reload /tmp/new.yaml");
  const Outcome refused = run("reload /bad.yaml");
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err,
            "hecto: /bad.yaml is refused: 2 problems, nothing was changed\n  a\n  b\n");
}

TEST_F(HectoTest, ReloadToBeConfirmedSaysWhatElseHappens) {
  EXPECT_EQ(run("reload --confirm 5m /tmp/new.yaml").code, 0);
  EXPECT_EQ(backend_.asked(), "reload /tmp/new.yaml confirm 300");
  for (const auto& [time, seconds] : {std::pair("90", "90"), {"90s", "90"}, {"24h", "86400"}}) {
    EXPECT_EQ(run(std::string("reload --confirm ") + time).code, 0);
    EXPECT_EQ(backend_.asked(), std::string("reload - confirm ") + seconds);
  }
  for (const char* time : {"0", "25h", "5d", "m", "-3", "99999999999999"})
    EXPECT_EQ(run(std::string("reload --confirm=") + time).code, 2) << time;
}

TEST_F(HectoTest, DiffConfirmAndRollback) {
  const Outcome diff = run("diff a.yaml", "cd /tmp;");
  EXPECT_EQ(diff.code, 0) << diff.err;
  EXPECT_EQ(backend_.asked(), "diff /tmp/a.yaml");
  const Outcome confirm = run("confirm");
  EXPECT_EQ(confirm.code, 0);
  EXPECT_EQ(confirm.out, "");
  EXPECT_EQ(backend_.asked(), "confirm");
  EXPECT_EQ(run("rollback").code, 0);
  EXPECT_EQ(backend_.asked(), "rollback");
}

TEST_F(HectoTest, LoadsRoutes) {
  const std::string file = write("routes.txt", "10.0.0.0/8\n");
  const Outcome loaded = run("load-routes '" + file + "' --via 192.0.2.1,fe80::1%lan0 --replace");
  EXPECT_EQ(loaded.code, 0) << loaded.err;
  EXPECT_EQ(backend_.asked(), "load 11 metric 0 replace via 192.0.2.1*1 via fe80::1%lan0*1");
  EXPECT_EQ(loaded.out,
            "954,202 routes (mrt) in 1.84 s: 954,201 added, 1 replaced, 0 removed\n"
            "! 2 entries could not be used\n  2001:db8::/32: no gateway of its family was given\n");
  EXPECT_EQ(run("load-routes -", "printf 10.0.0.0/8 |").code, 0);
  EXPECT_EQ(backend_.asked(), "load 10 metric 0");
  EXPECT_EQ(backend_.loaded_name, "standard input");
  EXPECT_EQ(run("load-routes '" + file + ".gz'", "gzip -k '" + file + "';").code, 0);
  const auto packed = std::filesystem::file_size(file + ".gz");  // hectod unpacks it
  EXPECT_EQ(backend_.asked(), "load " + std::to_string(packed) + " metric 0");
  EXPECT_EQ(run("load-routes '" + file + "' --skip-bad").code, 0);
  EXPECT_EQ(backend_.asked(), "load 11 metric 0 skip bad");
  EXPECT_EQ(backend_.loaded_name, file);
}

TEST_F(HectoTest, RefusesRouteFilesThatCannotBeRead) {
  const Outcome missing = run("load-routes /none");
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err, "hecto: /none: No such file or directory\n");
  EXPECT_EQ(run("load-routes /dev/null").err, "hecto: /dev/null: is empty\n");
  EXPECT_EQ(run("load-routes /tmp").code, 1);
  const Outcome packed = run("load-routes '" + write("x.bz2", "BZh91AY") + "'");
  EXPECT_EQ(packed.code, 1);
  EXPECT_NE(packed.err.find("is packed with bzip2; unpack it: bzip2 -dc"), std::string::npos);
  const Outcome wrong = run("load-routes '" + write("r", "10.0.0.0/8") + "' --via nowhere");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("\"nowhere\" is no address"), std::string::npos) << wrong.err;
}

TEST_F(HectoTest, AddsAndDeletesRoutesInTheWordsOfIpRoute) {
  const std::pair<const char*, const char*> cases[] = {
      {"add 203.0.113.0/24 via 192.0.2.1",
       "add 203.0.113.0/24 type unicast metric 0 via 192.0.2.1*1"},
      {"add 203.0.113.0/24 via 192.0.2.1,192.0.2.2 dev wan0 metric 7",
       "add 203.0.113.0/24 type unicast metric 7 via 192.0.2.1%wan0*1 via 192.0.2.2%wan0*1"},
      {"add blackhole 10.0.0.0/8", "add 10.0.0.0/8 type blackhole metric 0"},
      {"add blackhole 10.0.0.0/8 --persist", "add 10.0.0.0/8 type blackhole metric 0 persist"},
      {"add default via 192.0.2.1", "add 0.0.0.0/0 type unicast metric 0 via 192.0.2.1*1"},
      {"delete 10.0.0.0/8", "delete 10.0.0.0/8 any"},
      {"del 10.0.0.0/8 metric 3", "delete 10.0.0.0/8 3"},
      {"delete --all", "delete all"},
  };
  for (const auto& [arguments, asked] : cases) {
    const Outcome outcome = run(std::string("route ") + arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << outcome.err;
    EXPECT_EQ(backend_.asked(), asked);
  }
}

TEST_F(HectoTest, DeletesTheRoutesOfAFileAndNamesIt) {
  const std::string file = write("old.txt", "10.0.0.0/8\n");
  EXPECT_EQ(run("route delete file '" + file + "'").code, 0);
  EXPECT_EQ(backend_.asked(), "delete body 10.0.0.0/8\n");
  EXPECT_EQ(backend_.loaded_name, file);
  EXPECT_EQ(run("route delete file -", "printf 10.0.0.0/8 |").code, 0);
  EXPECT_EQ(backend_.loaded_name, "standard input");
  EXPECT_EQ(run("route delete file /none").err, "hecto: /none: No such file or directory\n");
  EXPECT_EQ(run("route delete file").code, 2);
}

TEST_F(HectoTest, TracesAndSaysWhenNothingCame) {
  const Outcome traced = run("trace --to 203.0.113.9 --port wan0 -n 1");
  EXPECT_EQ(traced.code, 0) << traced.err;
  EXPECT_NE(traced.out.find("   = transmitted on lan0\n"), std::string::npos) << traced.out;
  EXPECT_EQ(backend_.asked(), "trace to 203.0.113.9/32 port wan0 interface  count 1");
  backend_.traces_come = false;
  const Outcome silent = run("trace --timeout 0.2 -n 2");
  EXPECT_EQ(silent.code, 1);
  EXPECT_EQ(silent.err, "hecto: trace: 0 of 2 packets came in 0.2 s; --timeout S waits longer\n");
}

TEST_F(HectoTest, EndsQuietlyWhenNobodyReadsAndLoudlyWhenTheDiskIsFull) {
  const Outcome cut = run("show routes --all | true");
  EXPECT_EQ(cut.err, "");
  const std::string command = std::string("HECTO_SOCKET='") + socket_ +
                              "' " HECTO_BINARY " show ports >/dev/full 2>'" + scratch_ / "err" +
                              "'";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(read("err"), "hecto: cannot write: No space left on device\n");
}

}  // namespace
}  // namespace hecto::cli
