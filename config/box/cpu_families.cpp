#include "config/box/cpu_families.hpp"

#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace hecto::config {
namespace {

struct Row {
  const char* pattern;  // of the model, without regard to case
  CpuFamily family;
};

// Estimates, all of them, but for the reference: width and caches of the cores, and where a row of
// the validation table (tests/unit/config/capacity/published_test.cpp) has the family, held against
// that. A range covers compilers, memory, NIC drivers and what a table's look-ups miss.
// clang-format off
const Row kRows[] = {
  {"(platinum|gold|silver|bronze) [3-9]4[0-9]{2}|sapphire ?rapids|cpuid model 143\\b",
   {"Sapphire Rapids", 0.9, 1.0, 1.2, true}},
  {"(platinum|gold|silver|bronze) [3-9]5[0-9]{2}|emerald ?rapids|cpuid model 207\\b",
   {"Emerald Rapids", 0.85, 0.95, 1.2}},
  {"xeon\\(?r?\\)? 6[0-9]{3}p|granite ?rapids|cpuid model 173\\b", {"Granite Rapids", 0.75, 0.95, 1.2}},
  {"xeon\\(?r?\\)? 6[0-9]{3}e|sierra ?forest|cpuid model 175\\b", {"Sierra Forest", 1.1, 1.5, 2.2}},
  {"(platinum|gold|silver|bronze) [3-9]3[0-9]{2}|xeon\\(?r?\\)? d-[12]7[0-9]{2}|ice ?lake|cpuid model (106|108)\\b",
   {"Ice Lake", 0.9, 1.1, 1.4}},
  {"(platinum|gold|silver|bronze) [3-9]2[0-9]{2}|cascade ?lake", {"Cascade Lake", 1.0, 1.3, 1.7}},
  {"(platinum|gold|silver|bronze) [3-9]1[0-9]{2}|xeon\\(?r?\\)? d-21[0-9]{2}|e3-[0-9]{4}[a-z]{0,2} ?v[56]|skylake|cpuid model 85\\b",
   {"Skylake", 1.0, 1.3, 1.7}},
  {"e[357]-[0-9]{4}[a-z]{0,2} ?v4|xeon\\(?r?\\)? d-1[56][0-9]{2}|broadwell|cpuid model (79|86)\\b", {"Broadwell", 1.0, 1.4, 1.9}},
  {"e[357]-[0-9]{4}[a-z]{0,2} ?v3|haswell|cpuid model 63\\b", {"Haswell", 1.0, 1.4, 2.0}},
  {"e[357]-[0-9]{4}[a-z]{0,2} ?v2|ivy ?bridge|cpuid model 62\\b", {"Ivy Bridge", 1.2, 1.7, 2.4}},
  {"e[357]-[0-9]{4}(?![a-z]{0,2} ?v[0-9])|sandy ?bridge|cpuid model 45\\b", {"Sandy Bridge", 1.2, 1.8, 2.5}},
  {"[xel]56[0-9]{2}|westmere|cpuid model 44\\b", {"Westmere", 1.5, 2.2, 3.2}},
  {"[xelw]55[0-9]{2}|i7-?(cpu)? ?[89][0-9]{2}\\b|nehalem|i7 cpu +[89][0-9]{2}",
   {"Nehalem", 1.5, 2.2, 3.4}},
  {"atom.* [cp]5[0-9]{3}|tremont", {"Tremont", 1.4, 2.0, 3.0}},
  {"atom.* c3[0-9]{3}|goldmont|denverton", {"Goldmont", 1.8, 2.6, 4.0}},
  {"atom.* c2[0-9]{3}|silvermont|avoton", {"Silvermont", 2.5, 3.5, 5.5}},
  {"core\\(tm\\)|intel.* n[0-9]{2,4}\\b", {"Intel Core", 0.75, 1.1, 2.0}},
  {"epyc [0-9][0-9a-z]{2}5|zen ?5|turin", {"Zen 5", 0.7, 0.85, 1.1}},
  {"epyc [0-9][0-9a-z]{2}4|zen ?4|genoa|bergamo|siena", {"Zen 4", 0.8, 1.0, 1.3}},
  {"epyc [0-9][0-9a-z]{2}3|zen ?3|milan", {"Zen 3", 1.0, 1.3, 1.6}},
  {"epyc [0-9][0-9a-z]{2}2|zen ?2|rome", {"Zen 2", 1.1, 1.4, 1.9}},
  {"epyc [0-9][0-9a-z]{2}1|zen ?1|naples", {"Zen 1", 1.2, 1.6, 2.3}},
  {"ryzen|threadripper", {"AMD Ryzen", 0.7, 1.1, 1.7}},
  {"neoverse-?v2|part 0xd4f|graviton ?4|grace", {"Neoverse V2", 0.9, 1.2, 1.7}},
  {"neoverse-?n2|part 0xd49", {"Neoverse N2", 1.0, 1.3, 1.9}},
  {"neoverse-?v1|part 0xd40|graviton ?3", {"Neoverse V1", 1.0, 1.4, 2.0}},
  {"neoverse-?n1|part 0xd0c|graviton ?2|altra", {"Neoverse N1", 1.2, 1.7, 2.5}},
  {"cortex-?a72|part 0xd08", {"Cortex-A72", 2.0, 3.0, 4.5}},
};
// clang-format on

const CpuFamily kUnknown = {"a CPU that is not known here", 0.8, 1.0, 2.5, false, false};

}  // namespace

const CpuFamily& cpu_family(std::string_view model) {
  static const std::vector<std::regex> patterns = [] {
    std::vector<std::regex> out;
    for (const Row& row : kRows)
      out.emplace_back(row.pattern, std::regex::icase | std::regex::optimize);
    return out;
  }();
  constexpr size_t kLongest = 200;  // what a model's name can be
  const std::string name(model.substr(0, kLongest));
  for (size_t i = 0; i < patterns.size(); ++i)
    if (std::regex_search(name, patterns[i])) return kRows[i].family;
  return kUnknown;
}

}  // namespace hecto::config
