#include "core/cost/roofline.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(roofline)
namespace {

using namespace std::chrono_literals;

// The model of a machine with one device, asked about ops of this kind and work.
struct OneDevice {
  explicit OneDevice(const Device& device) { machine.devices.push_back(device); }

  OpClass op_class(std::string_view kind, const Work& work) const {
    OpClass result;
    result.kind = graph.kinds().find(kind);
    result.work = work;
    return result;
  }

  Machine machine{.name = "m", .devices = {}, .memories = {}, .links = {}};
  Graph graph;
};

Duration op_time(const Device& device, std::string_view kind, const Work& work) {
  const OneDevice m(device);
  return Roofline(m.machine).op(DeviceId{0}, m.graph, m.op_class(kind, work));
}

bool knows(const Device& device, std::string_view kind, const Work& work) {
  const OneDevice m(device);
  return Roofline(m.machine).knows(DeviceId{0}, m.graph, m.op_class(kind, work));
}

BOOST_AUTO_TEST_CASE(an_op_takes_the_longer_of_its_computation_and_its_memory_traffic) {
  const Device d{.name = "d", .flops = 1e9, .bandwidth = 1e8};
  BOOST_TEST((op_time(d, "add", {.flops = 1e6, .bytes = 1e3}) == 1ms));
  BOOST_TEST((op_time(d, "add", {.flops = 1e3, .bytes = 1e6}) == 10ms));
}

BOOST_AUTO_TEST_CASE(a_rate_for_the_op_by_name_goes_before_the_general_one) {
  const Device d{.name = "d", .op_flops = {{"matmul", 4e9}}, .flops = 1e9};
  BOOST_TEST((op_time(d, "matmul", {.flops = 8e6}) == 2ms));
  BOOST_TEST((op_time(d, "add", {.flops = 8e6}) == 8ms));
}

BOOST_AUTO_TEST_CASE(launch_and_fixed_time_are_added) {
  const Device d{.name = "d", .launch = 10us, .flops = 1e9};
  BOOST_TEST((op_time(d, "matmul", {.flops = 1e6, .bytes = 0, .fixed = 3us}) == 1013us));
  BOOST_TEST((op_time(d, "sleep", {.fixed = 3us}) == 13us));
}

BOOST_AUTO_TEST_CASE(what_the_machine_file_leaves_out_bounds_nothing) {
  const Device compute{.name = "d", .flops = 1e9};
  BOOST_TEST((op_time(compute, "add", {.flops = 1e6, .bytes = 1e12}) == 1ms));
  const Device traffic{.name = "d", .bandwidth = 1e9};
  BOOST_TEST((op_time(traffic, "add", {.flops = 1e12, .bytes = 1e6}) == 1ms));
}

BOOST_AUTO_TEST_CASE(a_copy_within_a_memory_takes_its_bandwidth_or_no_time) {
  const Device without{.name = "d", .launch = 2us, .op_flops = {{"matmul", 1e9}}};
  BOOST_TEST(knows(without, "copy", {.bytes = 1e6}));
  BOOST_TEST((op_time(without, "copy", {.bytes = 1e6}) == 2us));
  const Device with{.name = "d", .bandwidth = 1e9};
  BOOST_TEST((op_time(with, "copy", {.bytes = 1e6}) == 1ms));
}

BOOST_AUTO_TEST_CASE(where_it_says_nothing_a_gigaflop_and_a_gigabyte_a_second_stand_in) {
  const Device d{.name = "d"};
  BOOST_TEST((op_time(d, "add", {.flops = 1e6, .bytes = 0}) == 1ms));
  BOOST_TEST((op_time(d, "add", {.flops = 0, .bytes = 2e6}) == 2ms));
}

BOOST_AUTO_TEST_CASE(an_op_is_known_where_a_rate_a_bandwidth_or_its_fixed_time_says_so) {
  const Device nothing{.name = "d"};
  const Device matmul_only{.name = "d", .op_flops = {{"matmul", 1e9}}};
  const Device traffic{.name = "d", .bandwidth = 1e9};
  const Device general{.name = "d", .flops = 1e9};
  const Work work{.flops = 1, .bytes = 1};
  BOOST_TEST(!knows(nothing, "add", work));
  BOOST_TEST(knows(nothing, "sleep", work));
  BOOST_TEST(knows(matmul_only, "matmul", work));
  BOOST_TEST(!knows(matmul_only, "add", work));
  BOOST_TEST(knows(traffic, "add", work));
  BOOST_TEST(knows(general, "add", work));
}

BOOST_AUTO_TEST_CASE(a_bandwidth_alone_times_only_what_memory_bounds) {
  const Device traffic{.name = "d", .bandwidth = 1e9};
  BOOST_TEST(knows(traffic, "add", {.flops = 8, .bytes = 8}));
  BOOST_TEST(!knows(traffic, "matmul", {.flops = 9, .bytes = 8}));
}

BOOST_AUTO_TEST_CASE(a_transfer_takes_latency_and_its_bytes_in_its_own_direction) {
  const Link link{.name = "l", .bandwidth = {1e9, 5e8}, .latency = 10us};
  const Machine machine{.name = "m", .devices = {}, .memories = {}, .links = {link}};
  const Roofline cost(machine);
  BOOST_TEST((cost.transfer(LinkId{0}, Direction::forward, 1000).wire == 1us));
  BOOST_TEST((cost.transfer(LinkId{0}, Direction::backward, 1000).wire == 2us));
  BOOST_TEST((cost.transfer(LinkId{0}, Direction::forward, 1000).total() == 11us));
  BOOST_TEST((cost.transfer(LinkId{0}, Direction::forward, 0).total() == 10us));
}

BOOST_AUTO_TEST_CASE(the_chunks_of_a_transfer_add_up_to_it_and_the_first_pays_the_latency) {
  const TransferCost cost{.latency = 1000ns, .wire = 100ns};
  BOOST_TEST((cost.chunk(0, 3) == 1033ns));
  BOOST_TEST((cost.chunk(1, 3) == 33ns));
  BOOST_TEST((cost.chunk(2, 3) == 34ns));
  const TransferCost year{.wire = std::chrono::hours(24 * 365)};
  Duration sum{0};
  for (std::uint32_t i = 0; i < 65'535; ++i) sum += year.chunk(i, 65'535);
  BOOST_TEST((sum == year.total()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
