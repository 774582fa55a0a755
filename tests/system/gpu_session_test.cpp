// Sessions on the GPUs of nodes.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "tests/support/gpu_files.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(gpu_session)

BOOST_AUTO_TEST_CASE(a_session_computes_on_the_gpus_of_its_nodes) {
  const GpuFiles files(anything);
  const GpuNode n0(files, {"DEVICES=1"});
  const GpuNode n1(files, {"DEVICES=2"});
  troupe::Session session({.node_addresses = {n0.address(), n1.address()}, .node_gpus = true});
  const std::vector<float> values{1, 2, 3, 4};
  troupe::Tensor x;
  {
    const troupe::DeviceScope on = session.on("n1.gpu1");
    const troupe::Tensor given = session.tensor(values, {2, 2});
    x = matmul(given, given);
    for (int i = 0; i < 100; ++i) x = axpy(-0.5, x, x);
  }
  const troupe::DeviceScope on = session.on("n0.gpu0");
  for (int i = 0; i < 100; ++i) x = x + x;
  BOOST_TEST(x.read<float>() == (std::vector<float>{7, 10, 15, 22}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
