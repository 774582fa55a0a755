#include "core/base/units.hpp"

#include "core/base/error.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

template <class T>
std::string refusal(T (*parse)(std::string_view), std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::usage));
    BOOST_TEST(error.place().file == "");
    BOOST_TEST(error.remedy().starts_with("units are "));
    return error.problem();
  }
  return "accepted";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(units)

BOOST_AUTO_TEST_CASE(rates_are_read) {
  BOOST_TEST(parse_flops("14.4 TFLOP/s") == 14.4e12);
  BOOST_TEST(parse_flops("510 GFLOP/s") == 510e9);
  BOOST_TEST(parse_flops("510GFLOP/s") == 510e9);
  BOOST_TEST(parse_flops(" 1e3 FLOP/s ") == 1e3);
}

BOOST_AUTO_TEST_CASE(bandwidths_are_read_in_powers_of_1000_and_1024) {
  BOOST_TEST(parse_bandwidth("1.44 GB/s") == 1.44e9);
  BOOST_TEST(parse_bandwidth("700 MiB/s") == 700.0 * 1048576);
}

BOOST_AUTO_TEST_CASE(sizes_are_read_in_powers_of_1000_and_1024) {
  BOOST_TEST(parse_bytes("16 GiB") == std::uint64_t{16} << 30);
  BOOST_TEST(parse_bytes("144 MB") == 144'000'000U);
  BOOST_TEST(parse_bytes("4096 B") == 4096U);
  BOOST_TEST(parse_bytes("0 B") == 0U);
}

BOOST_AUTO_TEST_CASE(fractions_of_large_units_are_rounded_to_whole_bytes) {
  BOOST_TEST(parse_bytes("1.5 KiB") == 1536U);
  BOOST_TEST(parse_bytes("0.3 KiB") == 307U);
  BOOST_TEST(refusal(parse_bytes, "1.5 B") == "'1.5 B' is not a size: bytes come whole");
}

BOOST_AUTO_TEST_CASE(durations_are_read) {
  BOOST_TEST((parse_duration("10 us") == 10us));
  BOOST_TEST((parse_duration("10 µs") == 10us));       // micro sign
  BOOST_TEST((parse_duration("10 \u03BCs") == 10us));  // Greek letter
  BOOST_TEST((parse_duration("0.3 s") == 300ms));
  BOOST_TEST((parse_duration("7 ns") == 7ns));
  BOOST_TEST((parse_duration("2 min") == 120s));
  BOOST_TEST((parse_duration("1.4 ns") == 1ns));
}

BOOST_AUTO_TEST_CASE(zero_needs_no_unit) {
  BOOST_TEST((parse_duration("0") == 0s));
  BOOST_TEST(parse_bytes("0") == 0U);
}

BOOST_AUTO_TEST_CASE(a_missing_unit_is_refused_with_the_list_of_units) {
  BOOST_TEST(refusal(parse_duration, "10") == "'10' is not a duration: it has no unit");
  try {
    parse_duration("10");
  } catch (const Error& error) {
    BOOST_TEST(error.remedy() == "units are ns, us, ms, s, min, as in \"10 us\"");
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_unit_is_refused_with_the_nearest_one) {
  BOOST_TEST(refusal(parse_flops, "3 TFLOPS") ==
             "'3 TFLOPS' is not a rate: unknown unit 'TFLOPS' (did you mean 'TFLOP/s'?)");
  BOOST_TEST(refusal(parse_bandwidth, "1 gb/s") ==
             "'1 gb/s' is not a bandwidth: unknown unit 'gb/s' (did you mean 'GB/s'?)");
  BOOST_TEST(refusal(parse_bytes, "1 furlong") ==
             "'1 furlong' is not a size: unknown unit 'furlong'");
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_refused) {
  for (const char* text :
       {"", " ", "GB/s", "fast", "inf GB/s", "nan GB/s", "+1 GB/s", "0x1 GB/s"}) {
    BOOST_TEST(refusal(parse_bandwidth, text) != "accepted", "'" << text << "'");
  }
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_refused) {
  BOOST_TEST(refusal(parse_flops, "0 GFLOP/s").ends_with("it must be above 0"));
  BOOST_TEST(refusal(parse_bandwidth, "-1 GB/s").ends_with("it must be above 0"));
  BOOST_TEST(refusal(parse_bandwidth, "0").ends_with("it must be above 0"));
  BOOST_TEST(refusal(parse_duration, "-1 us").ends_with("it must not be negative"));
  BOOST_TEST(refusal(parse_bytes, "-1 B").ends_with("it must not be negative"));
  BOOST_TEST(refusal(parse_bytes, "99999 PB").ends_with("it is too large"));
  BOOST_TEST(refusal(parse_duration, "1e300 min").ends_with("it is too large"));
  BOOST_TEST(refusal(parse_flops, "1e400 FLOP/s").ends_with("its number is too large"));
  BOOST_TEST(refusal(parse_flops, "1e300 PFLOP/s").ends_with("it is too large"));
}

BOOST_AUTO_TEST_CASE(quantities_are_printed_in_the_unit_that_reads_best) {
  BOOST_TEST(format_flops(14.4e12) == "14.4 TFLOP/s");
  BOOST_TEST(format_flops(509.7164e9) == "509.7 GFLOP/s");
  BOOST_TEST(format_bandwidth(1.44e9) == "1.44 GB/s");
  BOOST_TEST(format_bandwidth(12e15) == "12 PB/s");
  BOOST_TEST(format_bytes(std::uint64_t{16} << 30) == "16 GiB");
  BOOST_TEST(format_bytes(144'000'000) == "144 MB");
  BOOST_TEST(format_bytes(4096) == "4 KiB");
  BOOST_TEST(format_bytes(1536) == "1.5 KiB");
  BOOST_TEST(format_bytes(0) == "0 B");
  BOOST_TEST(format_duration(313'900us) == "313.9 ms");
  BOOST_TEST(format_duration(10us) == "10 us");
  BOOST_TEST(format_duration(0ns) == "0 s");
  BOOST_TEST(format_duration(-5ms) == "-5 ms");
  BOOST_TEST(format_duration(3600s) == "3600 s");
}

BOOST_AUTO_TEST_CASE(counts_are_printed_with_what_is_counted) {
  BOOST_TEST(format_count(0, "device") == "0 devices");
  BOOST_TEST(format_count(1, "device") == "1 device");
  BOOST_TEST(format_count(2, "device") == "2 devices");
}

BOOST_AUTO_TEST_CASE(rounding_moves_on_to_the_next_unit) {
  BOOST_TEST(format_duration(999'960us) == "1 s");
  BOOST_TEST(format_bandwidth(999.99e6) == "1 GB/s");
}

BOOST_AUTO_TEST_CASE(what_is_printed_is_read_again) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{64} << 20, std::uint64_t{2'000'000}}) {
    BOOST_TEST(parse_bytes(format_bytes(bytes)) == bytes);
  }
  BOOST_TEST((parse_duration(format_duration(1234us)) == 1234us));
  BOOST_TEST(parse_flops(format_flops(22.7e12)) == 22.7e12);
}

BOOST_AUTO_TEST_SUITE_END()
