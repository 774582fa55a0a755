// Tests of runs on GPUs: on this host's, or on those of the stand-in for the CUDA libraries.
#pragma once

#include "core/backend/cuda/cuda_backend.hpp"
#include "core/backend/usable_gpus.hpp"
#include "core/machine/machine.hpp"
#include "tests/support/cuda/stand_in_control.hpp"

#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

inline int gpu_count() {
  static const int count = static_cast<int>(usable_gpus().gpus.size());
  return count;
}

// Preconditions for Boost.Test: a test whose precondition doesn't hold is reported as skipped.
inline boost::test_tools::assertion_result has_gpu(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(gpu_count() > 0);
  if (!result) result.message() << cuda_problem();
  return result;
}
inline boost::test_tools::assertion_result has_two_gpus(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(gpu_count() > 1);
  if (!result) result.message() << "there are fewer than two GPUs";
  return result;
}
inline boost::test_tools::assertion_result on_stand_in(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(StandIn::find() != nullptr);
  if (!result) result.message() << "only the stand-in for the CUDA libraries can do this";
  return result;
}

// Of what a test injects and counts; without the stand-in, nothing is.
class StandInFixture {
 public:
  StandInFixture() {
    set("unreported", 1);
    failures();
  }
  // Checks that the stand-in has found no fault that the test hasn't taken, and that all that the
  // test made on GPUs is gone.
  ~StandInFixture() {
    set("seed", 1);
    set("delay_max_us", 200);
    for (const char* const injection :
         {"out_of_memory_at", "sticky_error_at", "device_lost_at", "kernel_fault_at",
          "no_kernel_image", "no_peer_access", "peers_refused", "late_events"}) {
      set(injection, 0);
    }
    if (stand_in_ != nullptr) {
      stand_in_->restore_devices();
      stand_in_->check_leaks();
    }
    BOOST_TEST(failures() == "");
  }
  StandInFixture(const StandInFixture&) = delete;
  StandInFixture& operator=(const StandInFixture&) = delete;

  const StandIn* stand_in() const { return stand_in_; }
  void set(const char* name, std::int64_t value) const {
    if (stand_in_ != nullptr) stand_in_->set(name, value);
  }
  std::int64_t get(const char* name) const {
    return stand_in_ != nullptr ? stand_in_->get(name) : 0;
  }
  // What was found since the last call, a line each.
  std::string failures() const {
    if (stand_in_ == nullptr) return {};
    std::string text(1 << 16U, '\0');
    stand_in_->take_failures(text.data(), text.size());
    return text.c_str();
  }

 private:
  const StandIn* const stand_in_ = StandIn::find();
};

// cpu0 with the memory host, and gpu0, … with vram0, …, each linked with host by pcie0, …, and with
// the next one by peer0, ….
inline Machine gpu_machine(int gpus, int streams = 1, int issue_depth = 0) {
  Machine m{.name = "gpus", .devices = {}, .memories = {}, .links = {}};
  m.memories = {{.name = "host", .size_bytes = std::uint64_t{1} << 30}};
  m.devices = {{.name = "cpu0", .memory = MemoryId{0}, .flops = 1e10}};
  for (int g = 0; g < gpus; ++g) {
    const std::string number = std::to_string(g);
    const auto vram = MemoryId::at(m.memories.size());
    m.memories.push_back({.name = "vram" + number, .size_bytes = 64 << 20});
    m.devices.push_back({.name = "gpu" + number,
                         .kind = DeviceKind::gpu,
                         .memory = vram,
                         .streams = streams,
                         .issue_depth = issue_depth,
                         .flops = 1e11});
    m.links.push_back(
        {.name = "pcie" + number, .a = MemoryId{0}, .b = vram, .bandwidth = {1e10, 1e10}});
    if (g > 0) {
      m.links.push_back({.name = "peer" + std::to_string(g - 1),
                         .a = MemoryId{vram.value - 1},
                         .b = vram,
                         .bandwidth = {1e10, 1e10}});
    }
  }
  return m;
}

}  // namespace troupe::testing
