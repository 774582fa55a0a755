#include "core/files/safetensors.hpp"

#include "core/files/data_file.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(safetensors)
namespace {

struct File {
  TemporaryDirectory directory;
  std::filesystem::path path = directory.path() / "x.safetensors";
  explicit File(const std::string& bytes) { directory.write("x.safetensors", bytes); }
};

void check_refused(const std::string& bytes, const std::string& message,
                   const std::string& tensor = "a") {
  const File file(bytes);
  expect_error(ErrorKind::usage, message, [&] { inspect_tensor(file.path, tensor); });
}

std::string entry(const std::string& name, const std::string& rest) {
  return "\"" + name + "\": {" + rest + "}";
}
// An entry of float32.
std::string floats(const std::string& name, const std::string& shape, const std::string& offsets) {
  return entry(name, R"("dtype": "F32", "shape": )" + shape + R"(, "data_offsets": )" + offsets);
}
std::string with_entries(const std::string& entries, std::string_view values = "") {
  return safetensors_bytes("{" + entries + "}", values);
}

}  // namespace

// In the order of the file: b, a, s. Metadata and tensors of other types are no obstacle.
BOOST_AUTO_TEST_CASE(a_tensor_is_found_by_its_name) {
  const File file(with_entries(R"("__metadata__": {"format": "pt"}, )" +
                                   floats("a", "[2]", "[6, 14]") + ", " +
                                   entry("b", R"("dtype": "F16", "shape": [3],
                                                      "data_offsets": [0, 6])") +
                                   ", " + floats("s", "[]", "[14, 18]"),
                               "bbbbbbaaaaAAAAssss"));
  const FileTensor a = open_tensor(file.path, "a");
  BOOST_TEST(to_string(a.type) == "float32 [2]");
  BOOST_TEST((values_of(a)[4] == std::byte{'A'}));
  BOOST_TEST(to_string(inspect_tensor(file.path, "s")) == "float32 []");
  expect_error(ErrorKind::usage, "the elements of tensor 'b' are of type 'F16'; convert them first",
               [&] { inspect_tensor(file.path, "b"); });
}

BOOST_AUTO_TEST_CASE(each_supported_type_is_read) {
  const std::vector<std::pair<std::string, std::string>> types{
      {"F32", "float32 [1]"}, {"F64", "float64 [1]"}, {"I32", "int32 [1]"}, {"I64", "int64 [1]"}};
  for (const auto& [code, name] : types) {
    const std::string bytes = code.substr(1) == "32" ? "4" : "8";
    const File file(with_entries(entry(
        "a", R"("dtype": ")" + code + R"(", "shape": [1], "data_offsets": [0, )" + bytes + "]")));
    BOOST_TEST(to_string(inspect_tensor(file.path, "a")) == name);
  }
}

BOOST_AUTO_TEST_CASE(a_name_that_the_file_lacks_is_refused) {
  check_refused(with_entries(floats("weight", "[1]", "[0, 4]")),
                "the file has no tensor 'wieght'; did you mean 'weight'?", "wieght");
  check_refused(with_entries(""), "the file has no tensor 'a'; it has none at all");
  check_refused(with_entries(floats("weight", "[1]", "[0, 4]")),
                "no tensor of the file is named; give a name; one of: weight", "");
}

