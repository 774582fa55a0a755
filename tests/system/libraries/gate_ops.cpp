// A library with an op that waits until there is a file "open" in the folder of its process.
#include "core/ops/op_library.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

TROUPE_OPS(registry) {
  registry.add(
      {.name = "gate",
       .summary = "waits for the file",
       .inputs = {0, 0},
       .fixed_time = true,
       .type =
           [](const troupe::OpSignature&) {
             return troupe::TensorType{troupe::DType::f64, troupe::Shape{1}};
           },
       .work = [](const troupe::OpSignature&, const troupe::TensorType&) { return troupe::Work{}; },
       .cpu =
           [](const troupe::CpuCall& call) {
             while (!std::filesystem::exists("open")) {
               std::this_thread::sleep_for(std::chrono::milliseconds(5));
             }
             *call.output.as<double>() = 1;
           }});
}
