#include "core/trace/text_layout.hpp"

#include "core/base/random.hpp"
#include "core/trace/time_axis.hpp"

#include <limits>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(text_layout)

BOOST_AUTO_TEST_CASE(times_have_four_significant_digits) {
  using std::chrono::microseconds, std::chrono::milliseconds, std::chrono::nanoseconds;
  const auto text = [](Duration d) { return time_text(d); };
  BOOST_TEST(text(nanoseconds{0}) == "0 ns");
  BOOST_TEST(text(nanoseconds{999}) == "999 ns");
  BOOST_TEST(text(nanoseconds{1'000}) == "1.000 us");
  BOOST_TEST(text(microseconds{10}) == "10.00 us");
  BOOST_TEST(text(microseconds{313'900}) == "313.9 ms");
  BOOST_TEST(text(nanoseconds{999'949}) == "999.9 us");
  BOOST_TEST(text(nanoseconds{999'950}) == "1.000 ms");
  BOOST_TEST(text(microseconds{999'999'999}) == "1,000 s");
  BOOST_TEST(text(milliseconds{1'063}) == "1.063 s");
  BOOST_TEST(text(milliseconds{9'999'000}) == "9,999 s");
  BOOST_TEST(text(milliseconds{10'000'000}) == "2.778 h");
  BOOST_TEST(text(milliseconds{-20}) == "-20.00 ms");
  BOOST_TEST(time_text(Duration::max()) == "292.3 y");
}

BOOST_AUTO_TEST_CASE(counts_are_grouped_and_huge_ones_are_rounded) {
  BOOST_TEST(count_text(0) == "0");
  BOOST_TEST(count_text(999) == "999");
  BOOST_TEST(count_text(640'000) == "640,000");
  BOOST_TEST(count_text(9'999'999) == "9,999,999");
  BOOST_TEST(count_text(12'345'678) == "12.35 M");
  BOOST_TEST(count_text(1'999'960'000) == "2 G");
  BOOST_TEST(count_text(std::numeric_limits<std::uint64_t>::max()) == "18.45 E");
}

BOOST_AUTO_TEST_CASE(width_is_what_a_terminal_shows) {
  BOOST_TEST(display_width("gpu0") == 4);
  BOOST_TEST(display_width("vram0→host") == 10);
  BOOST_TEST(display_width("行列") == 4);
  BOOST_TEST(display_width("e\u0301") == 1);
  BOOST_TEST(display_width("🎭") == 2);
  BOOST_TEST(display_width("✅⭐⚡") == 6);
  BOOST_TEST(display_width("ก็") == 1);
  BOOST_TEST(display_width("┌─┐") == 3);
}

BOOST_AUTO_TEST_CASE(printable_text_has_no_control_characters_and_no_broken_utf_8) {
  BOOST_TEST(printable("a\tb\nc\x1B[31m") == "a b c [31m");
  BOOST_TEST(printable("ok\xFF") == "ok\uFFFD");
  BOOST_TEST(printable("\xC0\x80") == "\uFFFD\uFFFD");            // overlong
  BOOST_TEST(printable("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");  // a surrogate
  BOOST_TEST(printable("\xE2\x86") == "\uFFFD\uFFFD");            // cut off
  BOOST_TEST(printable("\u202Eabc") == " abc");                   // would turn the line around
}

BOOST_AUTO_TEST_CASE(shortening_keeps_both_ends) {
  BOOST_TEST(shorten("pcie0 vram0→host", 16) == "pcie0 vram0→host");
  BOOST_TEST(shorten("pcie0 vram0→host", 9) == "pcie…host");
  BOOST_TEST(shorten("abcdef", 1) == "…");
  BOOST_TEST(shorten("abcdef", 0) == "");
  BOOST_TEST(shorten("行列行列", 5) == "行…列");
}

BOOST_AUTO_TEST_CASE(wrapping_breaks_at_spaces_and_inside_long_words_only) {
  const std::vector<std::string> at_spaces{"Run on", "GPU and", "copy"};
  BOOST_TEST(wrap("Run on GPU and copy", 7) == at_spaces, boost::test_tools::per_element());
  const std::vector<std::string> inside{"abcd", "efgh", "ij k"};
  BOOST_TEST(wrap("abcdefghij k", 4) == inside, boost::test_tools::per_element());
  BOOST_TEST(wrap("", 4).size() == 1);
}

BOOST_AUTO_TEST_CASE(any_bytes_are_laid_out_within_the_width) {
  constexpr std::uint64_t seed = 1;
  BOOST_TEST_MESSAGE("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes(random.below(40), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(i % 2 == 0 ? 256 : 128));
    const std::size_t width = 2 + random.below(20);
    BOOST_REQUIRE_LE(display_width(shorten(printable(bytes), width)), width);
    for (const std::string& line : wrap(bytes, width)) {
      BOOST_REQUIRE_LE(display_width(line), width);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_axis_has_ticks_at_round_times) {
  const TimeAxis axis = time_axis(std::chrono::milliseconds{18}, 30, 60, 100);
  BOOST_TEST(axis.labels == " 0          0.2 s      0.4 s");
  BOOST_TEST(axis.line == "┌───────────┬──────────┬───────┐");
  BOOST_TEST(time_axis(Duration{1}, 12, 12, 100).labels == " 0         10 ns");
}

BOOST_AUTO_TEST_CASE(marks_of_writing_directions_do_not_reach_a_terminal) {
  BOOST_TEST(printable("a\u200Eb\u202Ec\u2066d\u2069e\u061Cf") == "a b c d e f");
}

BOOST_AUTO_TEST_SUITE_END()