BOOST_AUTO_TEST_CASE(what_is_no_safetensors_file_is_refused) {
  check_refused("1234567", "the file ends within its header");
  check_refused(std::string(8, '\xFF'), "this is no .safetensors file");
  check_refused(little_endian(100'000'001, 8), "its header would take 100000001 bytes");
  check_refused(little_endian(3, 8) + "{}", "the file ends within its header");
  check_refused(safetensors_bytes(""), "the header is no JSON: parse error");
  check_refused(safetensors_bytes("{"), "the header is no JSON");
  check_refused(safetensors_bytes("{\"\xFF\": 1}"), "the header is no JSON");
  check_refused(safetensors_bytes("[]"), "the header is no map");
  check_refused(safetensors_bytes("5"), "the header is no map");
  check_refused(safetensors_bytes(std::string(100'000, '[')), "the header is nested too deeply");
}

BOOST_AUTO_TEST_CASE(a_tensor_or_a_key_that_occurs_twice_is_refused) {
  const std::string a = floats("a", "[1]", "[0, 4]");
  check_refused(with_entries(a + ", " + a), "the header has 'a' twice");
  check_refused(with_entries(entry("a", R"("dtype": "F32", "dtype": "F64")")),
                "the header has 'dtype' twice");
}

BOOST_AUTO_TEST_CASE(an_entry_that_lacks_something_or_is_something_else_is_refused) {
  const auto refused = [](const std::string& rest, const std::string& message) {
    check_refused(with_entries(entry("a", rest)), "tensor 'a' " + message);
  };
  check_refused(with_entries(R"("a": 5)"), "tensor 'a' has no 'dtype'");
  refused(R"("shape": [1], "data_offsets": [0, 4])", "has no 'dtype'");
  refused(R"("dtype": "F32", "data_offsets": [0, 4])", "has no 'shape'");
  refused(R"("dtype": "F32", "shape": [1])", "has no 'data_offsets'");
  refused(R"("dtype": 32, "shape": [1], "data_offsets": [0, 4])", "has a 'dtype' that is no text");
  refused(R"("dtype": "F32", "shape": [1], "data_offsets": [0, 4], "x": 1)", "has more than");
  for (const char* shape : {"1", "[-1]", "[1.0]", "[\"1\"]", "[18446744073709551616]", "{}"}) {
    refused(R"("dtype": "F32", "shape": )" + std::string(shape) + R"(, "data_offsets": [0, 4])",
            "has a 'shape' that is no list of numbers");
  }
  for (const char* offsets : {"[0]", "[0, 4, 8]", "[4, 0]"}) {
    refused(R"("dtype": "F32", "shape": [1], "data_offsets": )" + std::string(offsets),
            "has 'data_offsets' that are no beginning and end");
  }
}

BOOST_AUTO_TEST_CASE(offsets_that_overlap_or_leave_a_gap_are_refused) {
  const auto refused = [](const std::string& second, const std::string& message) {
    check_refused(with_entries(floats("a", "[2]", "[0, 8]") + ", " + floats("b", "[1]", second)),
                  message);
  };
  refused("[4, 8]", "the values of tensor 'b' begin at byte 4, and those of another end only at");
  refused("[0, 4]", "the values of tensor 'a' begin at byte 0, and those of another end only at");
  refused("[12, 16]", "the values of tensor 'b' begin at byte 12, but those before it end at");
  check_refused(with_entries(floats("a", "[1]", "[4, 8]")), "begin at byte 4, but those before it");
}

BOOST_AUTO_TEST_CASE(offsets_that_do_not_fit_the_type_or_are_huge_are_refused) {
  check_refused(with_entries(floats("a", "[2]", "[0, 4]")),
                "tensor 'a' is float32 [2], which takes 8 bytes, and has 4");
  check_refused(with_entries(floats("a", "[2]", "[0, 18446744073709551615]")),
                "the header announces more than 2^63 bytes");
  check_refused(with_entries(floats("a", "[18446744073709551615, 2]", "[0, 8]")),
                "a shape with an extent of 18446744073709551615 has too many elements");
}

BOOST_AUTO_TEST_CASE(a_file_shorter_or_longer_than_its_tensors_is_refused_when_it_is_opened) {
  for (const char* values : {"", "1234567", "123456789"}) {
    const File file(with_entries(floats("a", "[2]", "[0, 8]"), values));
    BOOST_TEST(to_string(inspect_tensor(file.path, "a")) == "float32 [2]");
    expect_error(ErrorKind::usage, "by its header", [&] { open_tensor(file.path, "a"); });
  }
}

BOOST_AUTO_TEST_CASE(a_header_that_is_written_is_aligned_and_has_each_tensor_in_order) {
  const std::vector<NamedType> tensors{{"z", {DType::i64, Shape{3}}}, {"a", {DType::f32, Shape{}}}};
  const std::string header = safetensors_header(tensors);
  BOOST_TEST(header.size() % 64 == 0U);
  BOOST_TEST(
      header.substr(8).starts_with(R"({"z":{"dtype":"I64","shape":[3],"data_offsets":[0,24]},)"
                                   R"("a":{"dtype":"F32","shape":[],"data_offsets":[24,28]}})"));
}

BOOST_AUTO_TEST_CASE(names_that_no_tensor_can_have_are_not_written) {
  const auto refused = [](const std::vector<std::string>& names, const std::string& message) {
    std::vector<NamedType> tensors;
    for (const std::string& name : names) tensors.push_back({name, {DType::f32, Shape{1}}});
    expect_error(ErrorKind::usage, message, [&] { safetensors_header(tensors); });
  };
  refused({"a", "b", "a"}, "can't have a second tensor 'a'");
  refused({"__metadata__"}, "can't have a tensor '__metadata__'");
  refused({"\xFF"}, "no UTF-8");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
