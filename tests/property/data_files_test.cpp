// Random files of tensors, and what is left of them when bytes are cut off or changed: either an
// Error, or a tensor whose values are bytes of the file.
#include "core/base/random.hpp"
#include "core/files/data_file.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/temporary_directory.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(data_files)
namespace {

using namespace testing;

constexpr std::uint64_t seeds = 20;

std::string random_text(Random& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

struct Sample {
  std::string file;  // its name
  std::string bytes;
  std::string tensor;  // its name in the file; empty: none
  TensorType type;
};

TensorType random_type(Random& random) {
  std::vector<std::int64_t> extents(random.below(Shape::max_rank + 1));
  for (std::int64_t& extent : extents) extent = static_cast<std::int64_t>(1 + random.below(3));
  return {static_cast<DType>(random.below(dtype_names.size())), Shape(extents)};
}

std::vector<std::int64_t> extents_of(const Shape& shape) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < shape.rank(); ++d) extents.push_back(shape[d]);
  return extents;
}

// Keys in any order, spaces anywhere, both kinds of quotes.
Sample random_npy(Random& random) {
  const TensorType type = random_type(random);
  const auto space = [&] {
    return std::string(random.below(3), random.below(2) == 0 ? ' ' : '\n');
  };
  const auto quoted = [&](std::string_view text) {
    const char quote = random.below(2) == 0 ? '\'' : '"';
    return space() + quote + std::string(text) + quote + space();
  };
  std::string shape = space() + "(";
  for (const std::int64_t extent : extents_of(type.shape)) {
    shape += fmt::format("{}{}{},", space(), extent, space());
  }
  if (type.shape.rank() > 1 && random.below(2) == 0) shape.pop_back();
  shape += space() + ")" + space();
  constexpr std::array<std::string_view, 4> codes = {"<f4", "<f8", "<i4", "<i8"};
  std::vector<std::string> entries = {
      quoted("descr") + ":" + quoted(codes[static_cast<std::size_t>(type.dtype)]),
      quoted("fortran_order") + ":" + space() + "False" + space(), quoted("shape") + ":" + shape};
  std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(random.below(3)),
              entries.end());
  const std::string header = fmt::format("{}{{{}{}}}{}", space(), fmt::join(entries, ","),
                                         random.below(2) == 0 ? "," + space() : "", space());
  return {"x.npy", npy_bytes(header, random_text(random, type.bytes())), "", type};
}

// Several tensors; one of them is wanted.
Sample random_safetensors(Random& random) {
  std::vector<NamedType> tensors(1 + random.below(4));
  std::vector<std::string> entries;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i] = {fmt::format("tensor {}", i), random_type(random)};
    const TensorType& type = tensors[i].type;
    constexpr std::array<std::string_view, 4> codes = {"F32", "F64", "I32", "I64"};
    entries.push_back(fmt::format(R"("{}": {{"dtype":"{}", "shape":[{}], "data_offsets":[{},{}]}})",
                                  tensors[i].name, codes[static_cast<std::size_t>(type.dtype)],
                                  fmt::join(extents_of(type.shape), ", "), at, at + type.bytes()));
    at += type.bytes();
  }
  if (random.below(2) == 0) entries.emplace_back(R"("__metadata__": {"made by": "a test"})");
  std::rotate(entries.begin(),
              entries.begin() + static_cast<std::ptrdiff_t>(random.below(entries.size())),
              entries.end());
  const NamedType& wanted = tensors[random.below(tensors.size())];
  return {
      "x.safetensors",
      safetensors_bytes(fmt::format("{{{}}}", fmt::join(entries, ", ")), random_text(random, at)),
      wanted.name, wanted.type};
}

class Reader {
 public:
  // The type that is read; nullopt if the file is refused. The values must be bytes of the file.
  std::optional<TensorType> read(const Sample& sample, const std::string& bytes) {
    // A file system may flush a file that is overwritten, which takes milliseconds.
    std::filesystem::remove(directory_.path() / sample.file);
    directory_.write(sample.file, bytes);
    try {
      const FileTensor tensor = open_tensor(directory_.path() / sample.file, sample.tensor);
      const std::vector<std::byte> values = values_of(tensor);
      BOOST_TEST(values.size() == tensor.type.bytes());
      const std::string_view text(reinterpret_cast<const char*>(values.data()), values.size());
      BOOST_TEST((bytes.find(text) != std::string::npos));
      return tensor.type;
    } catch (const Error& error) {
      BOOST_TEST(!error.problem().empty());
      BOOST_TEST(!error.remedy().empty());
      BOOST_TEST(error.place().file == (directory_.path() / sample.file).string());
      return std::nullopt;
    }
  }

 private:
  TemporaryDirectory directory_;
};

// Calls f(sample, random, reader) for random files of both formats.
template <class F>
void for_each_sample(const F& f) {
  Reader reader;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const auto make : {random_npy, random_safetensors}) {
      Random random(seed);
      const Sample sample = make(random);
      BOOST_TEST_CONTEXT("seed " << seed << ", " << sample.file) {
        f(sample, random, reader);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_right_file_is_read) {
  for_each_sample([](const Sample& sample, Random&, Reader& reader) {
    const std::optional<TensorType> type = reader.read(sample, sample.bytes);
    BOOST_REQUIRE(type.has_value());
    BOOST_TEST(to_string(*type) == to_string(sample.type));
  });
}

BOOST_AUTO_TEST_CASE(a_file_that_ends_anywhere_before_its_end_is_refused) {
  for_each_sample([](const Sample& sample, Random&, Reader& reader) {
    for (std::size_t bytes = 0; bytes < sample.bytes.size(); ++bytes) {
      BOOST_TEST(!reader.read(sample, sample.bytes.substr(0, bytes)).has_value(),
                 "read with " << bytes << " of " << sample.bytes.size() << " bytes");
    }
  });
}

BOOST_AUTO_TEST_CASE(a_file_with_a_changed_byte_is_read_or_refused) {
  for_each_sample([](const Sample& sample, Random& random, Reader& reader) {
    for (std::size_t at = 0; at < sample.bytes.size(); ++at) {
      std::string bytes = sample.bytes;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 + random.below(255)));
      reader.read(sample, bytes);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_file_with_much_changed_is_read_or_refused) {
  for_each_sample([](const Sample& sample, Random& random, Reader& reader) {
    constexpr std::string_view likely = "0123456789-,.:'\"(){}[]<>\\ \nTFdshape";
    for (int i = 0; i < 200; ++i) {
      std::string bytes = sample.bytes;
      for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
        const std::size_t at = random.below(bytes.size());
        const char c = likely[random.below(likely.size())];
        switch (random.below(4)) {
          case 0:
            bytes[at] = c;
            break;
          case 1:
            bytes.insert(at, 1 + random.below(3), c);
            break;
          case 2:
            bytes.erase(at, 1 + random.below(3));
            break;
          default:
            bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(40)));
        }
      }
      reader.read(sample, bytes);
    }
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
