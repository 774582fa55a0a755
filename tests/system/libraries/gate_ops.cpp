// A library with an op that makes a file "waiting" in the folder of its process, and waits until
// there is one "open".
#include "core/ops/op_library.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

TROUPE_OPS(registry) {
  registry.add(
      {.name = "gate",
       .summary = "waits for the file",
       .inputs = {0, 1},
       .fixed_time = true,
       .type =
           [](const troupe::OpSignature&) {
             return troupe::TensorType{troupe::DType::f64, troupe::Shape{1}};
           },
       .work = [](const troupe::OpSignature&, const troupe::TensorType&) { return troupe::Work{}; },
       .cpu =
           [](const troupe::CpuCall& call) {
             std::ofstream("waiting").put('w');
             while (!std::filesystem::exists("open")) {
               std::this_thread::sleep_for(std::chrono::milliseconds(5));
             }
             *call.output.as<double>() = 1;
           }});
}
