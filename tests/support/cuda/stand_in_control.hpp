// What tests may ask of the stand-in for the CUDA libraries. StandIn::find() finds the functions,
// and finds none where the real libraries are.
//
// A test on the stand-in shows that work is ordered, memory is used and freed in time, errors are
// handled and the host doesn't wait. It doesn't show that a kernel is right on a GPU, how fast
// anything is, or what a GPU does that isn't documented. What host threads do to each other isn't
// seen: that is for ThreadSanitizer. Streams must be non-blocking.
//
// Settings, which the environment variable TROUPE_STAND_IN_NAME (in capitals) sets too:
//   seed                 of delays and orders (1)
//   delay_max_us         the longest delay of a work, in microseconds (200)
//   late_events          1: events have such delays, too, as on streams that share a queue
//   devices              how many there are, 0 to 8 (2)
//   first_device         which GPU of the host the first of them is (0): CUDA_VISIBLE_DEVICES may
//                        have hidden those before
//   memory_mib           the memory of each device (512)
//   driver_version       as cudaDriverGetVersion returns it (13000); 0: no driver
//   no_kernel_image      a bit for each GPU, 1: the first one. Launches there fail with
//                        cudaErrorNoKernelImageForDevice
//   no_peer_access       1: devices can't access each other's memory
//   peers_refused        1: they could, but it can't be enabled: cudaErrorTooManyPeers
//   out_of_memory_at     n: the n-th allocation from now on fails; 0: none
//   out_of_memory_for    so many allocations fail then, one after the other (1)
//   sticky_error_at      n: at the n-th call from now on, the current device gets a sticky error,
//                        cudaErrorIllegalAddress
//   device_lost_at       n: likewise, the device is lost: cudaErrorDevicesUnavailable
//   kernel_fault_at      n: the n-th kernel from now on gives its device a sticky error as it runs;
//                        a graph counts as one, and as none if it uses no memory
//   unreported           1: failures aren't printed: the test expects them
//   abort_at_failure     1: the first failure aborts the process
//   trace                1: every work is printed as it runs
// Counts, which may be set too:
//   calls, launches, copies, allocations, host_waits, round_trips, failures
// A host wait is a call that blocks until a device has finished work. A round trip is a read of
// device memory that a device wrote, if only a wait of the host orders the two.
//
// Races are found by allocation for kernels: a pointer to const means a read of the whole
// allocation, another pointer a write. Copies and calls of cuBLAS and cuSOLVER have exact ranges.
// Of pinned memory, a kernel uses the 4 bytes at the pointer. So tensors in device memory must be
// allocations of their own.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Returns 0, or 1 if there is no such setting or count.
int stand_in_set(const char* name, std::int64_t value);
// Returns -1 if there is no such setting or count.
std::int64_t stand_in_get(const char* name);

// Between the two, host waits and round trips are failures. Regions may be nested, and hold for all
// threads; but a thread that enqueues no work may wait, since no work waits for it.
void stand_in_begin_no_wait();
void stand_in_end_no_wait();

// Copies what has failed, a line each, to `text`, cut to `bytes` and ended by 0; forgets it, and
// returns how many failures there were. Failures that no test takes make the process exit with 97.
std::size_t stand_in_take_failures(char* text, std::size_t bytes);

// Reports streams, events, handles and memory that are there now as leaks.
void stand_in_check_leaks();

// Reports kernels that the process has registered and that have no body on the CPU.
void stand_in_check_kernels();

// Makes all devices work again, whatever has been injected.
void stand_in_restore_devices();

}  // extern "C"

namespace troupe::testing {

struct StandIn {
  decltype(&stand_in_set) set = nullptr;
  decltype(&stand_in_get) get = nullptr;
  decltype(&stand_in_begin_no_wait) begin_no_wait = nullptr;
  decltype(&stand_in_end_no_wait) end_no_wait = nullptr;
  decltype(&stand_in_take_failures) take_failures = nullptr;
  decltype(&stand_in_check_leaks) check_leaks = nullptr;
  decltype(&stand_in_check_kernels) check_kernels = nullptr;
  decltype(&stand_in_restore_devices) restore_devices = nullptr;

  // Returns null if the process has no stand-in.
  static const StandIn* find();
};

}  // namespace troupe::testing
