#include "core/files/data_file.hpp"

#include "core/base/random.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(data_file)
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::uint64_t count, std::uint64_t seed) {
  Random random(seed);
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
  return bytes;
}

// Each element type with each rank: 36 types.
std::vector<NamedType> all_types() {
  std::vector<NamedType> types;
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    std::vector<std::int64_t> extents;
    for (std::size_t rank = 0; rank <= Shape::max_rank; ++rank) {
      types.push_back({std::to_string(types.size()), {dtype, Shape(extents)}});
      extents.push_back(static_cast<std::int64_t>(rank % 3 + 1));
    }
  }
  return types;
}

// Read, and where they are in the mapped file.
void check_equal(const FileTensor& tensor, const TensorType& type, const Bytes& values) {
  BOOST_TEST(to_string(tensor.type) == to_string(type));
  BOOST_TEST((values_of(tensor) == values));
  const std::shared_ptr<const std::byte> existing = tensor.values->existing();
  if (existing == nullptr) return;
  tensor.values->read(0, {const_cast<std::byte*>(existing.get()), values.size()});
  BOOST_TEST(std::ranges::equal(std::span(existing.get(), values.size()), values));
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_element_type_and_rank_comes_back_from_a_npy_file) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "x.npy";
  for (const NamedType& tensor : all_types()) {
    const Bytes values = random_bytes(tensor.type.bytes(), 1);
    save_tensors(path, {&tensor, 1}, [&](std::size_t) { return std::span(values); });
    check_equal(open_tensor(path), tensor.type, values);
  }
  BOOST_TEST(directory.entries() == 1U);
}

void write_named(const std::filesystem::path& path, const std::string& name) {
  const Bytes values = random_bytes(16, 1);
  const NamedType tensor{name, {DType::f32, {4}}};
  save_tensors(path, {&tensor, 1}, [&](std::size_t) { return std::span(values); });
}

std::chrono::nanoseconds after(std::chrono::nanoseconds time) {
  return std::chrono::system_clock::now().time_since_epoch() + time;
}

BOOST_AUTO_TEST_CASE(the_header_of_a_file_is_read_again_if_it_was_changed) {
  using namespace std::chrono_literals;
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "x.safetensors";
  LastHeader last;
  write_named(path, "before");
  const auto time = std::filesystem::last_write_time(path);
  const auto header = last.of(InputFile(path), after(10s));
  BOOST_TEST(last.of(InputFile(path)) == header);
  open_tensor(path, "before", &last);

  write_named(path, "beyond");  // another file, of the same length and time
  std::filesystem::last_write_time(path, time);
  open_tensor(path, "beyond", &last);
  const auto beyond = last.of(InputFile(path), after(10s));
  BOOST_TEST(beyond != header);
  BOOST_TEST(last.of(InputFile(path)) == beyond);

  std::this_thread::sleep_for(20ms);        // file systems may count time in steps of 4 ms
  const std::string same = bytes_of(path);  // the same file, written to
  std::ofstream(path, std::ios::binary) << same;
  std::filesystem::last_write_time(path, time);
  BOOST_TEST(last.of(InputFile(path)) != beyond);
}

// It might be written to again, and the clock say the same time.
BOOST_AUTO_TEST_CASE(the_header_of_a_file_that_was_written_just_now_is_not_kept) {
  using namespace std::chrono_literals;
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "x.safetensors";
  write_named(path, "x");
  const std::chrono::nanoseconds now = InputFile(path).version().changed;
  LastHeader last;
  const auto header = last.of(InputFile(path), now + 500ms);
  BOOST_TEST(header != nullptr);
  BOOST_TEST(last.of(InputFile(path), now + 500ms) != header);
}

BOOST_AUTO_TEST_CASE(every_element_type_and_rank_comes_back_from_one_safetensors_file) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "x.safetensors";
  const std::vector<NamedType> tensors = all_types();
  Bytes values;
  save_tensors(path, tensors, [&](std::size_t i) {
    values = random_bytes(tensors[i].type.bytes(), i);
    return std::span<const std::byte>(values);
  });
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    check_equal(open_tensor(path, tensors[i].name), tensors[i].type,
                random_bytes(tensors[i].type.bytes(), i));
  }
  BOOST_TEST(directory.entries() == 1U);
}

BOOST_AUTO_TEST_CASE(values_larger_than_any_buffer_come_back) {
  const TemporaryDirectory directory;
  const NamedType tensor{"x", {DType::f32, Shape{3, 1'000'000}}};
  const Bytes values = random_bytes(tensor.type.bytes(), 5);
  for (const char* name : {"x.npy", "x.safetensors"}) {
    const std::filesystem::path path = directory.path() / name;
    save_tensors(path, {&tensor, 1}, [&](std::size_t) { return std::span(values); });
    check_equal(open_tensor(path, path.extension() == ".npy" ? "" : "x"), tensor.type, values);
  }
}

