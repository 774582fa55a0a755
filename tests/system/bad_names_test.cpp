// Names that nothing has, through the program: each message says where, and what is near. A ^ marks
// where it points.
#include "tests/support/refusal.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(bad_names)

BOOST_AUTO_TEST_CASE(an_unknown_key_is_refused_with_the_nearest_known_one) {
  const auto refused = [](std::string_view text, std::string_view key, std::string_view nearest) {
    check_file_refused(text, {"no key '" + std::string(key) + "'",
                              "did you mean '" + std::string(nearest) + "'?"});
  };
  refused(with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n^scenario: {a: [x, wait]}\n"),
          "scenario", "scenarios");
  refused(with_tasks("  x: {op: uniform, shape: [2], ^dtyp: float64, on: cpu0}\n"), "dtyp",
          "dtype");
  refused(with_tasks("  x: {op: sleep, duration: 1 ms}\n",
                     "    cpu1: {kind: cpu, memory: far, ^matmull: 1 GFLOP/s}"),
          "matmull", "matmul");
  refused(with_tasks("  x: {op: sleep, duration: 1 ms}\n", "    far: {^siz: 1 MiB, size: 1 MiB}"),
          "siz", "size");
  refused(with_tasks("  x: {op: sleep, duration: 1 ms}\n",
                     "    wire: {between: [host, far], bandwidth: 1 GB/s, ^latncy: 10 us}"),
          "latncy", "latency");
  refused("machine:\n  ^device: {}\n  memories: {}\ntasks: {}\n", "device", "devices");
  refused("machine:\n  discover: {^cpu_device: 2}\ntasks: {}\n", "cpu_device", "cpu_devices");
}

BOOST_AUTO_TEST_CASE(an_unknown_op_is_refused) {
  check_file_refused(with_tasks("  x: {op: ^matmull, in: [x, x]}\n"),
                     {"'matmull'", "unknown", "did you mean 'matmul'?"});
  check_file_refused(with_tasks("  x: {pattern: ^stencil_2d, width: 2, steps: 2, kernel: spin}\n"),
                     {"'stencil_2d'", "stencil_1d"});
  check_file_refused(
      with_tasks("  x: {pattern: stencil_1d, width: 2, steps: 2, kernel: ^matmul, on: cpu0}\n"),
      {"'matmul'", "spin"});
}

BOOST_AUTO_TEST_CASE(an_unknown_device_is_refused) {
  check_file_refused(with_tasks("  x: {op: uniform, shape: [2], on: ^cpu2}\n"),
                     {"no device 'cpu2'", "did you mean 'cpu0'?"});
  check_file_refused(with_tasks("  x: {op: uniform, shape: [2], on: ^host}\n"),
                     {"'host', which is a memory", "name a device"});
  check_file_refused(with_tasks("  x: {op: uniform, shape: [2], on: [cpu0, ^accelerator]}\n"),
                     {"no device 'accelerator'", "one of: cpu0, cpu1"});
}

BOOST_AUTO_TEST_CASE(an_unknown_memory_is_refused) {
  check_file_refused(with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n"
                                "  y: {op: copy, in: x, to: ^fr}\n"),
                     {"no memory or device 'fr'", "did you mean 'far'?"});
  check_file_refused(
      with_tasks("  x: {op: sleep, duration: 1 ms}\n", "    cpu1: {kind: cpu, memory: ^vram}"),
      {"'vram', which is no memory", "one of: host, far, island"});
}

BOOST_AUTO_TEST_CASE(an_unknown_tensor_is_refused) {
  const std::string x = "  xs: {op: uniform, shape: [2], on: cpu0}\n";
  check_file_refused(with_tasks(x + "  y: {op: relu, in: ^xz, on: cpu0}\n"),
                     {"'xz', which is no tensor or task", "did you mean 'xs'?"});
  check_file_refused(with_tasks(x + "  y: {op: relu, in: ^\"xs[3]\", on: cpu0}\n"),
                     {"'xs' is a single tensor", "write 'xs'"});
  check_file_refused(with_tasks("  xs: {op: uniform, shape: [2], repeat: 3, on: cpu0}\n"
                                "  y: {op: relu, in: ^\"xs[3]\", on: cpu0}\n"),
                     {"no element 3", "0 to 2"});
}

