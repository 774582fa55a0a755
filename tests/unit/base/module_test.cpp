#include "core/base/module.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(module)

BOOST_AUTO_TEST_CASE(a_module_that_is_nowhere_is_told_from_one_that_does_not_load) {
  const OpenedModule missing = open_module("libtroupe_nowhere.so", "entry");
  BOOST_TEST(missing.entry == nullptr);
  BOOST_TEST(!missing.is_there);
  BOOST_TEST(missing.problem.find("libtroupe_nowhere.so") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_library_without_the_entry_is_no_module) {
  const OpenedModule other = open_module("libm.so.6", "troupe_no_such_entry");
  BOOST_TEST(other.entry == nullptr);
  BOOST_TEST(other.is_there);
  BOOST_TEST(other.problem == "libm.so.6 is not a part of Troupe");
}

BOOST_AUTO_TEST_CASE(the_entry_of_a_module_can_be_called) {
  const OpenedModule math = open_module("libm.so.6", "fabs");
  BOOST_REQUIRE(math.entry != nullptr);
  BOOST_TEST(reinterpret_cast<double (*)(double)>(math.entry)(-3) == 3);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