BOOST_AUTO_TEST_CASE(the_values_of_an_op_are_any_part_of_a_tensor) {
  const TemporaryDirectory directory;
  directory.write("x.npy", npy_of("<f4", "(2,)", "abcdefgh"));
  const auto file = std::make_shared<const DataFile>(directory.path() / "x.npy");
  const FileValues values(file, file->find());
  std::string part(3, '\0');
  values.read(2, std::as_writable_bytes(std::span(part)));
  BOOST_TEST(part == "cde");
}

BOOST_AUTO_TEST_CASE(
    values_that_begin_at_a_cache_line_are_used_in_the_file_and_outlive_its_handles) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "x.npy";
  const NamedType named{"x", {DType::f32, Shape{1000}}};
  const Bytes values = random_bytes(named.type.bytes(), 2);
  save_tensors(path, {&named, 1}, [&](std::size_t) { return std::span(values); });
  std::optional<FileTensor> tensor = open_tensor(path);
  const std::shared_ptr<const std::byte> existing = tensor->values->existing();
  BOOST_REQUIRE(existing != nullptr);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(existing.get()) % kernel_alignment == 0U);
  tensor.reset();
  std::filesystem::remove(path);
  BOOST_TEST(std::ranges::equal(std::span(existing.get(), values.size()), values));

  directory.write("y.npy", npy_of("<f4", "(2,)", "abcdefgh"));  // without spaces to align them
  BOOST_TEST((open_tensor(directory.path() / "y.npy").values->existing() == nullptr));
}

BOOST_AUTO_TEST_CASE(values_of_a_safetensors_file_of_ours_are_used_in_the_file) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "x.safetensors";
  for (std::size_t length = 1; length <= kernel_alignment; ++length) {
    const NamedType named{std::string(length, 'x'), {DType::f32, Shape{1000}}};
    const Bytes values = random_bytes(named.type.bytes(), length);
    save_tensors(path, {&named, 1}, [&](std::size_t) { return std::span(values); });
    const FileTensor tensor = open_tensor(path, named.name);
    BOOST_TEST((tensor.values->existing() != nullptr));
    check_equal(tensor, named.type, values);
  }
}

BOOST_AUTO_TEST_CASE(loading_a_part_in_the_mapped_file_sees_that_the_file_was_changed) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "x.npy";
  const NamedType named{"x", {DType::f32, Shape{1000}}};
  const Bytes bytes = random_bytes(named.type.bytes(), 3);
  save_tensors(path, {&named, 1}, [&](std::size_t) { return std::span(bytes); });
  const FileTensor tensor = open_tensor(path);
  auto* const start = const_cast<std::byte*>(tensor.values->existing().get());
  tensor.values->read(4, {start + 4, 100});
  std::filesystem::resize_file(path, 8);
  expect_error(ErrorKind::failed, "the file was changed while it was in use", [&] {
    tensor.values->read(4, {start + 4, 100});
  });
}

BOOST_AUTO_TEST_CASE(the_ending_of_the_name_says_which_format_a_file_has) {
  BOOST_TEST((format_of("a/b.npy") == DataFormat::npy));
  BOOST_TEST((format_of("b.x.safetensors") == DataFormat::safetensors));
  for (const char* path : {"x.csv", "x", "npy", ".npy", "x.npy.gz", "x.NPY", ""}) {
    expect_error(ErrorKind::usage, "ends with .npy or .safetensors", [&] { format_of(path); });
  }
}

BOOST_AUTO_TEST_CASE(an_array_of_a_npy_file_has_no_name) {
  const TemporaryDirectory directory;
  directory.write("x.npy", npy_of("<f4", "(1,)", "abcd"));
  expect_error(ErrorKind::usage, "a .npy file holds one array, which has no name",
               [&] { open_tensor(directory.path() / "x.npy", "x"); });
}

BOOST_AUTO_TEST_CASE(a_file_is_left_as_it_was_if_saving_fails) {
  const TemporaryDirectory directory;
  directory.write("x.npy", "old");
  const NamedType tensor{"x", {DType::f32, Shape{1}}};
  const auto fail = [](std::size_t) -> std::span<const std::byte> { throw run_error("no values"); };
  expect_error(ErrorKind::failed, "no values", [&] {
    save_tensors(directory.path() / "x.npy", {&tensor, 1}, fail);
  });
  BOOST_TEST(bytes_of(directory.path() / "x.npy") == "old");
  BOOST_TEST(directory.entries() == 1U);
}

BOOST_AUTO_TEST_CASE(several_tensors_do_not_fit_into_a_npy_file) {
  const TemporaryDirectory directory;
  const std::vector<NamedType> tensors(2, {"x", {DType::f32, Shape{1}}});
  expect_error(ErrorKind::usage, "a .npy file holds one array, not 2", [&] {
    save_tensors(directory.path() / "x.npy", tensors,
                 [](std::size_t) { return std::span<const std::byte>(); });
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
