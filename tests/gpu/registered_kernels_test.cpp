// The kernels that nvcc's code registers with the runtime before main().
#include "tests/support/cuda/stand_in_control.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

BOOST_AUTO_TEST_SUITE(stand_in_registered_kernels)

boost::test_tools::assertion_result on_stand_in(boost::unit_test::test_unit_id) {
  return StandIn::find() != nullptr;
}

// A kernel without a body is printed, and makes the process exit with 97.
BOOST_AUTO_TEST_CASE(every_registered_kernel_has_a_body,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandIn* stand_in = StandIn::find();
  stand_in->check_kernels();
  BOOST_CHECK_EQUAL(stand_in->get("failures"), 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
