// Results of the experiments as text and as JSON.
#pragma once

#include "bench/overlap/bare.hpp"
#include "bench/overlap/experiment.hpp"
#include "core/backend/cuda/cuda_backend.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::bench {

// What the experiments ran on.
struct Host {
  std::string cpu;
  std::vector<CudaGpu> gpus;
  Bare::Versions versions;
  std::string driver;  // as the kernel module names itself; empty: unknown
};

// Of this process.
Host describe_host(std::vector<CudaGpu> gpus, const Bare& bare);

std::string host_text(const Host& host);
std::string result_text(const ExperimentResult& result);
// One object; its keys are documented in results.cpp. bench/overlap_torch.py writes the same ones.
std::string results_json(const Host& host, std::string_view sizes, int rounds,
                         const std::vector<ExperimentResult>& results);

}  // namespace troupe::bench
