#include "actors/nodes/machine_values.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "actors/nodes/packed_share.hpp"
#include "actors/nodes/share_records.hpp"
#include "core/config/machine_file.hpp"
#include "tests/support/node_message.hpp"
#include "tests/support/share_maker.hpp"
#include "tests/support/small_machine.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(node_values)
namespace {

using testing::read;
using testing::received;
using testing::written;

std::vector<std::string> words(const Machine& machine) {
  std::vector<std::string> words = machine.nodes;
  words.push_back(machine.name);
  for (const Device& d : machine.devices) words.push_back(caf::deep_to_string(d));
  for (const Memory& m : machine.memories) words.push_back(caf::deep_to_string(m));
  for (const Link& l : machine.links) words.push_back(caf::deep_to_string(l));
  return words;
}

BOOST_AUTO_TEST_CASE(a_machine_of_nodes_arrives_as_it_was_sent) {
  Machine sent = load_machine_file(TROUPE_SOURCE_DIR "/config/machines/cluster.yaml");
  sent.devices[0].bandwidth = 0.1 + 0.2;
  sent.devices[0].cores = {3, 1};
  sent.devices[0].issue_depth = 8;
  sent.devices[0].gpu = 2;
  sent.devices[0].tf32 = true;
  sent.devices[0].cuda_graphs = false;
  sent.memories[0].directory = "/scratch";
  const Machine machine = received(sent);
  BOOST_TEST(machine.nodes.size() == 8U);
  BOOST_TEST(words(machine) == words(sent), boost::test_tools::per_element());
  for (std::size_t d = 0; d < sent.devices.size(); ++d) {
    BOOST_TEST((machine.devices[d].op_flops == sent.devices[d].op_flops));
    BOOST_TEST(machine.devices[d].issue_depth == sent.devices[d].issue_depth);
    BOOST_TEST(machine.devices[d].gpu == sent.devices[d].gpu);
    BOOST_TEST(machine.devices[d].tf32 == sent.devices[d].tf32);
    BOOST_TEST(machine.devices[d].cuda_graphs == sent.devices[d].cuda_graphs);
    BOOST_TEST((machine.devices[d].flops == sent.devices[d].flops));
    BOOST_TEST((machine.devices[d].bandwidth == sent.devices[d].bandwidth));
    BOOST_TEST((machine.devices[d].node == sent.devices[d].node));
  }
  for (std::size_t l = 0; l < sent.links.size(); ++l) {
    BOOST_TEST(std::ranges::equal(machine.links[l].bandwidth, sent.links[l].bandwidth));
  }
  check_machine(machine);
}

BOOST_AUTO_TEST_CASE(a_machine_that_is_cut_off_is_refused) {
  const std::vector<char> whole = written(testing::two_devices());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Machine machine;
    const auto end = whole.begin() + static_cast<std::ptrdiff_t>(size);
    BOOST_TEST(!read({whole.begin(), end}, machine));
  }
}

BOOST_AUTO_TEST_CASE(errors_and_types_arrive_as_they_were_sent) {
  const Error sent = usage_error({"run.yaml", 3, 5}, "there is no 'x'", "define it");
  const Error error = received(PackedError(sent)).unpack();
  BOOST_TEST((error.kind() == ErrorKind::usage));
  BOOST_TEST(std::string(error.what()) == sent.what());
  BOOST_TEST((received(PackedError(run_error("no"))).unpack().kind() == ErrorKind::failed));
  for (const TensorType& type : {TensorType{}, TensorType{DType::i64, {2, 3, 4}}}) {
    BOOST_TEST((received(type) == type));
  }
  BOOST_TEST((received(NodeId{7}) == NodeId{7}));
  TensorType impossible;
  std::vector<char> bytes = written(TensorType{DType::f32, {1}});
  bytes.back() = 0;  // the extent
  BOOST_TEST(!read(bytes, impossible));
}

BOOST_AUTO_TEST_CASE(messages_of_these_values_can_cross_the_network) {
  caf::actor_system_config config;
  add_node_protocol(config);
  caf::actor_system system(config);
  const Machine machine = testing::two_devices();
  const Share share = testing::make_share(ResourceId{0}, {{}, {}}, 3);
  auto sent = caf::make_message(PackedShare(share), ShareRecords(share), machine, NodeId{1},
                                PackedError(run_error("no")), std::vector<TensorType>(2));
  std::vector<char> bytes;
  caf::binary_serializer sink(system, bytes);
  BOOST_TEST_REQUIRE(!sink(sent));
  caf::message message;
  caf::binary_deserializer source(system, bytes);
  BOOST_TEST_REQUIRE(!source(message));
  BOOST_TEST_REQUIRE(message.size() == 6U);
  std::deque<Attrs> attrs;
  const Share read = message.get_as<PackedShare>(0).unpack(builtin_ops(), attrs);
  BOOST_TEST(read.window == 3U);
  BOOST_TEST(read.size() == 2U);
  BOOST_TEST(message.get_as<Machine>(2).links.size() == 1U);
  BOOST_TEST(caf::to_string(message).find("troupe::PackedShare(") != std::string::npos);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
