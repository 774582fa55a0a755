// Bad input of sessions: each error says what is wrong, in which line of the program, and what to
// do.
#include "tests/support/contains.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/unit/actors/session_fixture.hpp"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

using namespace troupe;
using testing::check_error;

BOOST_AUTO_TEST_SUITE(session_errors)
namespace {

// Calls a function at the end of its scope, also if that is left by an exception.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> what) : what_(std::move(what)) {}
  AtEnd(const AtEnd&) = delete;
  ~AtEnd() { what_(); }

 private:
  const std::function<void()> what_;
};

const std::string this_file = "session_errors_test.cpp";
const Shape square{2, 2};

// What `work` writes to standard error.
std::string logged_by(const std::function<void()>& work) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path() / "log";
  std::fflush(stderr);
  const int terminal = dup(STDERR_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  BOOST_REQUIRE(terminal >= 0);
  BOOST_REQUIRE(file >= 0);
  dup2(file, STDERR_FILENO);
  work();
  std::fflush(stderr);
  dup2(terminal, STDERR_FILENO);
  close(file);
  close(terminal);
  std::ifstream log(path);
  return {std::istreambuf_iterator<char>(log), {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_session_that_has_failed_ends_also_where_nothing_can_be_written) {
  std::fflush(stderr);
  const int terminal = dup(STDERR_FILENO);
  const int full = open("/dev/full", O_WRONLY);
  dup2(full, STDERR_FILENO);
  {
    Session s(testing::session_machine());
    const Tensor x = s.zeros(square);
    s.call("fail", {&x, 1});
  }
  dup2(terminal, STDERR_FILENO);
  std::clearerr(stderr);
  close(full);
  close(terminal);
  BOOST_TEST(true);  // the program is still there
}

BOOST_AUTO_TEST_CASE(reading_a_tensor_of_a_failed_op_throws_what_has_failed_and_where) {
  Session s(testing::session_machine());
  const Tensor x = s.zeros(square);
  const int line = __LINE__ + 1;
  const Tensor y = s.call("fail", {&x, 1});
  check_error([&] { y.read<double>(); }, {"'fail[", " on cpu"}, this_file, line);
}

BOOST_AUTO_TEST_CASE(a_session_that_has_failed_throws_its_first_error_at_every_call_and_wait) {
  Session s(testing::session_machine());
  const Tensor x = s.zeros(square);
  x.wait();
  const int line = __LINE__ + 1;
  s.call("fail", {&x, 1});
  BOOST_CHECK_THROW(s.wait_all(), Error);
  for (const std::function<void()>& use : std::vector<std::function<void()>>{
           [&] { s.zeros(square); }, [&] { x + x; }, [&] { x.to("mem1"); }, [&] { x.wait(); },
           [&] { x.read<float>(); }, [&] { s.wait_all(); }, [&] { s.wait("cpu0"); },
           [&] { s.measure("nothing", [] {}); }}) {
    check_error(use, {"'fail["}, this_file, line);
  }
}

BOOST_AUTO_TEST_CASE(
    a_call_after_the_session_has_failed_says_that_it_has_ended_and_before_which_line) {
  Session s(testing::session_machine());
  const Tensor x = s.zeros(square);
  const int line = __LINE__ + 1;
  s.call("fail", {&x, 1});
  try {
    s.wait_all();
    BOOST_ERROR("nothing was thrown");
  } catch (const Error& first) {
    BOOST_TEST(!testing::contains(first.what(), "has ended"), first.what());
  }
  const int later = __LINE__ + 1;
  check_error([&] { x + x; },
              {"the session has ended with this error, before ",
               "session_errors_test.cpp:" + std::to_string(later), "make another one"},
              this_file, line);
}

BOOST_AUTO_TEST_CASE(a_machine_file_that_is_not_there_or_no_machine_file_is_named) {
  const testing::TemporaryDirectory directory;
  check_error([&] { Session s(directory.path() / "none.yaml"); }, {"none.yaml"});
  directory.write("bad.yaml", "devices: 3\n");
  check_error([&] { Session s(directory.path() / "bad.yaml"); }, {"bad.yaml:1:"});
}

// It would work in the clear.
BOOST_AUTO_TEST_CASE(a_session_with_a_part_of_what_tls_needs_is_refused) {
  const std::vector<std::string> nodes{"127.0.0.1:1"};
  check_error([&] { Session s({.node_addresses = nodes, .tls = {.authority = "ca.pem"}}); },
              {"TLS needs a certificate, its key, and", "give all three"});
  check_error(
      [&] { Session s({.node_addresses = nodes, .tls = {.certificate = "a", .key = "b"}}); },
      {"TLS needs a certificate, its key, and", "give all three"});
}

BOOST_AUTO_TEST_CASE(options_for_nodes_are_refused_without_nodes) {
  int line = __LINE__ + 1;
  check_error([] { Session s({.tls = {.certificate = "a", .key = "b", .authority = "c"}}); },
              {"the session has `tls`, and no nodes", "node_addresses"}, this_file, line);
  line = __LINE__ + 1;
  check_error([] { Session s({.node_gpus = true}); },
              {"the session has `node_gpus`, and no nodes", "node_addresses"}, this_file, line);
}

BOOST_AUTO_TEST_CASE(a_machine_that_can_not_be_used_is_refused_in_the_line_that_gives_it) {
  const int line = __LINE__ + 1;
  check_error([] { Session s(Machine{}); }, {"device"}, this_file, line);
}

BOOST_AUTO_TEST_CASE(an_error_that_nobody_has_waited_for_is_logged_when_the_session_ends) {
  const std::string logged = logged_by([] {
    Session s(testing::session_machine());
    s.call("fail", {});
  });
  BOOST_TEST(logged.find("'fail[") != std::string::npos, "logged: " << logged);
}

BOOST_AUTO_TEST_CASE(what_is_measured_must_not_measure) {
  Session s(testing::session_machine());
  const int line = __LINE__ + 1;
  const auto within = [&] { s.measure("inner", [] {}); };
  check_error([&] { s.measure("outer", within); }, {"measure() is called by what is measured"},
              this_file, line);
  s.measure("outer", [&] { s.zeros(square); });
  BOOST_TEST(s.report().scenarios.size() == 1U);
}

BOOST_AUTO_TEST_CASE(one_thread_at_a_time_measures_and_it_measures_something) {
  Session s(testing::session_machine());
  int line = __LINE__ + 1;
  check_error([&] { s.measure("nothing", nullptr); }, {"nothing to measure"}, this_file, line);
  line = __LINE__ + 2;
  const auto on_another_thread = [&] {
    std::async(std::launch::async, [&] { s.measure("inner", [] {}); }).get();
  };
  check_error([&] { s.measure("outer", on_another_thread); },
              {"another thread measures in this session"}, this_file, line);
}

// What isn't measured takes no time, and needs no rate.
BOOST_AUTO_TEST_CASE(the_clock_starts_though_other_threads_never_stop_calling) {
  Session s(testing::session_machine());
  std::atomic<bool> is_over = false;
  const auto calls = std::async(std::launch::async, [&] {
    const Tensor x = s.zeros(square);
    while (!is_over) matmul(x, x);
  });
  {
    const AtEnd end([&] { is_over = true; });
    for (int i = 0; i < 5; ++i) s.measure("measured", [&] { s.zeros(square); });
  }
  calls.wait();
  s.wait_all();
  BOOST_TEST(s.report().scenarios.size() == 5U);
}

// So many that the session forgets what calls look like, for which callers wait as well.
BOOST_AUTO_TEST_CASE(one_thread_measures_while_others_make_calls_that_all_differ) {
  Session s(testing::session_machine());
  constexpr int many = 100'000;
  std::atomic<int> number = 0;
  const auto call_many = [&] {
    while (number < many) s.constant({2}, number++, DType::f64);
  };
  const auto one = std::async(std::launch::async, call_many);
  const auto other = std::async(std::launch::async, call_many);
  std::size_t measured = 0;
  {
    const AtEnd end([&] { number = many; });
    for (; number < many; ++measured) s.measure("measured", [&] { s.zeros(square); });
  }
  BOOST_TEST(s.report().scenarios.size() == measured);
}

BOOST_AUTO_TEST_CASE(the_report_may_be_read_while_another_thread_measures) {
  Session s(testing::session_machine());
  std::atomic<bool> is_over = false;
  const auto reader = std::async(std::launch::async, [&] {
    std::size_t read = 0;
    while (!is_over) {
      const Report report = s.report();
      for (const ScenarioReport& scenario : report.scenarios) read += scenario.name.size();
    }
    return read;
  });
  for (int i = 0; i < 50; ++i)
    s.measure("a name that takes memory of its own", [&] { s.zeros(square); });
  is_over = true;
  reader.wait();
  BOOST_TEST(s.report().scenarios.size() == 50U);
}

BOOST_AUTO_TEST_CASE(what_throws_while_it_is_measured_leaves_no_measurement) {
  Machine machine = testing::session_machine();
  for (Device& device : machine.devices) {
    device.flops = {};
    device.op_flops["add"] = 1e9;
  }
  Session s(machine, {.mode = Mode::simulate});
  const Tensor x = s.zeros(square);
  for (const int rounds : {1, 2}) {
    int round = 0;
    const auto work = [&] {
      x + x;
      if (++round == rounds) throw std::runtime_error("enough");
    };
    BOOST_CHECK_THROW(s.measure("thrown", work), std::runtime_error);
    exp(x).wait();
    BOOST_TEST(s.measure("sum", [&] { x + x; }).ops == 1U);
  }
  BOOST_TEST(s.report().scenarios.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_machine_that_makes_no_sense_is_refused) {
  const auto refused = [](const char* message, const std::function<void(Machine&)>& spoil) {
    for (const Mode mode : {Mode::run, Mode::simulate}) {
      Machine machine = testing::session_machine();
      spoil(machine);
      testing::expect_error(ErrorKind::usage, message, [&] { Session(machine, {.mode = mode}); });
    }
  };
  refused("has no device", [](Machine& m) { m.devices.clear(); });
  refused("a memory that is not there", [](Machine& m) { m.devices[0].memory = MemoryId{7}; });
  refused("a memory that is not there", [](Machine& m) { m.devices[0].memory = {}; });
  refused("there are two devices 'cpu0'", [](Machine& m) { m.devices[1].name = "cpu0"; });
  refused("a memory has no name", [](Machine& m) { m.memories[0].name = ""; });
  refused("there are two memories 'mem0'", [](Machine& m) { m.memories[1].name = "mem0"; });
  refused("has 0 streams; give it 1 to 1024", [](Machine& m) { m.devices[0].streams = 0; });
  refused("has 1025 streams", [](Machine& m) { m.devices[0].streams = 1025; });
  refused("'copy' belongs to a node that is not there",
          [](Machine& m) { m.links[0].node = NodeId{3}; });
  refused("the rate of 'cpu0' is -1", [](Machine& m) { m.devices[0].flops = -1; });
  refused("the rate of add of 'cpu0' is 0", [](Machine& m) { m.devices[0].op_flops["add"] = 0; });
  refused(
      "'cpu0' has a rate for 'matmull', which is no op kind of the session; did you mean 'matmul'",
      [](Machine& m) { m.devices[0].op_flops["matmull"] = 1e9; });
  refused("the launch time of 'cpu0' is -1e-09 s",
          [](Machine& m) { m.devices[0].launch = Duration{-1}; });
  refused("has an issue depth of -5", [](Machine& m) { m.devices[0].issue_depth = -5; });
  refused("the bandwidth backward of 'copy' is nan",
          [](Machine& m) { m.links[0].bandwidth[1] = std::nan(""); });
  refused("the latency of 'copy' is -1e-09 s",
          [](Machine& m) { m.links[0].latency = Duration{-1}; });
  refused("doesn't join two memories",
          [](Machine& m) { m.links = {{.name = "l", .a = MemoryId{0}, .b = MemoryId{9}}}; });
  refused("has chunks of 0 bytes", [](Machine& m) {
    m.links = {{.name = "l", .a = MemoryId{0}, .b = MemoryId{1}, .chunk_bytes = 0}};
  });
}

BOOST_AUTO_TEST_CASE(inputs_of_another_session_are_refused) {
  Session a(testing::session_machine());
  Session b(testing::session_machine());
  const Tensor x = a.zeros(square);
  const Tensor y = b.zeros(square);
  const int line = __LINE__ + 1;
  check_error([&] { x + y; }, {"another session"}, this_file, line);
}

BOOST_AUTO_TEST_CASE(a_handle_of_a_session_that_has_ended_is_refused) {
  const testing::TemporaryDirectory directory;
  Session living(testing::session_machine());
  const Tensor other = living.zeros(square);
  for (const Mode mode : {Mode::run, Mode::simulate}) {
    Tensor y;
    {
      Session s(testing::session_machine(), {.mode = mode});
      y = s.zeros(square);
    }
    const std::vector<std::string> ended{"the session of this tensor has ended", "keep the"};
    const int line = __LINE__ + 1;
    check_error([&] { y.read<float>(); }, ended, this_file, line);
    check_error([&] { y.wait(); }, ended, this_file, line + 1);
    check_error([&] { y.to("mem1"); }, ended, this_file, line + 2);
    check_error([&] { y + y; }, ended, this_file, line + 3);
    check_error([&] { y + other; }, ended, this_file, line + 4);
    check_error([&] { other + y; }, {"another session"}, this_file, line + 5);
    check_error([&] { y.save(directory.path() / "y.npy"); }, ended, this_file, line + 6);
    BOOST_TEST((y.shape() == square));
  }
  BOOST_TEST(directory.entries() == 0U);
  BOOST_TEST(other.read<float>().size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_tensor_from_before_a_measurement_is_called_a_given_one) {
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "given", .type = [](const OpSignature&) { return TensorType{}; }});
  Machine machine = testing::session_machine();
  machine.links.clear();
  Session s(machine, {.mode = Mode::simulate, .ops = ops});
  Tensor x;
  {
    const DeviceScope on = s.on("cpu0");
    x = s.zeros(square);
  }
  s.measure("nothing", [&] { x + x; });
  const DeviceScope on = s.on("cpu1");
  const int line = __LINE__ + 1;
  const Tensor y = x + x;
  check_error([&] { y.wait(); }, {"'given tensor[0]' in mem1", "no route"}, this_file, line);
}

BOOST_AUTO_TEST_CASE(an_empty_handle_is_refused) {
  Session s(testing::session_machine());
  const Tensor x = s.zeros(square);
  const Tensor none;
  const int line = __LINE__ + 1;
  check_error([&] { none + x; }, {"empty", "assign"}, this_file, line);
  check_error([&] { x + none; }, {"empty", "assign"}, this_file, line + 1);
  check_error([&] { none.to("mem1"); }, {"empty", "assign"}, this_file, line + 2);
  check_error([&] { none.read<float>(); }, {"empty", "assign"}, this_file, line + 3);
  check_error([&] { none.wait(); }, {"empty", "assign"}, this_file, line + 4);
}

BOOST_AUTO_TEST_CASE(shapes_and_types_that_do_not_match_are_both_named) {
  Session s(testing::session_machine());
  const Tensor a = s.zeros({2, 3});
  const Tensor b = s.zeros({4, 3});
  const Tensor c = s.zeros({2, 3}, DType::f64);
  const int line = __LINE__ + 1;
  check_error([&] { matmul(a, b); }, {"[2, 3]", "[4, 3]"}, this_file, line);
  check_error([&] { a + c; }, {"float32", "float64"}, this_file, line + 1);
  check_error([&] { a.read<double>(); }, {"float32", "float64"}, this_file, line + 2);
  s.wait_all();  // the session has not failed
}

BOOST_AUTO_TEST_CASE(a_number_that_is_no_element_type_is_refused) {
  Session s(testing::session_machine());
  const Tensor x = s.zeros(square);
  const int line = __LINE__ + 1;
  check_error([&] { s.zeros(square, DType(7)); }, {"DType(7)", "one of: float32"}, this_file, line);
  check_error([&] { cast(x, DType(7)); }, {"one of: float32"}, this_file, line + 1);
}

BOOST_AUTO_TEST_CASE(a_shape_that_cannot_be_is_refused_with_the_line_of_the_call) {
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "empty_shape", .type = [](const OpSignature&) {
             return TensorType{DType::f32, {0}};
           }});
  Session s(testing::session_machine(), {.ops = ops});
  const int line = __LINE__ + 1;
  check_error([&] { s.zeros({2, 0}); }, {"[2, 0]", "at least 1"}, this_file, line);
  check_error([&] { s.call("empty_shape", {}); }, {"[0]", "at least 1"}, this_file, line + 1);
}

