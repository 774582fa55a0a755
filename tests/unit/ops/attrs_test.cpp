#include "core/ops/attrs.hpp"

#include "core/ops/op_kind.hpp"
#include "tests/support/expect_error.hpp"

#include <cmath>

#include <boost/test/unit_test.hpp>

namespace troupe {
using testing::expect_error;

BOOST_AUTO_TEST_SUITE(attributes)
namespace {

const OpKind& sample() {
  static const OpKind kind{
      .name = "sample",
      .attrs = {{.name = "factor", .fallback = 0.5},
                {.name = "axes", .fallback = Integers{}, .value_max = 3},
                {.name = "count", .fallback = std::int64_t{1}, .value_min = -1},
                {.name = "side", .fallback = std::string("left"), .choices = {"left", "right"}},
                {.name = "label", .fallback = std::string()}}};
  return kind;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_value_is_reached_by_name_and_type) {
  const Attrs attrs{{"alpha", 0.5}, {"axes", Integers{2, 0}}, {"side", "left"}, {"seed", 7}};
  BOOST_TEST(attrs.get<double>("alpha") == 0.5);
  BOOST_TEST((attrs.get<Integers>("axes") == Integers{2, 0}));
  BOOST_TEST(attrs.get<std::string>("side") == "left");
  BOOST_TEST(attrs.get<std::int64_t>("seed") == 7);
  BOOST_TEST(attrs.find("beta") == nullptr);
}

BOOST_AUTO_TEST_CASE(reading_a_name_or_a_type_that_is_not_there_is_an_error_that_says_what_is) {
  const Attrs attrs{{"alpha", 0.5}, {"seed", 7}};
  expect_error(ErrorKind::usage, "there is no attribute 'alpa' to read; did you mean 'alpha'?",
               [&] { attrs.get<double>("alpa"); });
  expect_error(ErrorKind::usage, "attribute 'alpha' is a number, read as a whole number",
               [&] { attrs.get<std::int64_t>("alpha"); });
}

BOOST_AUTO_TEST_CASE(set_replaces_the_value_of_a_name) {
  Attrs attrs{{"alpha", 0.5}};
  attrs.set("alpha", 2.0);
  attrs.set("beta", true);
  BOOST_TEST((attrs == Attrs{{"alpha", 2.0}, {"beta", true}}));
}

BOOST_AUTO_TEST_CASE(attributes_that_are_not_given_take_their_fallbacks_in_the_order_of_the_kind) {
  BOOST_TEST((
      complete_attrs(sample(), {{"side", "right"}, {"axes", Integers{3}}}) ==
      Attrs{
          {"factor", 0.5}, {"axes", Integers{3}}, {"count", 1}, {"side", "right"}, {"label", ""}}));
}

BOOST_AUTO_TEST_CASE(a_whole_number_serves_as_a_number) {
  BOOST_TEST(complete_attrs(sample(), {{"factor", 3}}).get<double>("factor") == 3.0);
}

BOOST_AUTO_TEST_CASE(lists_may_be_of_numbers_and_of_words) {
  OpKind kind{.name = "lists",
              .attrs = {{.name = "weights", .fallback = Numbers{0.5}},
                        {.name = "modes", .fallback = Texts{}, .choices = {"add", "mul"}}}};
  BOOST_TEST((complete_attrs(kind, {}).get<Numbers>("weights") == Numbers{0.5}));
  const Attrs given =
      complete_attrs(kind, {{"weights", Integers{1, -2}}, {"modes", Texts{"mul", "add"}}});
  BOOST_TEST((given.get<Numbers>("weights") == Numbers{1, -2}));
  BOOST_TEST((given.get<Texts>("modes") == Texts{"mul", "add"}));
  expect_error(ErrorKind::usage, "'modes' of 'lists' is 'mull'; did you mean 'mul'?", [&] {
    complete_attrs(kind, {{"modes", Texts{"add", "mull"}}});
  });
  expect_error(ErrorKind::usage, "'weights' of 'lists' is 9007199254740993; it must be a number",
               [&] {
                 complete_attrs(kind, {{"weights", Integers{1, 9007199254740993}}});
               });
  expect_error(ErrorKind::usage, "'weights' of 'lists' is a number; it must be a list of numbers",
               [&] {
                 complete_attrs(kind, {{"weights", 1.0}});
               });
}

BOOST_AUTO_TEST_CASE(numbers_are_alike_if_their_bits_are) {
  const double nan = std::nan("");
  BOOST_TEST(are_alike(nan, nan));
  BOOST_TEST(are_alike(Numbers{1, nan}, Numbers{1, nan}));
  BOOST_TEST(!are_alike(0.0, -0.0));
  BOOST_TEST(!are_alike(Numbers{0.0}, Numbers{-0.0}));
  BOOST_TEST(!are_alike(1.0, std::int64_t{1}));
  BOOST_TEST(!are_alike(Numbers{1}, Numbers{1, 2}));
}

BOOST_AUTO_TEST_CASE(names_types_and_values_that_do_not_fit_are_refused) {
  const auto refused = [](const char* text, const Attrs& attrs) {
    expect_error(ErrorKind::usage, text, [&] { complete_attrs(sample(), attrs); });
  };
  refused("'sample' has no attribute 'facto'; did you mean 'factor'?", {{"facto", 1.0}});
  refused("'factor' of 'sample' is 9007199254740993; it must be a number that float64 holds",
          {{"factor", (std::int64_t{1} << 53) + 1}});
  refused("'factor' of 'sample' is given twice", {{"factor", 1.0}, {"factor", 2.0}});
  refused("'factor' of 'sample' is a text; it must be a number", {{"factor", "1"}});
  refused("'axes' of 'sample' is a whole number; it must be a list of whole numbers",
          {{"axes", 1}});
  refused("'axes' of 'sample' is 4; it goes from 0 to 3", {{"axes", Integers{0, 4}}});
  refused("'count' of 'sample' is -2; it goes from -1 to", {{"count", -2}});
  refused("'side' of 'sample' is 'rigth'; did you mean 'right'?", {{"side", "rigth"}});
}

BOOST_AUTO_TEST_CASE(what_a_kind_prepares_comes_with_its_attributes) {
  OpKind kind = sample();
  kind.prepare = [](const Attrs& attrs) -> std::shared_ptr<const void> {
    return std::make_shared<const double>(2 * attrs.get<double>("factor"));
  };
  const Attrs attrs = complete_attrs(kind, {{"factor", 4.0}});
  BOOST_TEST(attrs.prepared<double>() == 8.0);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
