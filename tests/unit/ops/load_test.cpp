#include "tests/support/expect_error.hpp"
#include "tests/support/op_fixture.hpp"

#include <cstring>
#include <memory>
#include <numeric>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(load)
namespace {

using Source = std::shared_ptr<const ValueSource>;

// Values in memory.
class InMemory final : public ValueSource {
 public:
  explicit InMemory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    TROUPE_ASSERT(offset + out.size() <= bytes_.size());
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(load_gives_the_values_of_its_source_as_the_declared_type) {
  std::vector<std::int64_t> numbers(2'200'001);  // several blocks
  std::iota(numbers.begin(), numbers.end(), -7);
  const Tensor expected = tensor<std::int64_t>({2'200'001, 1}, numbers);
  const Attrs attrs = {{"values", std::make_shared<const InMemory>(expected.bytes)}};
  BOOST_TEST((run_op("load", {}, attrs, expected.type) == expected));
  BOOST_TEST(same_for_every_team("load", {}, attrs, expected.type));
  BOOST_TEST(work_of("load", {}, attrs, expected.type).bytes == 17'600'008);
}

BOOST_AUTO_TEST_CASE(a_single_number_without_dimensions_is_loaded) {
  const Tensor expected = tensor<float>({}, {2.5F});
  const Attrs attrs = {{"values", std::make_shared<const InMemory>(expected.bytes)}};
  BOOST_TEST((run_op("load", {}, attrs, expected.type) == expected));
}

BOOST_AUTO_TEST_CASE(load_without_values_is_refused) {
  expect_error(ErrorKind::usage, "there are no values to load", [] {
    type_of("load", {}, {{"values", Source()}}, {DType::f32, {1}});
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