BOOST_AUTO_TEST_CASE(a_device_memory_or_op_kind_that_is_not_there_is_refused_with_those_there_are) {
  Session s(testing::session_machine());
  const Tensor x = s.zeros(square);
  const int line = __LINE__ + 1;
  check_error([&] { x.to("disk"); }, {"'disk'", "mem0, mem1"}, this_file, line);
  check_error([&] { s.call("matmull", {x, x}); }, {"'matmull'", "matmul"}, this_file, line + 1);
  const auto place = [&] { const DeviceScope on = s.on("gpu0"); };
  check_error(place, {"'gpu0'", "cpu0, cpu1"}, this_file, line + 2);
}

BOOST_AUTO_TEST_CASE(no_tensor_can_be_copied_to_what_joins_nodes) {
  Machine machine = testing::session_machine();
  machine.memories.push_back({.name = "switch", .kind = MemoryKind::network, .size_bytes = 0});
  Session s(machine, {.mode = Mode::simulate});
  const Tensor x = s.zeros(square);
  try {
    x.to("switch");
    BOOST_ERROR("nothing was thrown");
  } catch (const Error& error) {
    BOOST_TEST(error.problem() == "there is no memory 'switch'");
    BOOST_TEST(error.remedy() == "the machine has mem0, mem1");
  }
}

