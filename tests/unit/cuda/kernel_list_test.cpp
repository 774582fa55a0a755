// The list of kernels, and the names under which nvcc registers them.
#include "core/backend/cuda/cuda_call.hpp"
#include "core/ops/builtin.hpp"
#include "tests/support/cuda/kernel_bodies.hpp"
#include "tests/unit/cuda/immediate_runtime.hpp"

#include <algorithm>
#include <set>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(cuda_kernel_list)

// A load reads files, and fail has nothing to do on a GPU.
BOOST_AUTO_TEST_CASE(every_kind_that_a_device_computes_has_a_kernel) {
  std::set<std::string_view> wanted;
  for (const auto& make : builtin_kinds) wanted.insert(make().name);
  for (const char* kind : {"load", "fail"}) wanted.erase(kind);
  std::set<std::string_view> listed;
  for (const CudaKernelEntry& entry : cuda_kernels()) {
    BOOST_TEST((entry.launch != nullptr));
    BOOST_TEST(listed.insert(entry.kind).second, entry.kind << " is listed twice");
  }
  BOOST_TEST(listed == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_kernels_that_nvcc_registers_are_those_with_a_body) {
  std::vector<std::string> registered = registered_kernels();
  std::ranges::sort(registered);
  BOOST_TEST(registered == kernel_body_names(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_parameters_of_a_kernel_say_what_it_reads_and_writes) {
  const KernelBody* const fold =
      find_kernel_body("_ZN6troupe14device_kernels10fold_inputIjEEvPKT_lPm");
  BOOST_REQUIRE(fold != nullptr);
  BOOST_REQUIRE(fold->parameters.size() == 3U);
  const auto& [input, count, hashes] =
      std::tie(fold->parameters[0], fold->parameters[1], fold->parameters[2]);
  BOOST_TEST((input.is_pointer && input.is_const_pointee));
  BOOST_TEST((!count.is_pointer && count.bytes == sizeof(std::int64_t)));
  BOOST_TEST((hashes.is_pointer && !hashes.is_const_pointee));
  BOOST_TEST((find_kernel_body("_Z5otherv") == nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
