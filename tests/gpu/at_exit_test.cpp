// A session that ends after main, with work on a GPU under way. How it ends shows in how this
// program does.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "tests/gpu/gpu_fixture.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(gpu_at_exit)

BOOST_AUTO_TEST_CASE(a_static_session_may_have_work_on_a_gpu_when_the_process_ends,
                     *boost::unit_test::precondition(testing::has_gpu)) {
  static Session session(testing::gpu_machine(1));
  const DeviceScope on = session.on("gpu0");
  static Tensor x = session.uniform({64, 64});
  // The static objects that the backend makes with its first op are younger than the session, so
  // they would be destroyed before it.
  session.wait_all();
  for (int i = 0; i < 200; ++i) x = matmul(x, x);
  BOOST_TEST(to_string(x.type()) == "float32 [64, 64]");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