BOOST_AUTO_TEST_CASE(an_op_that_no_device_can_compute_is_refused_with_its_line) {
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  const Tensor x = s.zeros(square);
  const int line = __LINE__ + 1;
  const auto call = [&] { s.call("nothing", {}); };
  for (int i = 0; i < 2; ++i) {
    check_error(call, {"no device has a kernel for 'nothing'"}, this_file, line);
  }
  BOOST_TEST(x.read<float>().size() == 4U);  // the session lives
}

BOOST_AUTO_TEST_CASE(a_declared_type_that_the_kind_does_not_take_is_refused) {
  Session s(testing::session_machine());
  const Tensor x = s.zeros(square);
  const int line = __LINE__ + 1;
  const auto call = [&] { s.call("relu", {&x, 1}, {}, {.shape = {3}}); };
  check_error(call, {"'relu' takes no declared type"}, this_file, line);
  BOOST_TEST(s.call("constant", {}, {{"value", 1.0}}, {.shape = {3}}).read<float>().size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_tensor_larger_than_its_memory_is_refused_at_the_call) {
  Machine machine = testing::session_machine(64 << 10);
  machine.memories[1].size_bytes = 128 << 10;
  for (const Mode mode : {Mode::run, Mode::simulate, Mode::rehearse}) {
    Session s(machine, {.mode = mode});
    Tensor x;
    {
      const DeviceScope on = s.on("cpu1");
      s.zeros({32, 1024}).wait();  // all of mem1
      x = s.zeros({24, 1024});
    }
    const auto refused = [&](int line, const std::string& memory,
                             const std::function<void()>& call) {
      check_error(call, {"memory '" + memory + "' has", "make smaller tensors"}, this_file, line);
    };
    refused(__LINE__, "mem1", [&] { s.zeros({40, 1024}); });
    refused(__LINE__, "mem0", [&] { x.to("mem0"); });
    if (mode != Mode::simulate) {
      refused(__LINE__, "mem0", [&] { s.tensor(std::vector<float>(20'000), {20'000}); });
    }
    {
      const DeviceScope on = s.on("cpu0");
      refused(__LINE__, "mem0", [&] { relu(x); });
    }
    const DeviceScope on = s.on("cpu1");
    refused(__LINE__, "mem1", [&] { s.zeros({33, 1024}); });
    if (mode != Mode::simulate) BOOST_TEST(x.read<float>().size() == 24U * 1024);
  }
}

BOOST_AUTO_TEST_CASE(a_copy_without_a_route_is_refused_with_its_line) {
  Machine machine = testing::session_machine();
  machine.links.clear();
  Session s(machine);
  const DeviceScope on = s.on("cpu0");
  const Tensor x = s.zeros(square);
  const int line = __LINE__ + 1;
  const Tensor y = x.to("mem1");
  check_error([&] { y.wait(); }, {"mem0", "mem1", "route"}, this_file, line);
}

BOOST_AUTO_TEST_SUITE_END()
