// A machine for tests of sessions, and op kinds whose kernels tests control.
#pragma once

#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "core/base/error.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

// cpu0 with mem0, cpu1 with mem1, and a link between the two.
inline Machine session_machine(std::uint64_t memory_bytes = std::uint64_t{1} << 30) {
  Machine machine;
  machine.name = "two devices";
  machine.memories = {{.name = "mem0", .size_bytes = memory_bytes},
                      {.name = "mem1", .size_bytes = memory_bytes}};
  machine.devices = {{.name = "cpu0", .memory = MemoryId{0}, .flops = 1e9, .bandwidth = 1e10},
                     {.name = "cpu1", .memory = MemoryId{1}, .flops = 1e9, .bandwidth = 1e10}};
  machine.links = {{.name = "copy", .a = MemoryId{0}, .b = MemoryId{1}, .bandwidth = {1e9, 1e9}}};
  return machine;
}

// What the kernels below have seen, and what they wait for.
struct KernelState {
  static inline std::atomic<bool> is_gate_open = false;
  static inline std::atomic<bool> has_passed_gate = false;
  static inline std::atomic<int> counted = 0;
  static inline std::atomic<const std::byte*> input = nullptr;
};

// The built-in kinds, and: gate waits until the test opens it, or for a minute; count counts
// the ops; note_input notes where its input is; throw_this throws; nothing has no kernel.
inline OpRegistry session_ops() {
  OpRegistry ops = builtin_ops();
  const auto one = [](const OpSignature&) { return TensorType{DType::f32, Shape{1}}; };
  ops.add({.name = "gate", .type = one, .cpu = [](const CpuCall& call) {
             const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
             while (!KernelState::is_gate_open && std::chrono::steady_clock::now() < late) {
               std::this_thread::yield();
             }
             KernelState::has_passed_gate = true;
             *call.output.as<float>() = 1;
           }});
  ops.add({.name = "count", .type = one, .cpu = [](const CpuCall& call) {
             *call.output.as<float>() = static_cast<float>(++KernelState::counted);
           }});
  ops.add({.name = "note_input", .inputs = 1, .type = one, .cpu = [](const CpuCall& call) {
             KernelState::input = call.inputs[0].data;
             *call.output.as<float>() = 1;
           }});
  ops.add({.name = "throw_this", .type = one, .cpu = [](const CpuCall&) {
             throw std::runtime_error("the kernel has no paper");
           }});
  ops.add({.name = "nothing", .type = one});
  return ops;
}

// Checks that `call` throws an Error whose text has all of these words, and the line of this file.
inline void check_error(const std::function<void()>& call, const std::vector<std::string>& words,
                        const std::string& file = "", int line = 0) {
  try {
    call();
    BOOST_ERROR("no error");
  } catch (const Error& error) {
    const std::string what = error.what();
    for (const std::string& word : words) {
      BOOST_TEST(what.find(word) != std::string::npos, "no '" << word << "' in: " << what);
    }
    if (line == 0) return;
    const std::string place = file + ":" + std::to_string(line) + ":";
    BOOST_TEST(what.find(place) != std::string::npos, "no '" << place << "' in: " << what);
  }
}

}  // namespace troupe::testing
