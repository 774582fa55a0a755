#include "core/base/text.hpp"

#include "core/base/error.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(text)
namespace {

// "line:column problem" of what check_text refuses; empty where it accepts.
std::string refusal(std::string_view text) {
  try {
    check_text(text, "f");
  } catch (const Error& error) {
    return std::to_string(error.place().line) + ":" + std::to_string(error.place().column) + " " +
           error.problem();
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(utf8_with_tabs_and_line_ends_is_accepted) {
  BOOST_TEST(refusal("") == "");
  BOOST_TEST(refusal("a\tb\r\n10 µs → é 漢 😀\n") == "");
}

BOOST_AUTO_TEST_CASE(what_is_not_utf8_is_refused_at_its_place) {
  BOOST_TEST(refusal("ab\ncd\xFF") == "2:3 the file is not UTF-8 text");
  BOOST_TEST(refusal("\xC3") == "1:1 the file is not UTF-8 text");              // cut off
  BOOST_TEST(refusal("\xC0\xAF") == "1:1 the file is not UTF-8 text");          // overlong
  BOOST_TEST(refusal("\xED\xA0\x80") == "1:1 the file is not UTF-8 text");      // surrogate
  BOOST_TEST(refusal("\xF4\x90\x80\x80") == "1:1 the file is not UTF-8 text");  // > U+10FFFF
  BOOST_TEST(refusal("\xE2(\xA1") == "1:1 the file is not UTF-8 text");
}

BOOST_AUTO_TEST_CASE(control_characters_are_refused_at_their_place) {
  BOOST_TEST(refusal("a\n\x1B[31m") == "2:1 control characters are not supported");
  BOOST_TEST(refusal(std::string_view("a\0b", 3)) == "1:2 control characters are not supported");
}

BOOST_AUTO_TEST_CASE(quotes_close_where_the_same_quote_comes_again) {
  BOOST_TEST(quotes_close(R"(x: "a")", 3));
  BOOST_TEST(!quotes_close(R"(x: "a)", 3));
  BOOST_TEST(!quotes_close(R"(x: "a\")", 3));
  BOOST_TEST(quotes_close(R"(x: "a\\")", 3));
  BOOST_TEST(quotes_close("'it''s'", 0));
  BOOST_TEST(!quotes_close("'it''", 0));
  BOOST_TEST(quotes_close("plain", 0));
}

BOOST_AUTO_TEST_CASE(control_characters_and_bad_bytes_become_visible) {
  BOOST_TEST(visible("a\tb\nc\rd\x1b[2J\x7f") == "a\\tb\\nc\\rd\\x1b[2J\\x7f");
  BOOST_TEST(visible("\xC2\x80 \xC2\x9b \xC2\x9f \xC2\xA0") == "\\u0080 \\u009b \\u009f \xC2\xA0");
  BOOST_TEST(visible("\x9b \xff \xE2\x82") == "\\x9b \\xff \\xe2\\x82");
  BOOST_TEST(visible("größe → 行列 \\n") == "größe → 行列 \\n");
  BOOST_TEST(visible(visible("\n")) == visible("\n"));
}

BOOST_AUTO_TEST_CASE(blanks_at_both_ends_are_trimmed) {
  BOOST_TEST(trimmed(" \ta b\r\n") == "a b");
  BOOST_TEST(trimmed("ab") == "ab");
  BOOST_TEST(trimmed(" \t ").empty());
  BOOST_TEST(trimmed("").empty());
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_between_characters) {
  BOOST_TEST(shortened("short") == "short");
  BOOST_TEST(shortened(std::string(80, 'a')) == std::string(60, 'a') + "…");
  BOOST_TEST(shortened(std::string(59, 'a') + "µµ") == std::string(59, 'a') + "…");
}

BOOST_AUTO_TEST_SUITE_END()
