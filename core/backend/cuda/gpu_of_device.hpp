// Which GPUs the devices of a machine are: for the memory that a real run may take, and for its
// report.
#pragma once

#include "core/machine/machine.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// As found by the process that has the device: of several nodes, that of the device's node.
struct GpuOfDevice {
  DeviceId device;
  int number = 0;                // of that process's driver
  std::string name = {};         // of the model
  std::string id = {};           // the same in all processes; no other GPU has it
  std::uint64_t free_bytes = 0;  // of its memory, when the process had opened it
};

// Makes memories of GPUs no larger than what tensors can have there, so that a plan that needs more
// is refused. Memories of one GPU, also those of several processes, share what is free in
// proportion to their sizes, if it is less than these take together.
void limit_gpu_memories(Machine& machine, std::span<const GpuOfDevice> gpus);

// What the report says of the machine's GPUs, a sentence each: which devices are the same GPU, and
// which use TF32.
std::vector<std::string> gpu_notes(const Machine& machine, std::span<const GpuOfDevice> gpus);

}  // namespace troupe
