// Checks that a function throws an Error of a given kind whose message contains a given text.
#pragma once

#include "core/base/error.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

template <class F>
void expect_error(ErrorKind kind, const std::string& text, const F& f) {
  try {
    f();
    BOOST_ERROR("nothing was thrown; wanted: " + text);
  } catch (const Error& e) {
    BOOST_TEST((e.kind() == kind));
    BOOST_TEST(std::string(e.what()).find(text) != std::string::npos,
               "got \"" << e.what() << "\", wanted \"" << text << "\" in it");
  }
}

}  // namespace troupe::testing
