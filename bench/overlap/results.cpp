// The JSON of gpu_overlap and overlap_torch.py:
//
//   program, version      "gpu_overlap", and Troupe's version; or "overlap_torch", and PyTorch's
//   sizes, rounds         "chapter", "large" or "quick"; how many samples each part has
//   host                  cpu, gpus (name, memory_bytes), driver, cuda_driver, cuda_runtime,
//                         compute_capability of the first GPU; "" for what isn't known
//   experiments           a list of
//     name, title, way    "3b"; in words; who did it: "troupe", or "chapter" or "best" in PyTorch
//     problem             why it has no parts; absent if it has
//     parts               a list of name, seconds (the median), samples_s, and as far as they
//                         apply flops_per_second, bytes_per_second, ns_per_op, host_ns_per_op,
//                         overlap_efficiency (lower bound by the times of its own ops / seconds).
//                         The part "bare NAME" is NAME in plain loops of CUDA
//     bound_s, efficiency what the part that does all at once can't beat, and bound_s / seconds
#include "bench/overlap/results.hpp"

#include "core/base/version.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace troupe::bench {
namespace {

using Json = nlohmann::ordered_json;

// "13.0"; empty: unknown.
std::string version_text(int version) {
  return version > 0 ? fmt::format("{}.{}", version / 1000, version % 1000 / 10) : "";
}

Json json_of(const PartResult& part) {
  Json json{{"name", part.name}, {"seconds", part.median_s}, {"samples_s", part.samples_s}};
  const auto add = [&](const char* key, double value) {
    if (value > 0) json[key] = value;
  };
  add("flops_per_second", part.flops_per_second);
  add("bytes_per_second", part.bytes_per_second);
  add("ns_per_op", part.ns_per_op);
  add("host_ns_per_op", part.host_ns_per_op);
  add("overlap_efficiency", part.overlap_efficiency);
  return json;
}

Json json_of(const ExperimentResult& result) {
  Json json{{"name", result.name}, {"title", result.title}, {"way", "troupe"}};
  if (!result.problem.empty()) {
    json["problem"] = result.problem;
    return json;
  }
  for (const PartResult& part : result.parts) json["parts"].push_back(json_of(part));
  if (result.bound_s) json["bound_s"] = *result.bound_s;
  if (result.efficiency) json["efficiency"] = *result.efficiency;
  return json;
}

// The part of a result that does the same without Troupe; null: there is none.
const PartResult* bare_part(const ExperimentResult& result, const PartResult& part) {
  const auto found =
      std::find_if(result.parts.begin(), result.parts.end(),
                   [&](const PartResult& other) { return other.name == bare_name(part.name); });
  return found == result.parts.end() ? nullptr : &*found;
}

std::string part_text(const ExperimentResult& result, const PartResult& part) {
  std::string line = fmt::format("  {:<18}{:>12.3f} ms", part.name, part.median_s * 1e3);
  if (part.flops_per_second > 0) {
    line += fmt::format("{:>10.2f} TFLOP/s", part.flops_per_second / 1e12);
  }
  if (part.bytes_per_second > 0) line += fmt::format("{:>10.2f} GB/s", part.bytes_per_second / 1e9);
  if (part.ns_per_op > 0) line += fmt::format("{:>10.0f} ns an op", part.ns_per_op);
  if (part.host_ns_per_op > 0) line += fmt::format(", {:.0f} of the host", part.host_ns_per_op);
  if (const PartResult* const bare = bare_part(result, part); bare && part.median_s > 0) {
    line += fmt::format(", {:.2f} of the bare rate", bare->median_s / part.median_s);
  }
  return line + "\n";
}

}  // namespace

Host describe_host(std::vector<CudaGpu> gpus, const Bare& bare) {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string driver;
  std::getline(file, driver);
  return {.cpu = discover_host().cpu_model,
          .gpus = std::move(gpus),
          .versions = bare.versions(),
          .driver = std::move(driver)};
}

std::string host_text(const Host& host) {
  std::string text = fmt::format("CPU: {}\n", host.cpu);
  for (const CudaGpu& gpu : host.gpus) {
    text += fmt::format("GPU: {}, {} MiB\n", gpu.name, gpu.memory_bytes >> 20);
  }
  text += fmt::format("Driver: {}\n", host.driver.empty() ? "unknown" : host.driver);
  return text + fmt::format("CUDA: driver {}, runtime {}\n", version_text(host.versions.driver),
                            version_text(host.versions.runtime));
}

std::string result_text(const ExperimentResult& result) {
  std::string text = fmt::format("\n{}: {}\n", result.name, result.title);
  if (!result.problem.empty()) return text + fmt::format("  {}\n", result.problem);
  for (const PartResult& part : result.parts) text += part_text(result, part);
  if (result.bound_s) {
    text += fmt::format("  {:<18}{:>12.3f} ms\n  {:<18}{:>12.2f}\n", "lower bound",
                        *result.bound_s * 1e3, "overlap efficiency", *result.efficiency);
  } else if (result.parts.front().overlap_efficiency > 0) {
    text += fmt::format("  {:<18}{:>12.2f}\n", "overlap efficiency",
                        result.parts.front().overlap_efficiency);
  }
  return text;
}

std::string results_json(const Host& host, std::string_view sizes, int rounds,
                         const std::vector<ExperimentResult>& results) {
  Json gpus = Json::array();
  for (const CudaGpu& gpu : host.gpus) {
    gpus.push_back({{"name", gpu.name}, {"memory_bytes", gpu.memory_bytes}});
  }
  Json json{{"program", "gpu_overlap"}, {"version", version}, {"sizes", sizes}, {"rounds", rounds}};
  json["host"] = {{"cpu", host.cpu},
                  {"gpus", gpus},
                  {"driver", host.driver},
                  {"cuda_driver", version_text(host.versions.driver)},
                  {"cuda_runtime", version_text(host.versions.runtime)},
                  {"compute_capability", fmt::format("{}.{}", host.versions.capability_major,
                                                     host.versions.capability_minor)}};
  json["experiments"] = Json::array();
  for (const ExperimentResult& result : results) json["experiments"].push_back(json_of(result));
  return json.dump(2) + "\n";
}

}  // namespace troupe::bench
