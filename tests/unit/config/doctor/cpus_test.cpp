#include "config/doctor/checks.hpp"
#include "tests/unit/config/doctor/patient.hpp"

namespace hecto::config::test {
namespace {

constexpr const char* kPolling = "ports: {a: {device: veth0}}\nworkers: {0: [2-3]}\nidle: poll\n";
constexpr const char* kSleeping = "ports: {a: {device: veth0}}\nworkers: {0: [2-3]}\n";

class DoctorCpus : public Patient {
 protected:
  static std::string cpu(unsigned number, const std::string& file) {
    return fmt::format("/sys/devices/system/cpu/cpu{}/{}", number, file);
  }
};

TEST_F(DoctorCpus, ReadsAndWritesLists) {
  EXPECT_EQ(parse_cpus("2-4,9,11-12"), (std::set<unsigned>{2, 3, 4, 9, 11, 12}));
  EXPECT_TRUE(parse_cpus("").empty());
  EXPECT_TRUE(parse_cpus("(null)").empty());
  EXPECT_EQ(parse_cpus("managed_irq,3"), std::set<unsigned>{3});
  EXPECT_EQ(cpu_words({2, 3, 4, 9, 11, 12}), "2-4,9,11-12");
  EXPECT_EQ(cpu_braces({2}), "2");
  EXPECT_EQ(cpu_braces({2, 9}), "{2,9}");
}

TEST_F(DoctorCpus, FindsASlowGovernorOfWorkers) {
  configure(kSleeping, plain_box(4));
  for (unsigned n = 0; n < 4; ++n) tree.file(cpu(n, "cpufreq/scaling_governor"), "powersave\n");
  const Finding finding = found("governor");
  EXPECT_EQ(finding.what, "cores 2-3: frequency governor powersave");
  EXPECT_EQ(finding.severity, Severity::kProblem);
  EXPECT_THAT(finding.mend, HasSubstr("cpu{2,3}/cpufreq/scaling_governor"));
  ASSERT_EQ(finding.changes.size(), 2u);
  EXPECT_EQ(finding.changes[1].file, cpu(3, "cpufreq/scaling_governor"));
  for (unsigned n = 2; n < 4; ++n) tree.file(cpu(n, "cpufreq/scaling_governor"), "performance\n");
  EXPECT_FALSE(finds("governor")) << "the others' is not the router's business";
}

TEST_F(DoctorCpus, WithoutAConfigurationEveryCoreIsLookedAt) {
  machine.topology = plain_box(4);
  tree.file(cpu(0, "cpufreq/scaling_governor"), "ondemand\n");
  EXPECT_THAT(found("governor").what, HasSubstr("cores 0:"));
}

TEST_F(DoctorCpus, FindsDeepIdleStatesOfWorkersThatSleep) {
  configure(kSleeping, plain_box(4));
  tree.file(cpu(2, "cpuidle/state0/latency"), "0\n");
  tree.file(cpu(2, "cpuidle/state3/latency"), "170\n");
  tree.file(cpu(2, "cpuidle/state3/disable"), "0\n");
  EXPECT_EQ(found("c_states").what, "cores 2: C-states that take up to 170 µs to leave");
  tree.file(cpu(2, "power/pm_qos_resume_latency_us"), "20\n");
  EXPECT_FALSE(finds("c_states")) << "its latency limit keeps it out of them";
  tree.file(cpu(2, "power/pm_qos_resume_latency_us"), "n/a\n");
  EXPECT_FALSE(finds("c_states"));
  tree.file(cpu(2, "power/pm_qos_resume_latency_us"), "0\n");
  EXPECT_TRUE(finds("c_states")) << "0 is no limit";
  tree.file(cpu(2, "cpuidle/state3/disable"), "1\n");
  EXPECT_FALSE(finds("c_states"));
  tree.file(cpu(2, "cpuidle/state3/disable"), "0\n");
  configure(kPolling, plain_box(4));
  EXPECT_FALSE(finds("c_states")) << "who polls never idles";
}

TEST_F(DoctorCpus, FindsASlowClock) {
  const std::string file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  tree.file(file, "hpet\n");
  EXPECT_EQ(found("clock_source").what, "the kernel's clock source is hpet");
  for (const char* fast : {"tsc\n", "kvm-clock\n"}) {
    tree.file(file, fast);
    EXPECT_FALSE(finds("clock_source"));
  }
}

TEST_F(DoctorCpus, FindsMicrocodeThatDiffersOrIsOld) {
  tree.file("/proc/cpuinfo", "processor : 0\nmicrocode\t: 0x1\nprocessor : 1\nmicrocode\t: 0x2\n");
  EXPECT_EQ(found("microcode").severity, Severity::kProblem);
  tree.file("/proc/cpuinfo", "processor : 0\nmicrocode\t: 0x1\nprocessor : 1\nmicrocode\t: 0x1\n");
  EXPECT_FALSE(finds("microcode"));
  const std::string mds = "/sys/devices/system/cpu/vulnerabilities/mds";
  tree.file(mds, "Vulnerable: Clear CPU buffers attempted, no microcode; SMT vulnerable\n");
  EXPECT_EQ(found("microcode").what, "the microcode lacks what mds asks for");
  tree.file(mds, "Mitigation: Clear CPU buffers\n");
  EXPECT_FALSE(finds("microcode"));
  tree.file("/sys/devices/system/cpu/vulnerabilities/old_microcode", "Vulnerable\n");
  EXPECT_TRUE(finds("microcode"));
}

TEST_F(DoctorCpus, FindsWorkersThatAreNotIsolated) {
  configure(kPolling, plain_box(4));
  tree.file("/sys/devices/system/cpu/isolated", "2\n");
  tree.file("/sys/devices/system/cpu/nohz_full", "(null)\n");
  tree.file("/proc/cmdline", "quiet rcu_nocbs=3\n");
  EXPECT_EQ(found("isolcpus").what, "workers' cores 3 are not in isolcpus");
  EXPECT_EQ(found("isolcpus").mend, "kernel command line: isolcpus=2-3");
  EXPECT_EQ(found("isolcpus").severity, Severity::kProblem);
  EXPECT_EQ(found("nohz_full").what, "workers' cores 2-3 are not in nohz_full");
  EXPECT_EQ(found("rcu_nocbs").what, "workers' cores 2 are not in rcu_nocbs");
  configure(kSleeping, plain_box(4));
  EXPECT_EQ(found("isolcpus").severity, Severity::kAdvice) << "it shares its core by intention";
  tree.file("/sys/devices/system/cpu/isolated", "2-3\n");
  tree.file("/sys/devices/system/cpu/nohz_full", "2-3\n");
  for (const char* name : {"isolcpus", "nohz_full", "rcu_nocbs"}) EXPECT_FALSE(finds(name)) << name;
  tree.file("/sys/devices/system/cpu/nohz_full", "");
  for (const char* all : {"rcu_nocbs=all", "rcu_nocbs", "rcu_nocbs=1-3"}) {
    tree.file("/proc/cmdline", all);
    EXPECT_FALSE(finds("rcu_nocbs")) << all;
  }
}

TEST_F(DoctorCpus, FindsSecondThreadsOfWorkersCores) {
  configure(kSleeping, plain_box(4, 2));
  EXPECT_THAT(found("smt").what, HasSubstr("cpus 6-7 are second threads"));
  tree.file(cpu(6, "online"), "0\n");
  EXPECT_THAT(found("smt").what, HasSubstr("cpus 7 are"));
  tree.file("/sys/devices/system/cpu/isolated", "2-3,6-7\n");
  EXPECT_FALSE(finds("smt"));
  configure(kSleeping, plain_box(4));
  EXPECT_FALSE(finds("smt"));
}

TEST_F(DoctorCpus, FindsWorkersThatShareACore) {
  configure("ports: {a: {device: veth0}}\nworkers: {0: [2, 6]}\n", plain_box(4, 2));
  const Finding finding = found("smt");
  EXPECT_EQ(finding.what, "2 workers share the core of cpus 2,6");
  EXPECT_EQ(finding.severity, Severity::kProblem);
}

}  // namespace
}  // namespace hecto::config::test
