// The format of .safetensors files
// ================================
//
//   bytes   what
//   8       the length of the text that follows, little-endian; at most 100,000,000
//   text    JSON, padded with spaces, so that in files of ours the values begin at a multiple of 64
//           bytes: a map from each tensor's name to its entry, such as
//           {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}, and perhaps
//           "__metadata__" with a map of strings
//   values  row-major and little-endian
//
// `data_offsets` are where a tensor's values begin and end, counted from the end of the text. Each
// byte of the values belongs to one tensor. Source: https://github.com/huggingface/safetensors
#include "core/files/safetensors.hpp"

#include "core/base/suggest.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace troupe {
namespace {

using nlohmann::json;

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t safetensors_text_bytes_max = 100'000'000;
constexpr std::string_view metadata = "__metadata__";
constexpr const char* again = "save it again with the library safetensors";

constexpr std::array<std::string_view, dtype_names.size()> codes = {"F32", "F64", "I32",
                                                                    "I64"};  // by DType

std::string read_text(const InputFile& file) {
  const std::uint64_t bytes = little_endian(header_text(file, 0, length_bytes));
  if (bytes > safetensors_text_bytes_max) {
    throw bad_file(
        file, fmt::format("this is no .safetensors file: its header would take {} bytes", bytes),
        again);
  }
  return header_text(file, length_bytes, bytes);
}

// Goes through the header's JSON for what a parser lets pass: maps that have a key twice, and lists
// in lists in lists. Throws at once. (json::parse() with a callback looks through the whole map at
// the end of each entry.)
class HeaderCheck final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderCheck(const InputFile& file) : file_(file) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    enter();
    keys_[level_ - 1].clear();
    return true;
  }
  bool key(std::string& name) override {
    if (keys_[level_ - 1].insert(name).second) return true;
    throw bad_file(file_, fmt::format("the header has '{}' twice", shortened(visible(name))),
                   again);
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override {
    enter();
    return true;
  }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  static constexpr std::size_t levels_max = 3;  // the map, an entry, its lists

  void enter() {
    if (level_ == levels_max) throw bad_file(file_, "the header is nested too deeply", again);
    ++level_;
  }
  bool leave() {
    --level_;
    return true;
  }

  const InputFile& file_;
  std::size_t level_ = 0;
  std::array<std::unordered_set<std::string>, levels_max> keys_;  // of the map that is open there
};

json parse(const InputFile& file, const std::string& text) {
  HeaderCheck check(file);
  json::sax_parse(text, &check);
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    const std::string_view why = error.what();  // "[json.exception.parse_error.101] parse error …"
    const std::size_t number_end = why.find("] ");
    throw bad_file(file,
                   fmt::format("the header is no JSON: {}",
                               why.substr(number_end == why.npos ? 0 : number_end + 2)),
                   again);
  }
}

}  // namespace

SafetensorsHeader::SafetensorsHeader(const InputFile& file) {
  const std::string text = read_text(file);
  values_ = length_bytes + text.size();
  const json root = parse(file, text);
  if (!root.is_object()) throw bad_file(file, "the header is no map", again);
  for (const auto& [name, value] : root.items()) {
    if (name == metadata) {
      const auto is_text = [](const json& member) { return member.is_string(); };
      if (value.is_object() && std::all_of(value.begin(), value.end(), is_text)) {
        about_ = value.get<Metadata>();
      }
      continue;
    }
    const auto refuse = [&, &tensor = name](std::string_view problem) {
      return bad_file(file, fmt::format("tensor '{}' {}", shortened(visible(tensor)), problem),
                      again);
    };
    const auto member = [&, &map = value](const char* key) -> const json& {
      if (!map.is_object() || !map.contains(key)) throw refuse(fmt::format("has no '{}'", key));
      return map.at(key);
    };
    const auto numbers = [&](const char* key) {
      const json& list = member(key);
      const auto is_number = [](const json& n) { return n.is_number_unsigned(); };
      if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_number)) {
        throw refuse(fmt::format("has a '{}' that is no list of numbers from 0 to 2^64-1", key));
      }
      return list.get<std::vector<std::uint64_t>>();
    };
    Entry entry;
    if (!member("dtype").is_string()) throw refuse("has a 'dtype' that is no text");
    entry.dtype = member("dtype").get<std::string>();
    entry.shape = numbers("shape");
    const std::vector<std::uint64_t> offsets = numbers("data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      throw refuse("has 'data_offsets' that are no beginning and end");
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (value.size() != 3) throw refuse("has more than 'dtype', 'shape' and 'data_offsets'");
    entries_.emplace(name, std::move(entry));
  }
  check_order(file);
  for (const auto& [name, entry] : entries_) end_ = std::max(end_, entry.end);
  if (end_ > std::numeric_limits<std::int64_t>::max() - values_) {
    throw bad_file(file, "the header announces more than 2^63 bytes", again);
  }
  end_ += values_;
}

