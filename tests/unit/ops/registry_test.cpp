#include "core/ops/registry.hpp"

#include <algorithm>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(op_registry)

BOOST_AUTO_TEST_CASE(every_builtin_kind_is_found_by_its_name) {
  for (const char* name : {"uniform", "zeros", "matmul", "add", "sub", "mul", "scale", "relu",
                           "copy", "spin", "sleep", "fail"}) {
    const OpKindId id = builtin_ops().find(name);
    BOOST_REQUIRE_MESSAGE(id, name);
    BOOST_TEST(builtin_ops()[id].name == name);
  }
  BOOST_TEST(builtin_ops().size() == 12U);
  BOOST_TEST(builtin_ops().names().size() == 12U);
}

BOOST_AUTO_TEST_CASE(every_builtin_kind_has_a_summary_and_a_cpu_kernel) {
  for (std::size_t i = 0; i < builtin_ops().size(); ++i) {
    const OpKind& kind = builtin_ops()[OpKindId::at(i)];
    BOOST_TEST(!kind.summary.empty(), kind.name);
    BOOST_TEST((kind.cpu != nullptr), kind.name);
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_kind_is_none) {
  BOOST_TEST(!builtin_ops().find("matmull"));
  BOOST_TEST(!builtin_ops().find(""));
}

BOOST_AUTO_TEST_CASE(a_copy_of_the_builtin_kinds_takes_kinds_of_ones_own) {
  OpRegistry ops = builtin_ops();
  OpKind mine = ops[ops.find("relu")];
  mine.name = "my_relu";
  const OpKindId id = ops.add(mine);
  BOOST_TEST((ops.find("my_relu") == id));
  BOOST_TEST(!builtin_ops().find("my_relu"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
