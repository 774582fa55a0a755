#include "core/files/npy.hpp"

#include "core/files/data_file.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(npy)
namespace {

// Made by NumPy.
std::string fixture(const std::string& name) {
  return TROUPE_SOURCE_DIR "/tests/data/" + name;
}

template <class T>
std::vector<T> values_in(const std::string& path) {
  const std::vector<std::byte> bytes = values_of(open_tensor(path));
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The type that a file of these bytes has.
TensorType type_of(const std::string& bytes) {
  const TemporaryDirectory directory;
  directory.write("x.npy", bytes);
  return inspect_tensor(directory.path() / "x.npy");
}

void check_refused(const std::string& bytes, const std::string& message) {
  expect_error(ErrorKind::usage, message, [&] { type_of(bytes); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(arrays_that_numpy_wrote_have_the_type_and_the_values_they_had_there) {
  const auto check = [](const std::string& name, DType dtype, auto element) {
    using T = decltype(element);
    const TensorType type = inspect_tensor(fixture(name));
    BOOST_TEST(to_string(type) == to_string(TensorType{dtype, Shape{3, 4}}));
    std::vector<T> expected;
    for (int i = 0; i < 12; ++i) expected.push_back(static_cast<T>(i / 2.0 - 5));
    BOOST_TEST((values_in<T>(fixture(name)) == expected));
  };
  check("f4.npy", DType::f32, float{});
  check("f8.npy", DType::f64, double{});
  check("i4.npy", DType::i32, std::int32_t{});
  check("i8.npy", DType::i64, std::int64_t{});
}

BOOST_AUTO_TEST_CASE(versions_2_and_3_of_numpy_are_read_like_version_1) {
  for (const char* name : {"version2.npy", "version3.npy"}) {
    BOOST_TEST(to_string(inspect_tensor(fixture(name))) == "int32 [5]");
    BOOST_TEST((values_in<std::int32_t>(fixture(name)) == std::vector{0, 1, 2, 3, 4}));
  }
}

BOOST_AUTO_TEST_CASE(arrays_of_numpy_with_0_to_8_dimensions_are_read) {
  BOOST_TEST(to_string(inspect_tensor(fixture("rank0.npy"))) == "float64 []");
  BOOST_TEST((values_in<double>(fixture("rank0.npy")) == std::vector{2.5}));
  BOOST_TEST(to_string(inspect_tensor(fixture("rank1.npy"))) == "int64 [1]");
  BOOST_TEST(to_string(inspect_tensor(fixture("rank8.npy"))) == "float32 [1, 2, 1, 3, 1, 1, 2, 1]");
}

BOOST_AUTO_TEST_CASE(arrays_of_numpy_that_can_be_no_tensor_are_refused) {
  const auto refused = [](const std::string& name, const std::string& message) {
    expect_error(ErrorKind::usage, name + ": " + message, [&] { open_tensor(fixture(name)); });
  };
  refused("fortran.npy", "the values are in Fortran order; save numpy.ascontiguousarray");
  refused("big_endian.npy", "the values are big-endian ('>f8'); save x.astype");
  refused("objects.npy", "the elements are Python objects ('|O'); convert them first");
  refused("half.npy", "the elements are of type '<f2'; convert them first");
  refused("structures.npy", "the elements are structures; convert them first");
  refused("empty.npy", "shape [0, 3] has an extent of 0; each must be at least 1");
  refused("rank9.npy", "shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has 9 dimensions; a tensor has at most");
}

BOOST_AUTO_TEST_CASE(a_header_may_be_written_in_other_ways_that_mean_the_same) {
  for (const char* header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}",
        " { 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' } "}) {
    BOOST_TEST(to_string(type_of(npy_bytes(header))) == "float32 [2, 3]");
  }
  BOOST_TEST(to_string(type_of(npy_of("<i8", "()"))) == "int64 []");
  BOOST_TEST(to_string(type_of(npy_of("<i4", "(7,)"))) == "int32 [7]");
}

BOOST_AUTO_TEST_CASE(a_shape_may_have_the_long_integers_of_python_2) {
  BOOST_TEST(to_string(type_of(npy_of("<i4", "(7L,)"))) == "int32 [7]");
  BOOST_TEST(to_string(type_of(npy_of("<f8", "(2L, 3)"))) == "float64 [2, 3]");
}

BOOST_AUTO_TEST_CASE(what_is_no_npy_file_is_refused) {
  check_refused("", "the file ends within its header: it has 0 bytes");
  check_refused("\x93NUMPY\x01", "the file ends within its header");
  check_refused("PK\x03\x04 what else is there", "it doesn't begin with \\x93NUMPY");
  check_refused(std::string("\x93NUMPY\x04\x00\x76\x00", 10), "this is version 4.0 of .npy");
  check_refused(std::string("\x93NUMPY\x01\x01\x76\x00", 10), "this is version 1.1 of .npy");
}

BOOST_AUTO_TEST_CASE(a_header_that_is_longer_than_the_file_is_refused) {
  const std::string whole = npy_of("<f4", "(2,)");
  check_refused(whole.substr(0, whole.size() - 1), "the file ends within its header");
  check_refused(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12), "the file ends within");
  check_refused("\x93NUMPY\x02" + std::string(1, '\0') + little_endian((1 << 20) + 1, 4) +
                    std::string((1 << 20) + 1, ' '),
                "the header takes 1048577 bytes; it takes at most 1048576");
}

BOOST_AUTO_TEST_CASE(a_header_without_one_of_its_keys_or_with_another_is_refused) {
  check_refused(npy_bytes("{}"), "the header has no 'descr'");
  check_refused(npy_bytes("{'descr': '<f4', 'shape': (1,)}"), "the header has no 'fortran_order'");
  check_refused(npy_bytes("{'descr': '<f4', 'fortran_order': False}"), "the header has no 'shape'");
  check_refused(npy_bytes("{'descr': '<f4', 'descr': '<f8'}"), "the header has 'descr' twice");
  check_refused(npy_bytes("{'shape': (1,), 'shape': (1,)}"), "the header has 'shape' twice");
  check_refused(npy_bytes("{'order': False}"), "a key 'order', which .npy files don't have");
}

BOOST_AUTO_TEST_CASE(a_header_is_never_evaluated) {
  for (const char* header : {"__import__('os')",
                             "{'descr': chr(60), ",
                             "{'descr': '<f4' 'x'}",
                             "{'descr': '<f4",
                             "{'fortran_order': 0}",
                             "{'fortran_order': true}",
                             "{'shape': (2)}",
                             "{'shape': [2]}",
                             "{'shape': (2+2,)}",
                             "{'shape': (0x10,)}",
                             "{'shape': (2l,)}",
                             "{'shape': (2LL,)}",
                             "{'shape': (L,)}",
                             "{'shape': (1.0,)}",
                             "{'shape': (,)}",
                             "{'shape': (2,,)}",
                             "{'shape': 2}",
                             "{'descr'}",
                             "{,}",
                             "{'descr': 5}",
                             "{descr: '<f4'}",
                             "['descr']",
                             ""}) {
    check_refused(npy_bytes(header), "the header can't be read");
  }
  check_refused(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + {}"),
                "the end should follow");
}

BOOST_AUTO_TEST_CASE(extents_that_no_tensor_can_have_are_refused) {
  check_refused(npy_of("<f4", "(-1,)"), "an extent is negative");
  check_refused(npy_of("<f4", "(18446744073709551616,)"), "an extent is beyond 2^64");
  for (const char* huge : {"(18446744073709551615,)", "(9223372036854775807, 2)",
                           "(4294967296, 4294967296)", "(1099511627777,)"}) {
    check_refused(npy_of("<f4", huge), "has too many elements");
  }
  check_refused(npy_of("<f4", "(18446744073709551615, 2)"),
                "an extent of 18446744073709551615 has");
}

BOOST_AUTO_TEST_CASE(other_element_types_are_refused) {
  for (const char* descr : {"<f2", "<c8", "|u1", "<u4", "<i2", "|b1", "<M8[ns]", "<U3", "f4", "=f4",
                            "<f44", "", "<f16", "|V8"}) {
    check_refused(npy_of(descr, "(1,)"), "the elements are of type '" + std::string(descr) + "'");
  }
  check_refused(npy_of(">i4", "(1,)"), "the values are big-endian ('>i4')");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_as_long_as_its_header_says_is_refused_when_it_is_opened) {
  const TemporaryDirectory directory;
  const auto refused = [&](const std::string& values, const std::string& message) {
    directory.write("x.npy", npy_of("<f4", "(2,)", values));
    BOOST_TEST(to_string(inspect_tensor(directory.path() / "x.npy")) == "float32 [2]");
    expect_error(ErrorKind::usage, message, [&] { open_tensor(directory.path() / "x.npy"); });
  };
  refused("", "and by its header");
  refused("1234567", "it was cut short");
  refused("123456789", "and by its header only");
}

BOOST_AUTO_TEST_CASE(headers_that_are_written_are_those_of_numpy) {
  for (const TensorType& type :
       {TensorType{DType::f32, Shape{}}, TensorType{DType::i64, Shape{5}},
        TensorType{DType::f64, Shape{2, 3}},
        TensorType{DType::i32, Shape{1'000'000, 1, 1, 1, 1, 1, 1'000'000, 1}}}) {
    const std::string header = npy_header(type);
    BOOST_TEST(header.size() % 64 == 0U);
    BOOST_TEST(header.back() == '\n');
    BOOST_TEST(to_string(type_of(header)) == to_string(type));
  }
  BOOST_TEST(npy_header({DType::f32, Shape{3, 4}})
                 .substr(10)
                 .starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  "));
  // Of numpy.save, but for spaces at the end.
  BOOST_TEST(bytes_of(fixture("i8.npy")).starts_with(npy_header({DType::i64, Shape{3, 4}})));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
