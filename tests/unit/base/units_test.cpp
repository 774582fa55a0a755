#include "core/base/units.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(units)
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

// "problem; remedy" of a unit of bits.
template <class T>
std::string refusal_of_bits(T (*parse)(std::string_view), std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// Checks that every unit of the list that messages give is in one of the rows: that none is left
// out of its table when one is added.
template <class T, class Rows>
void check_units_listed(T (*parse)(std::string_view), const Rows& rows) {
  std::string remedy;
  try {
    parse("1 furlong");
  } catch (const Error& error) {
    remedy = error.remedy();
  }
  constexpr std::string_view start = "units are ";
  BOOST_REQUIRE(remedy.starts_with(start));
  std::istringstream units(remedy.substr(start.size(), remedy.find(", as in") - start.size()));
  for (std::string unit; units >> unit;) {
    if (unit.ends_with(',')) unit.pop_back();
    const bool is_tested = std::any_of(
        rows.begin(), rows.end(), [&](const auto& row) { return row.text.ends_with(" " + unit); });
    BOOST_TEST(is_tested, unit << " is in no row");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_number_and_its_unit_may_have_blanks_around_them) {
  BOOST_TEST(parse_flops("510GFLOP/s") == 510e9);
  BOOST_TEST(parse_flops(" 1e3   FLOP/s ") == 1e3);
  BOOST_TEST(parse_flops("\t1e3\nFLOP/s\r\n") == 1e3);
}

BOOST_AUTO_TEST_CASE(every_unit_of_a_rate_is_read) {
  struct Row {
    std::string_view text;
    double flops_per_s;
  };
  constexpr std::array rows = {
      Row{"1.5 FLOP/s", 1.5},       Row{"1.5 kFLOP/s", 1.5e3},  Row{"1.5 MFLOP/s", 1.5e6},
      Row{"1.5 GFLOP/s", 1.5e9},    Row{"1.5 TFLOP/s", 1.5e12}, Row{"1.5 PFLOP/s", 1.5e15},
      Row{"14.4 TFLOP/s", 14.4e12},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.text) BOOST_TEST(parse_flops(row.text) == row.flops_per_s);
  }
  check_units_listed(parse_flops, rows);
}

BOOST_AUTO_TEST_CASE(every_unit_of_a_bandwidth_is_read) {
  struct Row {
    std::string_view text;
    double bytes_per_s;
  };
  constexpr std::array rows = {
      Row{"1.5 B/s", 1.5},
      Row{"1.5 kB/s", 1.5e3},
      Row{"1.5 MB/s", 1.5e6},
      Row{"1.5 GB/s", 1.5e9},
      Row{"1.5 TB/s", 1.5e12},
      Row{"1.5 PB/s", 1.5e15},
      Row{"1.5 KiB/s", 1536},
      Row{"1.5 MiB/s", 1536.0 * 1024},
      Row{"1.5 GiB/s", 1536.0 * 1024 * 1024},
      Row{"1.5 TiB/s", 1536.0 * 1024 * 1024 * 1024},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.text) BOOST_TEST(parse_bandwidth(row.text) == row.bytes_per_s);
  }
  check_units_listed(parse_bandwidth, rows);
}

BOOST_AUTO_TEST_CASE(every_unit_of_a_size_is_read) {
  struct Row {
    std::string_view text;
    std::uint64_t bytes;
  };
  constexpr std::array rows = {
      Row{"3 B", 3},
      Row{"3 kB", 3'000},
      Row{"3 MB", 3'000'000},
      Row{"3 GB", 3'000'000'000},
      Row{"3 TB", 3'000'000'000'000},
      Row{"3 PB", 3'000'000'000'000'000},
      Row{"3 KiB", 3'072},
      Row{"3 MiB", 3'145'728},
      Row{"3 GiB", 3'221'225'472},
      Row{"3 TiB", 3'298'534'883'328},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.text) BOOST_TEST(parse_bytes(row.text) == row.bytes);
  }
  check_units_listed(parse_bytes, rows);
}

BOOST_AUTO_TEST_CASE(every_unit_of_a_duration_is_read) {
  struct Row {
    std::string_view text;
    Duration duration;
  };
  constexpr std::array rows = {
      Row{"3 ns", 3ns},      Row{"3 us", 3us},   Row{"3 ms", 3ms},
      Row{"3 s", 3s},        Row{"3 min", 180s}, Row{"3 \u00B5s", 3us},  // micro sign
      Row{"3 \u03BCs", 3us},                                             // Greek letter
      Row{"0.3 s", 300ms},   Row{"1.4 ns", 1ns},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.text) BOOST_TEST((parse_duration(row.text) == row.duration));
  }
  check_units_listed(parse_duration, rows);
}

BOOST_AUTO_TEST_CASE(fractions_of_large_units_are_rounded_to_whole_bytes) {
  BOOST_TEST(parse_bytes("1.5 KiB") == 1536U);
  BOOST_TEST(parse_bytes("0.3 KiB") == 307U);
  BOOST_TEST(refusal(parse_bytes, "1.5 B") == "'1.5 B' is not a size: bytes come whole");
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
  BOOST_TEST(refusal(parse_bandwidth, "1 GBps") ==
             "'1 GBps' is not a bandwidth: unknown unit 'GBps' (did you mean 'GB/s'?)");
  BOOST_TEST(refusal(parse_bytes, "1 furlong") ==
             "'1 furlong' is not a size: unknown unit 'furlong'");
}

BOOST_AUTO_TEST_CASE(a_unit_of_another_size_is_not_suggested) {
  BOOST_TEST(refusal(parse_bandwidth, "1 EB/s") ==
             "'1 EB/s' is not a bandwidth: unknown unit 'EB/s'");
  BOOST_TEST(refusal(parse_duration, "5 m") == "'5 m' is not a duration: unknown unit 'm'");
  BOOST_TEST(refusal(parse_duration, "5 b") == "'5 b' is not a duration: unknown unit 'b'");
}

BOOST_AUTO_TEST_CASE(a_unit_of_bits_is_refused_with_the_same_quantity_in_bytes) {
  BOOST_TEST(refusal_of_bits(parse_bandwidth, "10 Gb/s") ==
             "'10 Gb/s' is not a bandwidth in bytes: a lower-case b stands for bits; write \"1.25 "
             "GB/s\" (a byte has 8 bits), or \"10 GB/s\" if bytes are meant");
  BOOST_TEST(
      refusal_of_bits(parse_bytes, "16gb") ==
      "'16gb' is not a size in bytes: a lower-case b stands for bits; write \"2 GB\" (a byte "
      "has 8 bits), or \"16 GB\" if bytes are meant");
  BOOST_TEST(refusal_of_bits(parse_bytes, "3 Pib").find("unknown unit 'Pib'") != std::string::npos);
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
  BOOST_TEST(refusal(parse_flops, "1e-400 FLOP/s").ends_with("its number is too close to zero"));
  BOOST_TEST(refusal(parse_bytes, "1,000 MB")
                 .ends_with("a number has no separators, and a point before its fraction"));
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
