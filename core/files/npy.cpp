// The format of .npy files
// ========================
//
//   bytes   what
//   6       "\x93NUMPY"
//   2       version: 1.0, 2.0 or 3.0
//   2 or 4  the length of the text that follows, little-endian; 2 bytes in version 1.0
//   text    a Python dictionary, e.g. {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//           and spaces and a line end, so that the values begin at a multiple of 64 bytes
//   values  row-major if fortran_order is False
//
// The dictionary has exactly these keys, in any order. `descr` is an element type of NumPy: '<' is
// little-endian. Versions 2.0 and 3.0 only matter to headers of structures: 3.0 has UTF-8 in field
// names. Source: numpy.lib.format, https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html
#include "core/files/npy.hpp"

#include "core/base/text.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t npy_values_alignment = 64;
// Headers of numbers take 128 bytes. Longer ones would be of structures.
constexpr std::uint64_t npy_text_bytes_max = 1 << 20;

constexpr std::array<std::string_view, dtype_names.size()> descriptions = {"<f4", "<f8", "<i4",
                                                                           "<i8"};  // by DType

// Reads the dictionary. A parser of just what a header may hold: nothing is ever evaluated.
class HeaderText {
 public:
  HeaderText(const InputFile& file, std::string_view text) : file_(file), text_(text) {}

  TensorType read() {
    expect('{');
    while (!take('}')) {
      read_entry();
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (at_ != text_.size()) refuse("the end");
    return type();
  }

 private:
  void read_entry() {
    const std::string_view key = string("a key in quotes");
    expect(':');
    const auto set = [&](auto& value, auto&& read_value) {
      if (value) throw bad(fmt::format("the header has '{}' twice", key), again);
      value = read_value();
    };
    if (key == "descr") {
      set(description_, [&] { return description(); });
    } else if (key == "fortran_order") {
      set(fortran_order_, [&] { return boolean(); });
    } else if (key == "shape") {
      set(shape_, [&] { return tuple(); });
    } else {
      throw bad(fmt::format("the header has a key '{}', which .npy files don't have",
                            shortened(visible(key))),
                again);
    }
  }

  TensorType type() const {
    const auto require = [&](bool is_there, std::string_view key) {
      if (!is_there) throw bad(fmt::format("the header has no '{}'", key), again);
    };
    require(description_.has_value(), "descr");
    require(fortran_order_.has_value(), "fortran_order");
    require(shape_.has_value(), "shape");
    const DType element = dtype();
    if (*fortran_order_) {
      throw bad("the values are in Fortran order", "save numpy.ascontiguousarray(x) instead");
    }
    return stored_type(file_, element, *shape_);
  }

  DType dtype() const {
    for (std::size_t i = 0; i < descriptions.size(); ++i) {
      if (*description_ == descriptions[i]) return static_cast<DType>(i);
    }
    const std::string shown = shortened(visible(*description_));
    if (description_->starts_with('>')) {
      throw bad(fmt::format("the values are big-endian ('{}')", shown),
                "save x.astype(x.dtype.newbyteorder('<')) instead");
    }
    if (description_->find('O') != std::string_view::npos) {
      throw bad(fmt::format("the elements are Python objects ('{}')", shown), convert);
    }
    throw bad(fmt::format("the elements are of type '{}'", shown), convert);
  }

  std::string_view description() {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '[') throw bad("the elements are structures", convert);
    return string("a type in quotes");
  }

  std::string_view string(const char* wanted) {
    skip_spaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) refuse(wanted);
    const std::size_t begin = at_ + 1;
    const std::size_t end = text_.find(text_[at_], begin);
    if (end == std::string_view::npos) refuse(wanted);
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::string_view(word).size();
      return value;
    }
    refuse("True or False");
  }

  // (), (3,) and (3, 4): one element alone needs its comma. Python 2 wrote some numbers as 3L.
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> elements;
    expect('(');
    while (!take(')')) {
      elements.push_back(number());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;
      if (take(',')) continue;
      if (elements.size() == 1) refuse("','");
      expect(')');
      break;
    }
    return elements;
  }

  std::uint64_t number() {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '-') throw bad("an extent is negative", again);
    std::uint64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [rest, status] = std::from_chars(text_.data() + at_, end, value);
    if (status == std::errc::invalid_argument) refuse("a whole number");
    if (status != std::errc{}) throw bad("an extent is beyond 2^64", again);
    at_ = static_cast<std::size_t>(rest - text_.data());
    return value;
  }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
  bool take(char c) {
    skip_spaces();
    const bool is_there = at_ < text_.size() && text_[at_] == c;
    if (is_there) ++at_;
    return is_there;
  }
  void expect(char c) {
    if (!take(c)) refuse(fmt::format("'{}'", c));
  }

  Error bad(const std::string& problem, const std::string& remedy) const {
    return bad_file(file_, problem, remedy);
  }
  [[noreturn]] void refuse(std::string_view wanted) const {
    throw bad(fmt::format("the header can't be read: {} should follow '{}'", wanted,
                          shortened(visible(text_.substr(0, at_)))),
              again);
  }

  static constexpr const char* again = "save it again with numpy.save";
  static constexpr const char* convert =
      "convert them first, with x.astype('float32') or float64, int32, int64";

  const InputFile& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string_view> description_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

}  // namespace

StoredTensor read_npy_header(const InputFile& file) {
  constexpr std::uint64_t version_end = magic.size() + 2;
  const std::string start = header_text(file, 0, version_end);
  if (!start.starts_with(magic)) {
    throw bad_file(file, "this is no .npy file: it doesn't begin with \\x93NUMPY",
                   "save it with numpy.save");
  }
  const int major = static_cast<unsigned char>(start[magic.size()]);
  const int minor = static_cast<unsigned char>(start[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    throw bad_file(file, fmt::format("this is version {}.{} of .npy", major, minor),
                   "save it as version 1.0, 2.0 or 3.0");
  }
  const std::uint64_t length_bytes = major == 1 ? 2 : 4;
  const std::uint64_t bytes = little_endian(header_text(file, version_end, length_bytes));
  const std::uint64_t begin = version_end + length_bytes;
  if (begin + bytes <= file.bytes() && bytes > npy_text_bytes_max) {
    throw bad_file(file, fmt::format("the header takes {} bytes", bytes),
                   fmt::format("it takes at most {}: save the array again", npy_text_bytes_max));
  }
  const std::string text = header_text(file, begin, bytes);
  return {.type = HeaderText(file, text).read(), .offset = begin + bytes};
}

std::string npy_header(const TensorType& type) {
  std::string shape;
  for (std::size_t d = 0; d < type.shape.rank(); ++d) {
    shape += fmt::format("{}{}", d > 0 ? " " : "", type.shape[d]) +
             (d + 1 < type.shape.rank() || d == 0 ? "," : "");
  }
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 descriptions[static_cast<std::size_t>(type.dtype)], shape);
  const std::uint64_t before = magic.size() + 4;
  const std::uint64_t end = (before + text.size() + 1 + npy_values_alignment - 1) /
                            npy_values_alignment * npy_values_alignment;
  text.append(end - before - text.size() - 1, ' ').push_back('\n');
  std::string header(magic);
  header +=
      {'\1', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace troupe