BOOST_AUTO_TEST_CASE(an_unknown_step_of_a_scenario_is_refused) {
  const std::string x = "  run: {op: sleep, duration: 1 ms, on: cpu0}\n";
  check_file_refused(both_modes, with_tasks(x + "scenarios: {a: [^rum, wait]}\n"),
                     {"no task 'rum'", "did you mean 'run'?"});
}

BOOST_AUTO_TEST_CASE(a_list_in_place_of_a_name_is_refused_with_what_to_write) {
  const std::string x = "  x: {op: uniform, shape: [2], on: cpu0}\n";
  check_file_refused(with_tasks(x + "scenarios: {a: [^[x]]}\n"),
                     {"a step of scenario 'a' is a list", "write the name of a task, or wait"});
  check_file_refused(with_tasks(x + "  y: {op: relu, in: [^[x]], on: cpu0}\n"),
                     {"in of 'y' is a list", "write the name of a tensor or task"});
  check_file_refused(with_tasks(x + "  y: {op: relu, in: x, on: ^{cpu0: 1}}\n"),
                     {"on of 'y' is a map", "write the name of a device"});
  check_file_refused(with_tasks(x + "  y: {op: copy, in: x, to: ^[far]}\n"),
                     {"to of 'y' is a list", "write the name of a memory or a device"});
  check_file_refused(with_tasks(x + "  y: {op: ^[relu], in: x}\n"),
                     {"op of 'y' is a list", "write the name of an op"});
}

BOOST_AUTO_TEST_CASE(a_name_unlike_all_others_is_refused_with_the_list_of_them) {
  check_file_refused(with_tasks("  x: {pattern: ^foo, width: 2, steps: 2, kernel: spin}\n"),
                     {"pattern of 'x' is 'foo'", "one of: ", "dom", "fft"});
}

BOOST_AUTO_TEST_CASE(a_unit_of_bits_is_refused_with_the_quantity_in_bytes) {
  const auto wire = [](std::string_view bandwidth) {
    return with_tasks(
        "  x: {op: sleep, duration: 1 ms}\n",
        "    wire: {between: [host, far], bandwidth: ^" + std::string(bandwidth) + "}");
  };
  for (const char* bandwidth : {"10 Gb/s", "10 Gbps", "10 gbit/s"}) {
    check_file_refused(wire(bandwidth), {"bandwidth of link 'wire'", bandwidth, "stands for bits",
                                         "write \"1.25 GB/s\"", "\"10 GB/s\" if bytes are meant"});
  }
  check_file_refused(with_tasks("  x: {op: sleep, duration: 1 ms}\n", "    far: {size: ^4 mb}"),
                     {"size of memory 'far'", "stands for bits", "0.5 MB", "4 MB"});
}

BOOST_AUTO_TEST_CASE(an_unknown_unit_is_refused) {
  const auto link = [](std::string_view rest) {
    return with_tasks("  x: {op: sleep, duration: 1 ms}\n",
                      "    wire: {between: [host, far], " + std::string(rest) + "}");
  };
  check_file_refused(link("bandwidth: ^1 GBps"), {"GBps", "did you mean 'GB/s'?"});
  check_file_refused(link("bandwidth: 1 GB/s, latency: ^10 usec"), {"usec", "us"});
  check_file_refused(link("bandwidth: 1 GB/s, latency: ^10"), {"10", "us"});
  check_file_refused(with_tasks("  x: {op: sleep, duration: 1 ms}\n", "    far: {size: ^1 gig}"),
                     {"gig", "GiB"});
  check_file_refused(with_tasks("  x: {op: sleep, duration: 1 ms}\n",
                                "    cpu1: {kind: cpu, memory: far, matmul: ^1 TFLOPS}"),
                     {"TFLOPS", "TFLOP/s"});
}

BOOST_AUTO_TEST_SUITE_END()
