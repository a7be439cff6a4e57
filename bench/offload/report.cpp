#include "bench/offload/report.hpp"

#include <cstdarg>
#include <cstdio>

namespace hecto::bench {
namespace {

__attribute__((format(printf, 2, 3))) void print(std::string& text, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
}

std::string or_null(const std::string& text) {
  return text.empty() ? "null" : json_string(text);
}

bool is_esp(const OffloadRow& row) {
  return row.packet_bytes != 0;
}

void add_row(std::string& text, const OffloadRow& row) {
  print(text, "%-20s %6u  %10.3f", row.kind.c_str(), row.batch, row.items_per_s * 1e-6);
  is_esp(row) ? print(text, "  %7.3f", row.gbps) : print(text, "  %7s", "");
  print(text, "  %9.1f  %9.1f  %9.0f  %9.1f", row.p50_us, row.p99_us, row.submit_ns, row.worker_ns);
  print(text, "  %9.3f%s  %11llu\n", row.cpu_items_per_s * 1e-6, is_esp(row) ? "*" : " ",
        static_cast<unsigned long long>(row.checked));
}

void add_crossover(std::string& text, const Crossover& one, double tsc_ghz) {
  print(text, "\n%s: ", one.kind.c_str());
  if (one.batch == 0)
    text += "the device's path costs a worker more than the look-up, with the largest batches too";
  else
    print(text, "costs a worker less on the device from batches of %u on", one.batch);
  print(text, ".\n  Batch %u: %.1f ns a look-up on the core, %.1f ns of its time with the device",
        one.best_batch, one.cpu_ns, one.worker_ns);
  if (tsc_ghz != 0)
    print(text, " (%.1f and %.1f cycles of the TSC)", one.cpu_ns * tsc_ghz,
          one.worker_ns * tsc_ghz);
  print(text, ".\n  The device does what %.2f cores do (its rate / one core's).\n",
        one.cores_beaten);
  print(text, "  Cores saved at 148.8 Mpps: %.2f (min(148.8 M, its rate) x (%.1f - %.1f) ns)\n",
        one.cores_saved, one.cpu_ns, one.worker_ns);
}

// Joules a million items, and a GiB of what is encrypted.
std::optional<double> per_m_items(std::optional<double> joules, double items) {
  if (joules) *joules *= 1e6 / items;
  return joules;
}
std::optional<double> per_gib(std::optional<double> joules, double items, uint32_t packet_bytes) {
  if (packet_bytes == 0) return std::nullopt;
  if (joules) *joules *= (1 << 30) / (items * packet_bytes);
  return joules;
}

void add_energy(std::string& text, const OffloadResult& result) {
  if (!result.energy.empty())
    print(text, "\n%-20s %6s  %26s  %26s\n%-20s %6s  %12s %13s  %12s %13s\n", "energy", "batch",
          "with the device", "one core alone", "", "", "GPU J/M", "packages J/M", "GPU J/M",
          "packages J/M");
  const auto add = [&](std::optional<double> joules, double items, int width) {
    const auto each = per_m_items(joules, items);
    each ? print(text, " %*.4f", width, *each) : print(text, " %*s", width, "-");
  };
  for (const EnergyRow& row : result.energy) {
    print(text, "%-20s %6u ", row.kind.c_str(), row.batch);
    add(row.used.gpu, row.items, 12);
    add(row.used.cpu, row.items, 13);
    text += ' ';
    add(row.core_used.gpu, row.core_items, 12);
    add(row.core_used.cpu, row.core_items, 13);
    text += '\n';
  }
  if (!result.no_gpu_energy.empty())
    print(text, "\nenergy of the GPU is not told: %s\n", result.no_gpu_energy.c_str());
  if (!result.no_cpu_energy.empty())
    print(text, "%senergy of the CPU is not told: %s\n", result.no_gpu_energy.empty() ? "\n" : "",
          result.no_cpu_energy.c_str());
}

void add_json(std::string& text, const EnergyRow& row) {
  print(text, "    {\"kind\": %s, \"packet_bytes\": %u, \"batch\": %u, \"items\": %.0f",
        json_string(row.kind).c_str(), row.packet_bytes, row.batch, row.items);
  const auto add = [&](const char* name, std::optional<double> joules) {
    print(text, ", \"%s\": ", name);
    joules ? print(text, "%.6f", *joules) : print(text, "null");
  };
  const uint32_t bytes = row.packet_bytes;
  add("gpu_j_per_m_items", per_m_items(row.used.gpu, row.items));
  add("gpu_j_per_gib", per_gib(row.used.gpu, row.items, bytes));
  add("cpu_j_per_m_items", per_m_items(row.used.cpu, row.items));
  add("cpu_j_per_gib", per_gib(row.used.cpu, row.items, bytes));
  add("core_gpu_j_per_m_items", per_m_items(row.core_used.gpu, row.core_items));
  add("core_cpu_j_per_m_items", per_m_items(row.core_used.cpu, row.core_items));
  add("core_cpu_j_per_gib", per_gib(row.core_used.cpu, row.core_items, bytes));
  text += "}";
}

void add_json(std::string& text, const OffloadRow& row) {
  print(text, "    {\"kind\": %s, \"packet_bytes\": %u, \"batch\": %u, \"items_per_s\": %.0f, ",
        json_string(row.kind).c_str(), row.packet_bytes, row.batch, row.items_per_s);
  print(text, "\"gbps\": %.4f, \"p50_us\": %.3f, \"p99_us\": %.3f, \"latency_samples\": %u, ",
        row.gbps, row.p50_us, row.p99_us, row.latency_samples);
  print(text, "\"submit_ns\": %.1f, \"worker_ns\": %.3f, \"cpu_items_per_s\": %.0f, ",
        row.submit_ns, row.worker_ns, row.cpu_items_per_s);
  print(text, "\"checked\": %llu}", static_cast<unsigned long long>(row.checked));
}

void add_json(std::string& text, const Crossover& one) {
  print(text, "    {\"kind\": %s, \"batch\": %u, \"best_batch\": %u, \"cpu_ns\": %.3f, ",
        json_string(one.kind).c_str(), one.batch, one.best_batch, one.cpu_ns);
  print(text, "\"worker_ns\": %.3f, \"cores_beaten\": %.3f, \"cores_saved\": %.3f}", one.worker_ns,
        one.cores_beaten, one.cores_saved);
}

template <typename Things>
void add_array(std::string& text, const char* name, const Things& things) {
  print(text, "  \"%s\": [\n", name);
  for (const auto& thing : things) {
    add_json(text, thing);
    text += &thing == &things.back() ? "\n" : ",\n";
  }
  text += "  ]";
}

}  // namespace

std::string json_string(const std::string& from) {
  std::string text = "\"";
  for (const char c : from) {
    if (c == '"' || c == '\\') text += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      print(text, "\\u%04x", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text + "\"";
}

std::string offload_text(const OffloadResult& result) {
  std::string text;
  print(text, "device %s: %s\n", result.device.c_str(), result.description.c_str());
  print(text, "table %s, %zu IPv4 and %zu IPv6 routes; %u batches in flight, %u rounds\n\n",
        result.table.c_str(), result.routes4, result.routes6, result.in_flight, result.rounds);
  print(text, "%-20s %6s  %10s  %7s  %9s  %9s  %9s  %9s  %9s   %11s\n", "work", "batch",
        "M items/s", "Gb/s", "p50 us", "p99 us", "submit ns", "worker ns", "1 core M", "checked");
  bool esp = false;
  for (const OffloadRow& row : result.rows) {
    add_row(text, row);
    esp = esp || is_esp(row);
  }
  print(text,
        "\np50, p99: round trip of a batch at half load. submit: a batch. worker: an item's "
        "gather, submit, poll, scatter.\n");
  if (esp)
    print(text,
          "*: crypto/'s portable code, not AES-NI as a router's CPU path: no crossover of it.\n");
  add_energy(text, result);
  for (const Crossover& one : result.crossovers) add_crossover(text, one, result.tsc_ghz);
  return text;
}

std::string offload_json(const OffloadResult& result) {
  std::string text = "{\n";
  print(text, "  \"device\": %s,\n", json_string(result.device).c_str());
  print(text, "  \"description\": %s,\n", json_string(result.description).c_str());
  print(text, "  \"table\": %s,\n  \"routes4\": %zu,\n  \"routes6\": %zu,\n",
        json_string(result.table).c_str(), result.routes4, result.routes6);
  print(text, "  \"in_flight\": %u,\n  \"rounds\": %u,\n  \"tsc_ghz\": %.4f,\n", result.in_flight,
        result.rounds, result.tsc_ghz);
  add_array(text, "rows", result.rows);
  text += ",\n";
  print(text, "  \"no_gpu_energy\": %s,\n  \"no_cpu_energy\": %s,\n",
        or_null(result.no_gpu_energy).c_str(), or_null(result.no_cpu_energy).c_str());
  if (result.energy.empty())
    text += "  \"energy\": null";
  else
    add_array(text, "energy", result.energy);
  text += ",\n";
  add_array(text, "crossover", result.crossovers);
  return text + "\n}\n";
}

}  // namespace hecto::bench