void SafetensorsHeader::check_order(const InputFile& file) const {
  using Place = std::pair<const Entry*, const std::string*>;
  std::vector<Place> places;
  for (const auto& [name, entry] : entries_) places.emplace_back(&entry, &name);
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
  });
  std::uint64_t end = 0;
  for (const auto& [entry, name] : places) {
    if (entry->begin != end) {
      throw bad_file(file,
                     fmt::format("the values of tensor '{}' begin at byte {}, {} byte {}",
                                 shortened(visible(*name)), entry->begin,
                                 entry->begin < end ? "and those of another end only at"
                                                    : "but those before it end at",
                                 end),
                     again);
    }
    end = entry->end;
  }
}

StoredTensor SafetensorsHeader::find(const InputFile& file, std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, entry] : entries_) names.push_back(known);
    if (name.empty() && !names.empty()) {
      throw bad_file(file, "no tensor of the file is named",
                     "give a name; " + suggestion(name, names));
    }
    throw bad_file(file, fmt::format("the file has no tensor '{}'", shortened(visible(name))),
                   names.empty() ? "it has none at all" : suggestion(name, names));
  }
  const Entry& entry = found->second;
  const std::string shown = shortened(visible(name));
  const auto code = std::find(codes.begin(), codes.end(), entry.dtype);
  if (code == codes.end()) {
    throw bad_file(file,
                   fmt::format("the elements of tensor '{}' are of type '{}'", shown,
                               shortened(visible(entry.dtype))),
                   fmt::format("convert them first, to {}", fmt::join(codes, ", ")));
  }
  const TensorType type = stored_type(file, static_cast<DType>(code - codes.begin()), entry.shape);
  if (type.bytes() != entry.end - entry.begin) {
    throw bad_file(file,
                   fmt::format("tensor '{}' is {}, which takes {} bytes, and has {}", shown,
                               to_string(type), type.bytes(), entry.end - entry.begin),
                   again);
  }
  return {.type = type, .offset = values_ + entry.begin};
}

std::vector<std::string> SafetensorsHeader::names() const {
  std::vector<std::pair<std::uint64_t, std::string>> places;
  for (const auto& [name, entry] : entries_) places.emplace_back(entry.begin, name);
  std::sort(places.begin(), places.end());
  std::vector<std::string> names;
  names.reserve(places.size());
  for (auto& [begin, name] : places) names.push_back(std::move(name));
  return names;
}

std::string safetensors_header(std::span<const NamedType> tensors, const Metadata& about) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  if (!about.empty()) root[metadata] = about;
  std::set<std::string_view> names;
  std::uint64_t at = 0;
  for (const auto& [name, type] : tensors) {
    if (name.empty()) {
      throw usage_error("a tensor in a .safetensors file must have a name", "give it one");
    }
    if (name == metadata || !names.insert(name).second) {
      throw usage_error(fmt::format("a .safetensors file can't have {} tensor '{}'",
                                    name == metadata ? "a" : "a second", shortened(visible(name))),
                        "give each tensor a name of its own");
    }
    std::vector<std::int64_t> shape;
    for (std::size_t d = 0; d < type.shape.rank(); ++d) shape.push_back(type.shape[d]);
    root[name] = {{"dtype", codes[static_cast<std::size_t>(type.dtype)]},
                  {"shape", shape},
                  {"data_offsets", {at, at + type.bytes()}}};
    at += type.bytes();
  }
  std::string text;
  try {
    text = root.dump();
  } catch (const json::exception&) {
    throw usage_error("the name of a tensor is no UTF-8", "rename it");
  }
  const std::uint64_t end = (length_bytes + text.size() + kernel_alignment - 1) / kernel_alignment *
                            kernel_alignment;  // so that the values are used where they are
  text.resize(end - length_bytes, ' ');
  std::string header;
  for (std::uint64_t i = 0; i < length_bytes; ++i) {
    header += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  }
  return header + text;
}

}  // namespace troupe
