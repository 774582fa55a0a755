// The backend for NVIDIA's GPUs, as the registry lists it. What it does is in a module that is
// loaded when a real run has a GPU.
#pragma once

#include "core/backend/backend.hpp"
#include "core/backend/cuda/cuda_module.hpp"
#include "core/backend/cuda/gpu_of_device.hpp"
#include "core/memory/memory_space.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe {

// Fits GPUs. The GPUs of a node take those of its host in their order, unless they name one
// (Device::gpu); two of them may name the same. The module is loaded and GPUs are opened for the
// devices of this process only.
DeviceBackendEntry cuda_device_backend();
// Fits links between a GPU's memory and one of this host or of another GPU.
LinkBackendEntry cuda_link_backend();

// The space of a memory in a real run if it is a GPU's, or a memory of the host that is linked to
// one; else null. A usage Error if that GPU can't be used.
std::unique_ptr<MemorySpace> make_cuda_space(const Machine& machine, MemoryId memory);

// The GPUs that devices of the machine are, as far as this process can use them; given `self`, for
// devices of this node only. For real runs. Opens the GPUs.
std::vector<GpuOfDevice> gpus_of_devices(const Machine& machine, NodeId self = {});
// The same. Throws a usage Error (with the device's place) if one of them can't be used.
std::vector<GpuOfDevice> demand_gpus_of_devices(const Machine& machine, NodeId self = {});

// How many GPUs the driver has, whether or not they can be used. Opens none.
int cuda_gpu_count();
// The GPUs that the driver has, those that can't be used included; none: cuda_problem() says why.
// Opens all of them.
std::vector<CudaGpu> cuda_gpus();
// "GPU 0, NVIDIA H200"
std::string name_of(const CudaGpu& gpu);
// What devices that are this GPU have issued to it since this process began, and how long that has
// kept their threads.
CudaIssued cuda_issued(const CudaGpu& gpu);
// Whether each of two GPUs of cuda_gpus() can access the memory of the other.
bool cuda_are_peers(const CudaGpu& a, const CudaGpu& b);
// Why this process can't use a GPU, and what to do; empty if it can. Blocks while the driver
// starts.
std::string cuda_problem();

}  // namespace troupe
