// Tensors of a session from files of other programs, and to such files.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

using namespace troupe;
using namespace troupe::testing;

namespace {

const std::vector<double> saved_values{1, 2, 3, 4, 5, 6};

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

constexpr std::int64_t large_elements = std::int64_t{1} << 38;

struct SessionFiles {
  // A file of so many float32, 1 TiB, that takes no room on the disk.
  std::filesystem::path write_large() const {
    const std::string header = npy_of("<f4", "(" + std::to_string(large_elements) + ",)");
    directory.write("large.npy", header);
    std::filesystem::resize_file(directory.path() / "large.npy",
                                 header.size() + large_elements * 4);
    return directory.path() / "large.npy";
  }

  Machine machine = [] {
    Machine with_memory;
    with_memory.name = "one device";
    with_memory.memories = {{.name = "mem", .size_bytes = std::uint64_t{1} << 20}};
    with_memory.devices = {{.name = "cpu", .memory = MemoryId{0}}};
    return with_memory;
  }();
  Session session{machine};
  Tensor x = session.tensor(saved_values, {2, 3});
  TemporaryDirectory directory;
  std::filesystem::path npy = directory.path() / "x.npy";
  std::filesystem::path safetensors = directory.path() / "x.safetensors";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(session_files, SessionFiles)

BOOST_AUTO_TEST_CASE(a_file_larger_than_the_memory_of_the_host_is_refused) {
  const std::filesystem::path large = write_large();
  machine.memories[0].size_bytes = std::uint64_t{1} << 50;
  Session unlimited(machine);
  expect_error(ErrorKind::usage, "takes 1 TiB, and ", [&] { unlimited.load(large); });
}

BOOST_AUTO_TEST_CASE(a_simulation_reads_only_the_header_of_a_file) {
  const std::filesystem::path large = write_large();
  machine.memories[0].size_bytes = std::uint64_t{4} << 40;
  machine.devices[0].flops = 1e12;
  machine.devices[0].bandwidth = 1e11;
  Session simulated(machine, {.mode = Mode::simulate});
  const Tensor y = simulated.load(large) + 1;
  y.wait();
  BOOST_TEST((y.type() == TensorType{DType::f32, Shape{large_elements}}));
}

BOOST_AUTO_TEST_CASE(a_tensor_that_was_loaded_keeps_no_file_open) {
  x.save(npy);
  const std::size_t before = open_files();
  std::vector<Tensor> loaded;
  for (int i = 0; i < 20; ++i) loaded.push_back(session.load(npy));
  BOOST_TEST(open_files() == before);
  for (const Tensor& y : loaded) {
    BOOST_TEST(y.read<double>() == saved_values, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_that_was_saved_is_loaded_with_its_type_and_values) {
  x.save(npy);
  x.save(safetensors, "x");
  for (const Tensor& loaded : {session.load(npy), session.load(safetensors, "x")}) {
    BOOST_TEST((loaded.type() == x.type()));
    BOOST_TEST(loaded.read<double>() == saved_values, boost::test_tools::per_element());
  }
}

// To open a pipe that nobody reads would block for ever.
BOOST_AUTO_TEST_CASE(a_tensor_is_not_saved_where_something_is_that_is_no_file) {
  BOOST_REQUIRE(mkfifo(npy.c_str(), 0600) == 0);
  expect_error(ErrorKind::usage, "it is no regular file", [&] { x.save(npy); });
}

BOOST_AUTO_TEST_CASE(tensors_that_were_saved_together_are_loaded_by_name) {
  const Tensor y = session.tensor(std::vector<std::int64_t>{5, 6}, {2});
  session.save(safetensors, {{"x", x}, {"a \"y\"", y}});
  BOOST_TEST(session.load(safetensors, "x").read<double>() == saved_values,
             boost::test_tools::per_element());
  BOOST_TEST((session.load(safetensors, "a \"y\"").read<std::int64_t>() ==
              std::vector<std::int64_t>{5, 6}));
}

BOOST_AUTO_TEST_CASE(tensors_that_cannot_be_saved_together_leave_the_file_as_it_is) {
  x.save(safetensors, "x");
  Session other(machine);
  const Tensor foreign = other.zeros({2});
  expect_error(ErrorKind::usage, "no names", [&] { session.save(npy, {{"x", x}}); });
  expect_error(ErrorKind::usage, "'y' belongs to another session", [&] {
    session.save(safetensors, {{"x", x}, {"y", foreign}});
  });
  expect_error(ErrorKind::usage, "handle is empty", [&] {
    session.save(safetensors, {{"x", x}, {"y", {}}});
  });
  expect_error(ErrorKind::usage, "must have a name", [&] { session.save(safetensors, {{"", x}}); });
  expect_error(ErrorKind::usage, "__metadata__", [&] {
    session.save(safetensors, {{"__metadata__", x}});
  });
  BOOST_TEST(session.load(safetensors, "x").read<double>() == saved_values,
             boost::test_tools::per_element());
  BOOST_TEST(directory.entries() == 1U);
}

BOOST_AUTO_TEST_CASE(a_name_belongs_to_a_tensor_in_a_safetensors_file_and_to_no_other) {
  expect_error(ErrorKind::usage, "x.npy", [&] { x.save(npy, "x"); });
  expect_error(ErrorKind::usage, "must have a name", [&] { x.save(safetensors); });
  x.save(npy);
  expect_error(ErrorKind::usage, "x.npy", [&] { session.load(npy, "x"); });
}

BOOST_AUTO_TEST_CASE(a_file_that_was_cut_short_is_refused) {
  x.save(npy);
  std::filesystem::resize_file(npy, std::filesystem::file_size(npy) - 1);
  expect_error(ErrorKind::usage, "cut short", [&] { session.load(npy); });
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_larger_than_the_memory_is_refused_before_it_is_read) {
  x.save(npy);
  machine.memories[0].size_bytes = 47;
  Session small(machine);
  expect_error(ErrorKind::usage, "has 48 B, memory 'mem' 47 B", [&] { small.load(npy); });
}

BOOST_AUTO_TEST_CASE(an_error_of_a_file_names_the_line_that_calls) {
  const auto names_line = [](int line, const std::string& file, const std::function<void()>& use) {
    const std::string place = "session_files_test.cpp:" + std::to_string(line);
    try {
      use();
      BOOST_ERROR("nothing was thrown");
    } catch (const Error& error) {
      const std::string what = error.what();
      BOOST_TEST(what.find(place) != std::string::npos, "no " << place << " in: " << what);
      BOOST_TEST(what.find(file) != std::string::npos, "no " << file << " in: " << what);
    }
  };
  names_line(__LINE__, "", [&] { session.save(safetensors, {{"", x}}); });
  names_line(__LINE__, "", [&] { session.save(safetensors, {{"__metadata__", x}}); });
  names_line(__LINE__, "", [&] { session.save(safetensors, {{"\xff", x}}); });
  names_line(__LINE__, "", [&] { x.save(""); });
  names_line(__LINE__, "", [&] { session.load(""); });
  names_line(__LINE__, "", [&] { Session s(""); });
  names_line(__LINE__, "x.npy: ", [&] { session.save(npy, {{"x", x}}); });
  names_line(__LINE__, "x.npy: ", [&] { x.save(npy, "x"); });
  names_line(__LINE__, "x.npy", [&] { session.load(npy); });
  names_line(__LINE__, "none.yaml", [&] { Session s(directory.path() / "none.yaml"); });
  names_line(__LINE__, "none", [&] { x.save(directory.path() / "none" / "x.npy"); });
  BOOST_TEST(directory.entries() == 0U);
}

BOOST_AUTO_TEST_CASE(a_save_that_fails_leaves_no_file) {
  expect_error(ErrorKind::usage, "none", [&] { x.save(directory.path() / "none" / "x.npy"); });
  std::filesystem::create_directory(npy);
  expect_error(ErrorKind::usage, "x.npy", [&] { x.save(npy); });
  std::filesystem::remove(npy);
  Session simulation(machine, {.mode = Mode::simulate});
  expect_error(ErrorKind::usage, "no values", [&] { simulation.zeros({2}).save(npy); });
  BOOST_TEST(directory.entries() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
