// Sessions with a GPU: data of the program, loops of ops, reading, and how much memory they take.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "core/result/verify.hpp"
#include "tests/gpu/gpu_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(gpu_sessions)
namespace {

using namespace testing;

constexpr std::int64_t n = 136;  // too large for the kernel of small products
constexpr std::size_t elements = n * n;

// Each row is that of the unit matrix, shifted by one: a product with it only moves rows.
std::vector<float> shifted() {
  std::vector<float> values(elements, 0.0F);
  for (std::int64_t row = 0; row < n; ++row) values[row * n + (row + 1) % n] = 1;
  return values;
}

std::vector<float> ascending() {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i);
  return values;
}

// Of 1.5 million elements, which are copied twice.
const std::string staged_note =
    "12 MB of pageable memory were copied to gpu0 by way of pinned memory.";

// A lower triangular matrix of which no element of a solution gets large.
std::vector<float> lower() {
  std::vector<float> values(elements, 0.0F);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t column = 0; column < row; ++column) values[row * n + column] = 0.01F;
    values[row * n + row] = 1.1F;
  }
  return values;
}

// Of tensors, 18 MiB together.
const std::vector<std::int64_t> sizes_kib = {1000, 1100, 1200, 1300, 1400, 1500,
                                             1600, 1700, 1800, 1900, 2000, 2000};

std::vector<double> to_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_chain_of_products_on_a_gpu_has_the_values_of_the_program,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  Session session(gpu_machine(1, 2));
  const auto scope = session.on("gpu0");
  const Tensor shift = session.tensor(shifted(), {n, n});
  Tensor x = session.tensor(ascending(), {n, n});
  for (std::int64_t i = 0; i < n; ++i) x = matmul(shift, x);
  BOOST_TEST(x.read<float>() == ascending());
  BOOST_TEST(x.to("host").read<float>() == ascending());
}

// Its memory isn't pinned: copies to the GPU go by way of pinned memory.
BOOST_AUTO_TEST_CASE(memory_of_the_program_is_copied_to_a_gpu,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  constexpr std::int64_t many = 1'500'000;  // more than one piece of pinned memory
  const auto values = std::make_shared<std::vector<float>>(many + 16, 0.5F);
  bool is_returned = false;
  {
    Session session(gpu_machine(1));
    const auto address = reinterpret_cast<std::uintptr_t>(values->data());
    float* const first = values->data() + (64 - address % 64) % 64 / sizeof(float);
    const Tensor lent =
        session.adopt(std::span<const float>(first, many), {many}, [&] { is_returned = true; });
    const auto scope = session.on("gpu0");
    const Tensor doubled = lent.to("vram0") + lent.to("gpu0");
    BOOST_TEST(doubled.read<float>() == std::vector<float>(many, 1.0F));
    session.measure("nothing", [] {});
    BOOST_TEST(session.report().notes == std::vector<std::string>{staged_note},
               boost::test_tools::per_element());
  }
  BOOST_TEST(is_returned);
}

// x (gpu0) → the op's result (gpu0)
BOOST_AUTO_TEST_CASE(tf32_rounds_factors_of_float32_products_and_nothing_else,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const auto result = [](bool uses_tf32, const std::string& op, DType dtype) {
    Machine machine = gpu_machine(1);
    machine.devices[1].tf32 = uses_tf32;
    Session session(machine);
    const auto scope = session.on("gpu0");
    const Tensor x = session.uniform({n, n}, 1, dtype);
    matmul(x, x);  // on the same stream, before
    const Tensor y = session.call(op, {op == "trsm" ? session.tensor(lower(), {n, n}) : x, x});
    return dtype == DType::f32 ? to_double(y.read<float>()) : y.read<double>();
  };
  for (const std::string op : {"matmul", "syrk"}) {
    const std::vector<double> rounded = result(true, op, DType::f32);
    const std::vector<double> exact = result(false, op, DType::f32);
    const double largest = *std::max_element(exact.begin(), exact.end());
    double off = 0;
    for (std::size_t i = 0; i < elements; ++i) off = std::max(off, std::abs(rounded[i] - exact[i]));
    BOOST_TEST(off > near_enough(Comparison::nearness, DType::f32) * largest);
    BOOST_TEST(off < near_enough(Comparison::nearness_tf32, DType::f32) * largest);
    BOOST_TEST(result(true, op, DType::f64) == result(false, op, DType::f64));
  }
  for (const std::string op : {"trsm", "add"}) {
    BOOST_TEST(result(true, op, DType::f32) == result(false, op, DType::f32));
  }
}

