// The attributes are the number of entries, and for each its name, the index of its type in Attr,
// and its value.
#include "actors/nodes/packed_attrs.hpp"

#include "core/base/error.hpp"
#include "core/ops/value_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {
namespace {

using SourcePtr = std::shared_ptr<const ValueSource>;

class ValueWriter {
 public:
  explicit ValueWriter(FlatWriter& writer) : writer_(writer) {}

  void operator()(bool value) const { writer_.put(std::uint64_t{value}); }
  void operator()(std::int64_t value) const { writer_.put(value); }
  void operator()(double value) const { writer_.put(value); }
  void operator()(Duration value) const { writer_.put(value); }
  void operator()(const std::string& value) const { writer_.put_text(value); }
  void operator()(const Integers& values) const { writer_.put_array<std::int64_t>(values); }
  void operator()(const Numbers& values) const { writer_.put_array<double>(values); }
  void operator()(const Texts& values) const {
    writer_.put(std::uint64_t{values.size()});
    for (const std::string& text : values) writer_.put_text(text);
  }
  void operator()(const SourcePtr& values) const {
    writer_.put(std::uint64_t{values != nullptr});
    if (values == nullptr) return;
    const std::optional<FileLocation> file = values->file();
    if (!file) {
      throw run_error("values of this program can't be sent to another node",
                      "save them to a file, and load that");
    }
    writer_.put_text(file->path);
    writer_.put_text(file->tensor);
    put_type(writer_, file->type);
    writer_.put(file->file_bytes);
  }

 private:
  FlatWriter& writer_;
};

class ValueReader {
 public:
  ValueReader(FlatReader& reader, OpenFiles& files) : reader_(reader), files_(files) {}

  // A value of the type that has this index in Attr.
  template <std::size_t candidate = 0>
  Attr get(std::uint64_t index) const {
    if constexpr (candidate < std::variant_size_v<Attr>) {
      if (index != candidate) return get<candidate + 1>(index);
      std::variant_alternative_t<candidate, Attr> value{};
      read(value);
      return value;
    }
    check_message(false);
    return {};
  }

 private:
  void read(bool& value) const { value = reader_.get<std::uint64_t>() != 0; }
  void read(std::int64_t& value) const { value = reader_.get<std::int64_t>(); }
  void read(double& value) const { value = reader_.get<double>(); }
  void read(Duration& value) const { value = reader_.get<Duration>(); }
  void read(std::string& value) const { value = reader_.get_text(); }
  template <Flat T>
  void read(std::vector<T>& values) const {
    const std::span<const T> all = reader_.get_array<T>();
    values.assign(all.begin(), all.end());
  }
  void read(Texts& values) const {
    const auto count = reader_.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) values.emplace_back(reader_.get_text());
  }
  void read(SourcePtr& values) const {
    if (reader_.get<std::uint64_t>() == 0) return;
    FileLocation file;
    file.path = reader_.get_text();
    file.tensor = reader_.get_text();
    file.type = get_type(reader_);
    file.file_bytes = reader_.get<std::uint64_t>();
    values = open_values(file, files_);
  }

  FlatReader& reader_;
  OpenFiles& files_;
};

}  // namespace

void put_attrs(FlatWriter& writer, const Attrs& attrs) {
  writer.put(std::uint64_t{attrs.entries().size()});
  for (const Attrs::Entry& entry : attrs.entries()) {
    writer.put_text(entry.name);
    writer.put(std::uint64_t{entry.value.index()});
    std::visit(ValueWriter(writer), entry.value);
  }
}

Attrs get_attrs(FlatReader& reader, OpenFiles& files) {
  Attrs attrs;
  const ValueReader values(reader, files);
  const auto count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view name = reader.get_text();
    attrs.set(name, values.get(reader.get<std::uint64_t>()));
  }
  return attrs;
}

}  // namespace troupe
