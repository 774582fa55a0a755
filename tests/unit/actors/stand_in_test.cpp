#include "actors/nodes/stand_in.hpp"

#include "actors/messages.hpp"
#include "actors/nodes/node_protocol.hpp"

#include <chrono>
#include <cstdint>

#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(stand_in)

// An actor that crashes on a node leaves no records, nor how much it has done.
BOOST_AUTO_TEST_CASE(work_that_was_reported_stays_done_when_the_actor_on_the_node_crashes) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const caf::scoped_actor agent(system);
  const caf::scoped_actor coordinator(system);
  constexpr ResourceId self{0};
  const caf::actor of_node = spawn_stand_in(system, caf::actor_cast<caf::actor>(agent), 1, self,
                                            caf::actor_cast<caf::actor>(coordinator), nullptr);
  caf::anon_send(of_node, Progress{self, 4096});
  caf::anon_send(of_node, LastRecords{});
  std::uint64_t done = 0;
  const auto fail = [] { BOOST_ERROR("no answer"); };
  coordinator->receive([](const Progress&) {}, caf::after(std::chrono::minutes(1)) >> fail);
  coordinator->receive([&](const Collected& last) { done = last.done; },
                       caf::after(std::chrono::minutes(1)) >> fail);
  BOOST_TEST(done == 4096U);
}

BOOST_AUTO_TEST_CASE(records_of_work_that_a_node_did_not_get_end_the_stand_in_alone) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const caf::scoped_actor agent(system);
  const caf::scoped_actor coordinator(system);
  const caf::actor of_node =
      spawn_stand_in(system, caf::actor_cast<caf::actor>(agent), 1, ResourceId{0},
                     caf::actor_cast<caf::actor>(coordinator), nullptr);
  const caf::scoped_actor self(system);
  self->monitor(of_node);
  caf::anon_send(of_node, ShareDone{1, ShareRecords(Share{})});
  self->receive([](const caf::down_msg&) {},
                caf::after(std::chrono::minutes(1)) >> [] { BOOST_ERROR("it goes on"); });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