// Without bounds on what is kept, the loop would take 16 KiB an op.
BOOST_AUTO_TEST_CASE(a_long_loop_takes_no_more_memory_of_a_gpu_than_a_short_one,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  std::int64_t after_some = 0;
  Session session(gpu_machine(1));
  const auto scope = session.on("gpu0");
  Tensor x = session.zeros({64, 64});
  for (int i = 0; i < 4000; ++i) {
    x = transpose(x);
    if (i % 1000 < 999) continue;
    x.wait();
    if (i == 999) after_some = fixture.get("allocations");
  }
  x.read<float>();
  // 64 tensors issued, and those of calls that wait: the machine's memory would hold 4,096.
  BOOST_TEST(fixture.get("allocations") - after_some < 1000);
}

BOOST_AUTO_TEST_CASE(tensors_that_a_gpu_has_no_room_for_move_to_the_host_and_back,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  Machine machine = gpu_machine(1, 2);
  machine.memories[1].size_bytes = 1 << 20;  // eight of these tensors
  Session session(machine);
  const auto scope = session.on("gpu0");
  std::vector<Tensor> tensors;
  for (int i = 0; i < 30; ++i) tensors.push_back(session.uniform({32'768}, i));
  for (int round = 0; round < 3; ++round) {
    for (Tensor& x : tensors) x = x + x;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<float> expected =
        Session().uniform({32'768}, static_cast<std::int64_t>(i)).read<float>();
    for (float& value : expected) value *= 8;
    BOOST_TEST((tensors[i].read<float>() == expected));
  }
}

BOOST_AUTO_TEST_CASE(a_failure_on_a_gpu_is_thrown_with_the_line_of_its_call,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  Session session(gpu_machine(1));
  const auto scope = session.on("gpu0");
  const Tensor bad = session.call("potrf", {session.zeros({n, n})});
  BOOST_CHECK_EXCEPTION(relu(bad).read<float>(), Error, [](const Error& error) {
    const std::string what = error.what();
    return what.find("gpu_sessions_test.cpp") != std::string::npos &&
           what.find("not positive definite") != std::string::npos;
  });
}

// The GPU's actor begins when the program first calls an op there, and gets work at once.
BOOST_AUTO_TEST_CASE(a_gpu_that_can_not_begin_when_a_session_comes_to_it_fails_the_session,
                     *boost::unit_test::precondition(on_stand_in)) {
  const auto error_with = [](const char* injection, std::int64_t at) -> std::string {
    const StandInFixture fixture;
    Session session(gpu_machine(1));
    {
      const DeviceScope on = session.on("cpu0");
      session.uniform({8}).wait();
    }
    fixture.set(injection, at);
    try {
      const DeviceScope on = session.on("gpu0");
      relu(session.uniform({8})).read<float>();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string no_image = error_with("no_kernel_image", 1);
  BOOST_TEST(no_image.find("gpu0 can't begin") != std::string::npos, no_image);
  for (std::int64_t at = 1; at <= 16; ++at) {
    const std::string error = error_with("out_of_memory_at", at);
    const bool is_told = error.empty() || error.find("out of memory") != std::string::npos ||
                         error.find("has no memory") != std::string::npos;
    BOOST_TEST(is_told, "allocation " << at << ": " << error);
  }
}

// Tensors of many sizes: all that was kept of each would be more than the GPU has.
BOOST_AUTO_TEST_CASE(what_is_kept_for_one_device_makes_way_for_another_one_on_the_same_gpu,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  fixture.set("memory_mib", 448);  // 64 MiB more than two devices leave to the libraries
  Machine machine = gpu_machine(2);
  machine.devices[1].gpu = machine.devices[2].gpu = 0;
  machine.memories[1].size_bytes = machine.memories[2].size_bytes = 32 << 20;
  Session session(machine);
  for (const char* const device : {"gpu0", "gpu1", "gpu0"}) {
    const DeviceScope on = session.on(device);
    for (const std::int64_t kib : sizes_kib) session.zeros({kib, 1 << 11}).wait();
  }
}

BOOST_AUTO_TEST_CASE(tensors_of_many_sizes_take_no_more_of_a_gpu_than_its_memory_has,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  Machine machine = gpu_machine(1);
  machine.memories[1].size_bytes = 4 << 20;
  Session session(machine);
  const DeviceScope on = session.on("gpu0");
  session.zeros({1}).wait();
  const std::uint64_t before = cuda_gpus().at(0).free_bytes;
  for (const std::int64_t kib : sizes_kib) session.zeros({kib, 1 << 8}).wait();
  BOOST_TEST(before - cuda_gpus().at(0).free_bytes <= std::uint64_t{4} << 20);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
