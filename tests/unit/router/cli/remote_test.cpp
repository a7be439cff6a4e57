// drain, undrain and -H: what is said to whom, and what is said when it cannot be.
#include "router/cli/remote.hpp"

#include <sys/stat.h>

#include <fstream>

#include "router/cli/frr.hpp"
#include "tests/unit/router/cli/hecto_bed.hpp"

namespace hecto::cli {
namespace {

TEST(RemoteCommand, QuotesEveryWordAndLeavesTheHostOut) {
  EXPECT_EQ(remote_command({"/usr/bin/hecto", "-H", "r1", "show", "routes", "10.0.0.1"}),
            "hecto 'show' 'routes' '10.0.0.1'");
  EXPECT_EQ(remote_command({"hecto", "show", "-Hr1", "ports"}), "hecto 'show' 'ports'");
  EXPECT_EQ(remote_command({"hecto", "--host=r1,r2", "show", "ports", "--json"}),
            "hecto 'show' 'ports' '--json'");
  EXPECT_EQ(remote_command({"hecto", "--host", "r1", "route", "add", "it's; $(reboot) `x` \\"}),
            "hecto 'route' 'add' 'it'\\''s; $(reboot) `x` \\'");
  EXPECT_EQ(remote_command({"hecto", "show", ""}), "hecto 'show' ''");
}

TEST(RemoteCommand, AHostIsNoOptionOfSsh) {
  for (const char* good : {"r1", "op@r1.example.net", "2001:db8::1", "op@10.0.0.1"})
    EXPECT_EQ(host_problem(good), "") << good;
  for (const char* bad : {"", "-oProxyCommand=reboot", "a b", "a\nb", "r1'"})
    EXPECT_NE(host_problem(bad), "") << bad;
}

TEST(Refusal, IsTheFirstLineThatRefuses) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal("BGP table version is 5\n 10.0.0.0/24 100% sure\n"), "");
  EXPECT_EQ(
      refusal("% Can't open configuration file /etc/frr/r1/vtysh.conf due to 'No such file'.\n"),
      "");
  EXPECT_EQ(refusal("% Can't open configuration file /etc/frr/r1/vtysh.conf due to 'x'.\n"
                    "% Unknown command: bgp graceful-shutdow\n"),
            "Unknown command: bgp graceful-shutdow");
  EXPECT_EQ(refusal("Exiting: failed to connect to any daemons.\n"),
            "failed to connect to any daemons.");
}

class FindFrr : public ::testing::Test {
 protected:
  void runs(const std::string& name) {
    std::filesystem::create_directories(folder() + "/" + name);
    std::ofstream(folder() + "/" + name + "/bgpd.vty") << "";
  }
  std::string folder() { return scratch_ / "frr"; }
  router::test::Scratch scratch_;
};

TEST_F(FindFrr, TakesTheNamespacesAndElseTheNameless) {
  EXPECT_NE(find_frr("", "hecto", folder()).error().find("no bgpd is found"), std::string::npos);
  runs("");
  EXPECT_EQ(find_frr("", "hecto", folder())->name, "");
  EXPECT_EQ(find_frr("", "", folder())->name, "");
  runs("hecto");
  EXPECT_EQ(find_frr("", "hecto", folder())->name, "hecto");
  EXPECT_EQ(find_frr("default", "hecto", folder())->name, "");
  EXPECT_EQ(find_frr("hecto", "", folder())->name, "hecto");
}

TEST_F(FindFrr, RefusesNamesThatLeaveTheFolder) {
  runs("");
  for (const char* bad : {"..", ".", "../frr", "a/b", "-x"})
    EXPECT_FALSE(find_frr(bad, "", folder())) << bad;
  EXPECT_NE(find_frr("other", "", folder()).error().find("/other/bgpd.vty is not there"),
            std::string::npos);
}

class HectoRemoteTest : public HectoTest {
 protected:
  // A program of this name, first in the way of all others.
  std::string fake(const std::string& name, const std::string& script) {
    const std::string folder = scratch_ / "bin";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + name) << "#!/bin/sh\n" << script;
    ::chmod((folder + "/" + name).c_str(), 0755);
    return "PATH='" + folder + "':$PATH";
  }
};

