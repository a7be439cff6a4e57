#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "config/doctor/checks.hpp"

namespace hecto::config {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr uint64_t kDeep_us = 20;  // to wake from, at 10 Mpps a queue of 200 packets

std::string cpu_file(unsigned cpu, const std::string& file) {
  return fmt::format("{}/cpu{}/{}", kCpus, cpu, file);
}

// The workers', or without a configuration those of all cores.
std::set<unsigned> polling_cpus(const Machine& machine) {
  if (machine.placement) return worker_cpus(machine);
  std::set<unsigned> cpus;
  for (const Core& core : machine.topology.cores) cpus.insert(core.cpu);
  return cpus;
}

void check_governor(const Machine& machine, Findings& findings) {
  std::map<std::string, std::set<unsigned>> slow;
  for (const unsigned cpu : polling_cpus(machine))
    if (const auto governor = machine.files.text(cpu_file(cpu, "cpufreq/scaling_governor"));
        governor && *governor != "performance")
      slow[*governor].insert(cpu);
  for (const auto& [governor, cpus] : slow) {
    Finding finding{Severity::kProblem,
                    "governor",
                    fmt::format("cores {}: frequency governor {}", cpu_words(cpus), governor),
                    "a burst finds them at a low clock, and is dropped as rx.missed",
                    fmt::format("echo performance | tee {}/cpu{}/cpufreq/scaling_governor", kCpus,
                                cpu_braces(cpus)),
                    {}};
    for (const unsigned cpu : cpus)
      finding.changes.push_back({cpu_file(cpu, "cpufreq/scaling_governor"), "performance", {}, {}});
    findings.push_back(std::move(finding));
  }
}

// Longest time that the core may take to wake: of states that are on, and below its own limit.
uint64_t deepest_us(const MachineFiles& files, unsigned cpu) {
  const auto limit = files.text(cpu_file(cpu, "power/pm_qos_resume_latency_us")).value_or("0");
  if (limit == "n/a") return 0;
  const uint64_t limit_us = std::strtoull(limit.c_str(), nullptr, 10);
  uint64_t deepest = 0;
  for (const std::string& state : files.names(cpu_file(cpu, "cpuidle"))) {
    const std::string folder = cpu_file(cpu, "cpuidle/" + state);
    const uint64_t latency_us = files.number(folder + "/latency").value_or(0);
    if (files.number(folder + "/disable").value_or(0) == 0 &&
        (limit_us == 0 || latency_us <= limit_us))
      deepest = std::max(deepest, latency_us);
  }
  return deepest;
}

// A worker that polls never idles.
void check_idle_states(const Machine& machine, Findings& findings) {
  if (!machine.config || machine.config->idle == IdleMode::kPoll) return;
  std::set<unsigned> cpus;
  uint64_t deepest = 0;
  for (const unsigned cpu : worker_cpus(machine)) {
    const uint64_t latency_us = deepest_us(machine.files, cpu);
    if (latency_us <= kDeep_us) continue;
    cpus.insert(cpu);
    deepest = std::max(deepest, latency_us);
  }
  if (cpus.empty()) return;
  findings.push_back(
      {Severity::kAdvice,
       "c_states",
       fmt::format("cores {}: C-states that take up to {} µs to leave", cpu_words(cpus), deepest),
       "the first packets after a pause wait so long",
       fmt::format("echo {} | tee {}/cpu{}/power/pm_qos_resume_latency_us", kDeep_us, kCpus,
                   cpu_braces(cpus)),
       {}});
}

void check_clock(const Machine& machine, Findings& findings) {
  const auto clock =
      machine.files.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  for (const char* slow : {"hpet", "acpi_pm", "jiffies", "refined-jiffies"})
    if (clock == slow)
      findings.push_back({Severity::kProblem,
                          "clock_source",
                          fmt::format("the kernel's clock source is {}", *clock),
                          "each look at the clock is a system call, and the TSC was not trusted",
                          "dmesg | grep -i tsc says why; where it is sound, on the kernel command "
                          "line: tsc=reliable",
                          {}});
}

void check_microcode(const Machine& machine, Findings& findings) {
  std::set<std::string> versions;
  std::istringstream info(machine.files.text("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("microcode")) versions.insert(line.substr(line.find(':') + 1));
  const char* mend = "apt install intel-microcode (amd64-microcode), then a restart";
  if (versions.size() > 1)
    findings.push_back({Severity::kProblem,
                        "microcode",
                        fmt::format("cores run {} versions of microcode", versions.size()),
                        "the same code behaves differently from core to core",
                        mend,
                        {}});
  const std::string folder = std::string(kCpus) + "/vulnerabilities";
  std::string missing;
  for (const std::string& name : machine.files.names(folder)) {
    const std::string told = machine.files.text(folder + "/" + name).value_or("");
    if (told.find("no microcode") != std::string::npos ||
        (name == "old_microcode" && told.starts_with("Vulnerable")))
      missing += (missing.empty() ? "" : ", ") + name;
  }
  if (!missing.empty())
    findings.push_back({Severity::kAdvice,
                        "microcode",
                        fmt::format("the microcode lacks what {} asks for", missing),
                        "the kernel's way around it is slower, or leaks",
                        mend,
                        {}});
}

// What a parameter of the kernel's command line names.
std::set<unsigned> parameter_cpus(const Machine& machine, const std::string& name) {
  std::istringstream words(machine.files.text("/proc/cmdline").value_or(""));
  for (std::string word; words >> word;) {
    if (word == name) return polling_cpus(machine);  // rcu_nocbs alone: all
    if (!word.starts_with(name + "=")) continue;
    const std::string cpus = word.substr(name.size() + 1);
    return cpus == "all" ? polling_cpus(machine) : parse_cpus(cpus);
  }
  return {};
}

std::set<unsigned> without(const std::set<unsigned>& cpus, const std::set<unsigned>& those) {
  std::set<unsigned> out;
  std::ranges::set_difference(cpus, those, std::inserter(out, out.end()));
  return out;
}

void check_isolation(const Machine& machine, Findings& findings) {
  if (!machine.config) return;
  const std::set<unsigned> workers = worker_cpus(machine);
  const auto listed = [&](const char* file) {
    return parse_cpus(machine.files.text(std::string(kCpus) + "/" + file).value_or(""));
  };
  const struct {
    const char *name, *costs;
    std::set<unsigned> cpus;
  } kinds[] = {
      {"isolcpus", "the scheduler puts other threads there, and queues fill meanwhile",
       listed("isolated")},
      {"nohz_full", "the timer stops workers up to a thousand times a second", listed("nohz_full")},
      {"rcu_nocbs", "the kernel's RCU callbacks run between packets",
       parameter_cpus(machine, "rcu_nocbs")},
  };
  // A worker that sleeps shares its core by intention.
  const Severity severity =
      machine.config->idle == IdleMode::kPoll ? Severity::kProblem : Severity::kAdvice;
  for (const auto& kind : kinds) {
    const std::set<unsigned> open = without(workers, kind.cpus);
    if (open.empty()) continue;
    // nohz_full brings rcu_nocbs for its cores.
    if (kind.name == std::string("rcu_nocbs") && without(open, listed("nohz_full")).empty())
      continue;
    findings.push_back({severity,
                        kind.name,
                        fmt::format("workers' cores {} are not in {}", cpu_words(open), kind.name),
                        kind.costs,
                        fmt::format("kernel command line: {}={}", kind.name, cpu_words(workers)),
                        {}});
  }
}

void check_siblings(const Machine& machine, Findings& findings) {
  const std::set<unsigned> workers = worker_cpus(machine);
  const std::set<unsigned> isolated =
      parse_cpus(machine.files.text(std::string(kCpus) + "/isolated").value_or(""));
  std::set<unsigned> open;
  for (const Core& core : machine.topology.cores) {
    std::set<unsigned> threads(core.siblings.begin(), core.siblings.end());
    threads.insert(core.cpu);
    const std::set<unsigned> others = without(threads, workers);
    const size_t polling = threads.size() - others.size();
    if (polling > 1)
      findings.push_back(
          {Severity::kProblem,
           "smt",
           fmt::format("{} workers share the core of cpus {}", polling, cpu_words(threads)),
           "each gets little more than half of it",
           "workers: name one cpu of each core",
           {}});
    if (polling == 0) continue;
    for (const unsigned cpu : without(others, isolated))
      if (machine.files.number(cpu_file(cpu, "online")) != 0u) open.insert(cpu);
  }
  if (open.empty()) return;
  findings.push_back(
      {Severity::kAdvice,
       "smt",
       fmt::format("cpus {} are second threads of workers' cores, and in use", cpu_words(open)),
       "what runs there takes up to half of the worker",
       fmt::format("echo 0 | tee {}/cpu{}/online", kCpus, cpu_braces(open)),
       {}});
}

}  // namespace

void right_cpus(const Machine& machine, std::vector<Change>& right) {
  for (const unsigned cpu : polling_cpus(machine)) {
    const std::string file = cpu_file(cpu, "cpufreq/scaling_governor");
    if (machine.files.text(file) == "performance") right.push_back({file, "performance", {}, {}});
  }
}

void check_cpus(const Machine& machine, Findings& findings) {
  for (const auto check : {check_governor, check_idle_states, check_clock, check_microcode,
                           check_isolation, check_siblings})
    check(machine, findings);
}

}  // namespace hecto::config
