#include "core/config/nesting.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(nesting)
namespace {

// "line:column" of the first bracket inside of two others; "" where none is.
std::string third_level(std::string_view text) {
  const auto place = find_bracket_too_deep(text, 2);
  if (!place) return "";
  BOOST_TEST((text[place->offset] == '[' || text[place->offset] == '{'));
  return std::to_string(place->line) + ":" + std::to_string(place->column);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_bracket_inside_of_too_many_others_is_found) {
  BOOST_TEST(third_level("a: [1, [2, 3], [4, [5]]]\n") == "1:20");
  BOOST_TEST(third_level("a: {b: {c: {}}}\n") == "1:12");
  BOOST_TEST(third_level("a:\n- [\n  [\n    {}]]\n") == "4:5");
  BOOST_TEST(third_level("[a: [b: [c") == "1:9");
  BOOST_TEST(third_level("{\"a\":{\"b\":{") == "1:11");
  BOOST_TEST(third_level("[[[[[[[[") == "1:3");
}

BOOST_AUTO_TEST_CASE(brackets_that_are_closed_do_not_count) {
  BOOST_TEST(third_level("a: [[], {}, [], {b: 1}, []]\nb: [[]]\n") == "");
  BOOST_TEST(third_level("a: ]]]\nb: [[[") == "2:6");
}

BOOST_AUTO_TEST_CASE(brackets_in_quotes_do_not_count) {
  BOOST_TEST(third_level("a: '[[[['\n") == "");
  BOOST_TEST(third_level("a: \"[[\\\"[[\"\n") == "");
  BOOST_TEST(third_level("a: 'it''s [[['\n") == "");
  BOOST_TEST(third_level("a: ['[', \"[\n[\", [[") == "2:6");
  BOOST_TEST(third_level("a: \"[[[") == "");
  BOOST_TEST(third_level("a: \"\\") == "");
}

BOOST_AUTO_TEST_CASE(brackets_in_comments_do_not_count) {
  BOOST_TEST(third_level("# [[[\na: [ # [[[\n  1]\n") == "");
  BOOST_TEST(third_level("a: [x#, [[") == "1:10");
}

BOOST_AUTO_TEST_CASE(brackets_within_a_plain_word_do_not_count) {
  BOOST_TEST(third_level("a: run[[[\nb: x [[[\n- y{{{\n") == "");
  // Between brackets a plain word ends at a bracket.
  BOOST_TEST(third_level("a: [run[[") == "1:9");
}

BOOST_AUTO_TEST_CASE(a_quote_within_a_plain_word_opens_nothing) {
  BOOST_TEST(third_level("a: rock 'n roll\nb: [[[") == "2:6");
  BOOST_TEST(third_level("a: [don't, [[") == "1:13");
  BOOST_TEST(third_level("a: [rock\n 'n roll, [[") == "2:12");
}

BOOST_AUTO_TEST_CASE(brackets_in_block_scalars_do_not_count) {
  BOOST_TEST(third_level("a: |\n  [[[\n\n  [[[\nb: [[[") == "5:6");
  BOOST_TEST(third_level("- a: >-  # [[[\n\n   [[[\n  b: [[[") == "4:8");
  BOOST_TEST(third_level("- |2\n   [[[\n  [[[\n [[[") == "4:4");
  BOOST_TEST(third_level("a: [|\n  [[") == "2:4");
}

BOOST_AUTO_TEST_CASE(a_quote_in_text_of_several_lines_hides_no_brackets) {
  BOOST_TEST(third_level("a: |\n  \"\nb: [[[") == "3:6");
  BOOST_TEST(third_level("a: |1\n    x\n '\nb: [[[") == "4:6");
  BOOST_TEST(third_level("--- |\n '\n[[[") == "3:3");
  BOOST_TEST(third_level("a: x\n  '\nb: [[[") == "3:6");
  BOOST_TEST(third_level("a:\n  - x\n   '\n  - [[[") == "4:7");
}

BOOST_AUTO_TEST_CASE(directives_markers_aliases_and_tags_do_not_hide_brackets) {
  BOOST_TEST(third_level("%x: \"\n---\n[[[") == "3:3");
  BOOST_TEST(third_level("--- [[[") == "1:7");
  BOOST_TEST(third_level("... [[[") == "1:7");
  BOOST_TEST(third_level("*x [[[") == "1:6");
  BOOST_TEST(third_level("a: !\"x \"\nb: [[[") == "2:6");
  BOOST_TEST(third_level("[\"x\"#\"\n, [[") == "2:4");
  BOOST_TEST(third_level("[:\"\n, [[") == "2:4");
}

BOOST_AUTO_TEST_CASE(anchors_and_tags_do_not_hide_brackets) {
  BOOST_TEST(third_level("a: &x [!t [&y[") == "1:14");
}

BOOST_AUTO_TEST_SUITE_END()