TEST_F(HectoRemoteTest, SshGetsHostAndOneCommand) {
  const std::string path = fake("ssh", "for word; do echo \"<$word>\"; done; exit 3\n");
  const Outcome outcome = run("-H op@r1 show routes \"it's\" --limit 5", path);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "<-->\n<op@r1>\n<hecto 'show' 'routes' 'it'\\''s' '--limit' '5'>\n");
}

TEST_F(HectoRemoteTest, TheOtherSidesShellSeesTheWordsAsTheyWere) {
  const std::string path = fake("ssh", "shift 2; exec sh -c \"$1\"\n");
  fake("hecto", "for word; do echo \"<$word>\"; done; exit 1\n");
  const Outcome outcome = run("route add 'a b' '$(reboot)' -H r1", path);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "<route>\n<add>\n<a b>\n<$(reboot)>\n");
}

TEST_F(HectoRemoteTest, SeveralBoxesAreToldApartAndTheWorstCodeCounts) {
  const std::string path = fake(
      "ssh", "case $* in *r1*) echo one; exit 0;; *r2*) echo two; exit 1;; *) exit 255;; esac\n");
  const Outcome two = run("-H r1,r2 show ports", path);
  EXPECT_EQ(two.code, 1);
  EXPECT_EQ(two.out, "== r1\none\n== r2\ntwo\n");
  const Outcome lost = run("-H r3 show ports", path);
  EXPECT_EQ(lost.code, 1);
  EXPECT_EQ(lost.err, "hecto: r3: ssh failed\n");
}

// A loop of a shell that reads a list of names has it still afterwards.
TEST_F(HectoRemoteTest, OfSeveralBoxesNoneReadsStandardInput) {
  const std::string list = scratch_ / "list";
  std::ofstream(list) << "one\ntwo\n";
  const std::string path = fake("ssh", "test \"$1\" = -n || cat\n");
  EXPECT_EQ(run("-H r1,r2 show ports <" + list, path).out, "== r1\n== r2\n");
  EXPECT_EQ(run("-H r1 load-routes - <" + list, path).out, "one\ntwo\n") << "one box has it";
}

TEST_F(HectoRemoteTest, StandardInputForSeveralBoxesIsRefused) {
  const std::string path = fake("ssh", "echo ran\n");
  const Outcome outcome = run("-H r1,r2 load-routes - </dev/null", path);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "hecto: -H: standard input is read once, and there are several boxes; use one, or a "
            "file of theirs\n");
  EXPECT_EQ(run("-H r1,r2 load-routes rib.mrt", path).code, 0);
}

TEST_F(HectoRemoteTest, WhatIsWrongIsToldHereAndNothingIsRun) {
  const std::string path = fake("ssh", "echo ran\n");
  const Outcome host = run("-H -oProxyCommand=x show ports", path);
  EXPECT_EQ(host.code, 2);
  EXPECT_EQ(host.out, "");
  EXPECT_EQ(run("-H r1 shwo ports", path).code, 2);
  EXPECT_EQ(run("show ports -H", path).code, 2);
  const Outcome none = run("-H r1 show ports", "PATH=/nowhere");
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.err, "hecto: -H: ssh is not installed here\n");
}

TEST_F(HectoRemoteTest, DrainSaysThatThereIsNoBgpd) {
  const Outcome outcome = run("drain --frr hecto-test-nobody");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "hecto: drain: no bgpd runs as FRR's instance hecto-test-nobody: "
            "/var/run/frr/hecto-test-nobody/bgpd.vty is not there\n");
  EXPECT_EQ(run("undrain --frr hecto-test-nobody").code, 1);
  for (const char* wrong :
       {"drain --timeout 0", "drain --below -1", "undrain --timeout 5", "drain r1"})
    EXPECT_EQ(run(wrong).code, 2) << wrong;
}

}  // namespace
}  // namespace hecto::cli
