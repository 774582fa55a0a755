#include "actors/nodes/packed_attrs.hpp"

#include "actors/nodes/packed_share.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/node_message.hpp"
#include "tests/support/share_maker.hpp"
#include "tests/support/temporary_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(packed_attrs)
namespace {

using testing::expect_error;
using testing::make_share;
using testing::received;

constexpr ResourceId self{0};

// A share of one item of this kind.
Share share_of(const OpRegistry& ops, std::string_view kind, const Attrs* attrs) {
  Share share = make_share(self, {{}});
  share.kernels[0].kind = ops.find(kind);
  share.kernels[0].attrs = attrs;
  return share;
}

BOOST_AUTO_TEST_CASE(attributes_of_every_type_arrive_as_they_were_sent) {
  OpRegistry ops;
  const std::shared_ptr<const ValueSource> null;
  ops.add({.name = "other"});
  ops.add({.name = "all",
           .attrs = {{.name = "flag", .fallback = false},
                     {.name = "whole", .fallback = std::int64_t{0}},
                     {.name = "number", .fallback = 0.0},
                     {.name = "time", .fallback = Duration{0}},
                     {.name = "text", .fallback = ""},
                     {.name = "wholes", .fallback = Integers{}},
                     {.name = "numbers", .fallback = Numbers{}},
                     {.name = "texts", .fallback = Texts{}},
                     {.name = "values", .fallback = null}},
           .prepare = [](const Attrs& attrs) -> std::shared_ptr<const void> {
             return std::make_shared<const double>(attrs.get<double>("number"));
           }});
  const Attrs given =
      complete_attrs(ops[ops.find("all")], {{"flag", true},
                                            {"whole", std::int64_t{1} << 33},
                                            {"number", -0.1},
                                            {"time", Duration{17}},
                                            {"text", std::string("a\nb")},
                                            {"wholes", Integers{1, 2, 3}},
                                            {"numbers", Numbers{0.1, 1e300}},
                                            {"texts", Texts{"", "longer than eight bytes"}}});
  std::deque<Attrs> attrs;
  const Share share = received(PackedShare(share_of(ops, "all", &given))).unpack(ops, attrs);
  BOOST_TEST_REQUIRE(attrs.size() == 1U);
  BOOST_TEST(share.kernels[0].attrs == &attrs[0]);
  BOOST_TEST((attrs[0] == given));
  BOOST_TEST(attrs[0].prepared<double>() == -0.1);
  BOOST_TEST(attrs[0].find("values") != nullptr);
  BOOST_TEST((attrs[0].get<std::shared_ptr<const ValueSource>>("values") == nullptr));

  // A registry with other kinds refuses them.
  expect_error(ErrorKind::failed, "", [&] {
    received(PackedShare(share_of(ops, "all", &given))).unpack(builtin_ops(), attrs);
  });
}

using Values = std::shared_ptr<const ValueSource>;

struct SavedTensors {
  testing::TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "x.safetensors";
  std::vector<float> values = {1, 2, 3, 4};

  SavedTensors() { save(file, {{"a", {DType::f32, {4}}}, {"b", {DType::f32, {2, 2}}}}); }

  void save(const std::filesystem::path& path, const std::vector<NamedType>& types) const {
    save_tensors(path, types, [&](std::size_t i) {
      return std::as_bytes(std::span(values).first(types[i].type.bytes() / sizeof(float)));
    });
  }
  // Two kernels that load "a" and "b", and one that loads "a" again.
  Share share(const Attrs& a, const Attrs& b) const {
    Share share = make_share(self, {{}, {}, {}});
    for (Share::Kernel& kernel : share.kernels) kernel.kind = builtin_ops().find("load");
    share.kernels[0].attrs = share.kernels[2].attrs = &a;
    share.kernels[1].attrs = &b;
    return share;
  }
  Attrs load(std::string_view name) const {
    return complete_attrs(builtin_ops()[builtin_ops().find("load")],
                          {{"values", open_tensor(file, name).values}});
  }
  PackedShare pack() const { return PackedShare(share(load("a"), load("b"))); }
};

BOOST_FIXTURE_TEST_CASE(the_receiver_opens_the_file_of_a_tensor_once, SavedTensors) {
  const PackedShare packed = received(pack());
  std::deque<Attrs> attrs;
  OpenFiles files;
  const Share share = packed.unpack(builtin_ops(), attrs, files);
  BOOST_TEST(attrs.size() == 2U);
  BOOST_TEST(share.kernels[0].attrs == share.kernels[2].attrs);
  for (std::size_t k = 0; k < 2; ++k) {
    std::vector<float> read(4);
    share.kernels[k].attrs->get<Values>("values")->read(0, std::as_writable_bytes(std::span(read)));
    BOOST_TEST(read == values);
  }
  BOOST_TEST_REQUIRE(files.size() == 1U);
  const auto opened = files.begin()->second;
  packed.unpack(builtin_ops(), attrs, files);
  BOOST_TEST(files.begin()->second == opened);
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_missing_or_not_the_same_is_refused, SavedTensors) {
  const PackedShare packed = pack();
  const auto expect_refusal = [&](const std::string& problem) {
    std::deque<Attrs> attrs;
    expect_error(ErrorKind::failed, file.string() + ": " + problem,
                 [&] { received(packed).unpack(builtin_ops(), attrs); });
  };
  save(file, {{"a", {DType::f32, {2, 2}}}, {"b", {DType::f32, {2, 2}}}});
  expect_refusal("'a' is float32 [2, 2] here, and float32 [4] where the run was started");
  save(file, {{"a", {DType::f32, {4}}}, {"b", {DType::f32, {2, 2}}}, {"c", {DType::f32, {1}}}});
  expect_refusal("the file has ");
  save(file, {{"a", {DType::f32, {4}}}});
  expect_refusal("");
  std::filesystem::resize_file(file, 60);
  expect_refusal("");
  std::filesystem::remove(file);
  expect_refusal("");
}

BOOST_AUTO_TEST_CASE(values_of_this_program_are_refused) {
  class InMemory final : public ValueSource {
    void read(std::uint64_t, std::span<std::byte>) const override {}
  };
  const Values values = std::make_shared<InMemory>();
  const Attrs attrs{{"values", values}};
  expect_error(ErrorKind::failed, "values of this program can't be sent to another node",
               [&] { PackedShare{share_of(builtin_ops(), "load", &attrs)}; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
