#include "actors/nodes/node_values.hpp"

#include "actors/nodes/machine_values.hpp"
#include "actors/nodes/packed_replicas.hpp"
#include "actors/nodes/packed_share.hpp"
#include "actors/nodes/share_records.hpp"
#include "core/base/random.hpp"
#include "core/config/machine_file.hpp"
#include "core/run/device_logic.hpp"
#include "core/run/link_logic.hpp"
#include "core/run/records.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/share_maker.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"
#include "tests/support/stream_windows.hpp"
#include "tests/support/temporary_directory.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(node_values)
namespace {

using testing::expect_error;
using testing::make_share;
using testing::plan_by_rates;
using testing::RandomCase;
using testing::SmallGraph;

constexpr ResourceId self{0};

template <class T>
std::vector<char> written(T value) {
  std::vector<char> bytes;
  caf::binary_serializer sink(nullptr, bytes);
  BOOST_TEST_REQUIRE(!sink(value));
  return bytes;
}
template <class T>
bool read(const std::vector<char>& bytes, T& value) {
  caf::binary_deserializer source(nullptr, bytes);
  return !source(value) && source.remaining() == 0;
}
template <class T>
T received(const T& sent) {
  T value;
  BOOST_TEST_REQUIRE(read(written(sent), value));
  return value;
}

// A message with flat bytes: their number, in the byte order of networks, and the bytes. Returns
// one whose bytes end after `size`.
std::vector<char> cut(std::vector<char> message, std::size_t size) {
  message.resize(8 + size);
  for (std::size_t i = 0; i < 8; ++i) {
    message[i] = static_cast<char>(size >> (8 * (7 - i)));
  }
  return message;
}

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
  sent.memories[0].directory = "/scratch";
  const Machine machine = received(sent);
  BOOST_TEST(machine.nodes.size() == 8U);
  BOOST_TEST(words(machine) == words(sent), boost::test_tools::per_element());
  for (std::size_t d = 0; d < sent.devices.size(); ++d) {
    BOOST_TEST((machine.devices[d].op_flops == sent.devices[d].op_flops));
    BOOST_TEST(machine.devices[d].issue_depth == sent.devices[d].issue_depth);
    BOOST_TEST(machine.devices[d].gpu == sent.devices[d].gpu);
    BOOST_TEST(machine.devices[d].tf32 == sent.devices[d].tf32);
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

void check_kernels(const Share& share, const Share& sent) {
  BOOST_TEST_REQUIRE(share.kernels.size() == sent.kernels.size());
  for (std::size_t k = 0; k < sent.kernels.size(); ++k) {
    const Share::Kernel& a = share.kernels[k];
    const Share::Kernel& b = sent.kernels[k];
    BOOST_TEST((a.kind == b.kind));
    BOOST_TEST((a.attrs == nullptr) == (b.attrs == nullptr));
    BOOST_TEST((b.attrs == nullptr || *a.attrs == *b.attrs));
    BOOST_TEST((a.expected == b.expected));
    BOOST_TEST((a.in_place_of == b.in_place_of));
    BOOST_TEST(a.is_long == b.is_long);
    BOOST_TEST(a.adopts == b.adopts);
    BOOST_TEST(a.further == b.further);
    BOOST_TEST(a.is_further == b.is_further);
    BOOST_TEST(a.is_plain == b.is_plain);
    for (std::size_t other = 0; other < k; ++other) {
      BOOST_TEST((a.attrs == share.kernels[other].attrs) == (b.attrs == sent.kernels[other].attrs));
    }
  }
}

void check_items(const Share& share, const Share& sent) {
  BOOST_TEST_REQUIRE(share.items.size() == sent.items.size());
  for (std::size_t i = 0; i < sent.items.size(); ++i) {
    const Share::Item& a = share.items[i];
    const Share::Item& b = sent.items[i];
    BOOST_TEST((a.unit == b.unit));
    BOOST_TEST(a.waits_for == b.waits_for);
    BOOST_TEST(a.first_input == b.first_input);
    BOOST_TEST(a.first_successor == b.first_successor);
    BOOST_TEST(a.kernel == b.kernel);
    BOOST_TEST(a.index == b.index);
    BOOST_TEST(a.has_late == b.has_late);
    BOOST_TEST(a.is_further == b.is_further);
    BOOST_TEST((a.start == Share::never && a.end == Share::never));
  }
}

void check_moves(const Share& share, const Share& sent) {
  BOOST_TEST_REQUIRE(share.moves.size() == sent.moves.size());
  for (std::size_t m = 0; m < sent.moves.size(); ++m) {
    const Share::Move& a = share.moves[m];
    const Share::Move& b = sent.moves[m];
    BOOST_TEST(a.bytes == b.bytes);
    BOOST_TEST((a.expected.latency == b.expected.latency));
    BOOST_TEST((a.expected.wire == b.expected.wire));
    BOOST_TEST(a.chunks == b.chunks);
    BOOST_TEST((a.direction == b.direction));
    BOOST_TEST(a.paced == b.paced);
    BOOST_TEST(a.paces == b.paces);
    BOOST_TEST(a.chunks_here == 0U);
    BOOST_TEST(a.shortest_chunk_ns == Share::Move{}.shortest_chunk_ns);
  }
}

void check_same(const Share& share, const Share& sent) {
  BOOST_TEST(share.window == sent.window);
  BOOST_TEST(share.timed == sent.timed);
  check_items(share, sent);
  check_kernels(share, sent);
  check_moves(share, sent);
  BOOST_TEST(std::ranges::equal(share.successors, sent.successors, {}, &Share::Successor::value,
                                &Share::Successor::value));
  BOOST_TEST((share.inputs == sent.inputs));
  BOOST_TEST((share.elsewhere == sent.elsewhere));
  BOOST_TEST(share.first_arrival == sent.first_arrival);
  BOOST_TEST(share.arrivals == sent.arrivals);
  BOOST_TEST(share.first_items == sent.first_items);
  BOOST_TEST(std::ranges::equal(share.late, sent.late, [](const auto& a, const auto& b) {
    return a.window == b.window && a.item == b.item && a.to == b.to;
  }));
}

// What occurred in the shares that were compared.
struct Occurred {
  bool arrivals = false, late = false, moves = false, further = false, elsewhere = false;

  void in(const Share& share) {
    arrivals |= !share.arrivals.empty();
    late |= !share.late.empty();
    moves |= !share.moves.empty();
    elsewhere |= !share.elsewhere.empty();
    for (const Share::Kernel& kernel : share.kernels) further |= kernel.further > 0;
  }
};

BOOST_AUTO_TEST_CASE(shares_of_random_plans_arrive_as_they_were_sent) {
  Occurred occurred;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed);
      Plan plan = plan_by_rates(c.graph, c.machine, c.scenario, {});
      if (seed % 2 == 0) testing::stream_windows(plan);
      for (const Window& window : plan.windows) {
        for (const auto& [resource, share] : window.shares) {
          std::deque<Attrs> attrs;
          check_same(received(PackedShare(share)).unpack(c.graph.kinds(), attrs), share);
          occurred.in(share);
        }
      }
    }
  }
  BOOST_TEST(occurred.arrivals);
  BOOST_TEST(occurred.late);
  BOOST_TEST(occurred.moves);
  BOOST_TEST(occurred.further);
  BOOST_TEST(occurred.elsewhere);
}

// dev0: x ──► y        dev1: y ──► z, its sum and double;  x, y ──► w
struct SmallShares {
  Machine machine = testing::two_devices();
  SmallGraph g;
  Plan plan;

  SmallShares() {
    const OpId x = g.work("x", 10, {}, testing::on(DeviceId{0}));
    const OpId y = g.op("y", "scale", {x}, testing::on(DeviceId{0}), {{"alpha", 0.5}});
    g.op("z", "half", {y}, testing::on(DeviceId{1}));
    g.op("w", "add", {y, x}, testing::on(DeviceId{1}));
    plan = plan_by_rates(g.graph, machine, g.everything(), {});
  }
};

BOOST_FIXTURE_TEST_CASE(a_share_that_is_cut_off_anywhere_is_refused, SmallShares) {
  for (const auto& [resource, share] : plan.windows.front().shares) {
    const std::vector<char> whole = written(PackedShare(share));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      PackedShare packed;
      const auto end = whole.begin() + static_cast<std::ptrdiff_t>(size);
      BOOST_TEST(!read({whole.begin(), end}, packed));
    }
    for (std::size_t size = 0; size + 8 < whole.size(); ++size) {
      PackedShare packed;
      BOOST_TEST_REQUIRE(read(cut(whole, size), packed));
      std::deque<Attrs> attrs;
      expect_error(ErrorKind::failed, "a message of another node is damaged",
                   [&] { packed.unpack(g.graph.kinds(), attrs); });
    }
  }
}

// Reads what actors use as an index. A sanitizer finds what is out of bounds.
std::uint64_t sum_of(const Share& share) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    for (const Share::Successor next : share.successors_of(i)) {
      sum += next.is_elsewhere() ? share.elsewhere[next.place()].item
                                 : share.items[next.place()].unit.value;
    }
    for (const ReplicaId input : share.inputs_of(i)) sum += input.value;
    sum += static_cast<std::uint64_t>(share.expected(i).count());
  }
  for (std::uint32_t a = 0; a + 1 < share.first_arrival.size(); ++a) {
    for (const std::uint32_t item : share.items_of_arrival(a)) sum += share.items[item].waits_for;
  }
  for (const std::uint32_t item : share.first_items) sum += share.items[item].waits_for;
  return sum;
}

BOOST_FIXTURE_TEST_CASE(a_share_with_a_wrong_byte_is_refused_or_can_be_read, SmallShares) {
  Random random(5);
  const ResourceShares& shares = plan.windows.front().shares;
  std::uint64_t refused = 0;
  std::uint64_t sum = 0;
  for (int attempt = 0; attempt < 20'000; ++attempt) {
    std::vector<char> bytes = written(PackedShare(shares[random.below(shares.size())].second));
    bytes[8 + random.below(bytes.size() - 8)] = static_cast<char>(random.below(256));
    PackedShare packed;
    BOOST_TEST_REQUIRE(read(bytes, packed));
    std::deque<Attrs> attrs;
    try {
      sum += sum_of(packed.unpack(g.graph.kinds(), attrs));
    } catch (const Error& error) {
      BOOST_TEST_REQUIRE((error.kind() == ErrorKind::failed));
      ++refused;
    }
  }
  BOOST_TEST(refused > 1000U);
  BOOST_TEST(sum > 0U);
}

BOOST_AUTO_TEST_CASE(an_empty_message_is_refused) {
  std::deque<Attrs> attrs;
  Share share;
  expect_error(ErrorKind::failed, "damaged",
               [&] { received(PackedShare()).unpack(builtin_ops(), attrs); });
  expect_error(ErrorKind::failed, "damaged", [&] { received(ShareRecords()).write_to(share); });
  expect_error(ErrorKind::failed, "damaged", [&] { received(PackedReplicas()).types(); });
}

// A share of one item of this kind.
Share share_of(const OpRegistry& ops, std::string_view kind, const Attrs* attrs) {
  Share share = make_share(self, {{}});
  share.kernels[0].kind = ops.find(kind);
  share.kernels[0].attrs = attrs;
  return share;
}

BOOST_AUTO_TEST_CASE(attributes_of_every_type_arrive_as_they_were_sent) {
  OpRegistry ops;
  const std::shared_ptr<const ValueSource> null;
  ops.add({.name = "other"});
  ops.add({.name = "all",
           .attrs = {{.name = "flag", .fallback = false},
                     {.name = "whole", .fallback = std::int64_t{0}},
                     {.name = "number", .fallback = 0.0},
                     {.name = "time", .fallback = Duration{0}},
                     {.name = "text", .fallback = ""},
                     {.name = "wholes", .fallback = Integers{}},
                     {.name = "numbers", .fallback = Numbers{}},
                     {.name = "texts", .fallback = Texts{}},
                     {.name = "values", .fallback = null}},
           .prepare = [](const Attrs& attrs) -> std::shared_ptr<const void> {
             return std::make_shared<const double>(attrs.get<double>("number"));
           }});
  const Attrs given =
      complete_attrs(ops[ops.find("all")], {{"flag", true},
                                            {"whole", std::int64_t{1} << 33},
                                            {"number", -0.1},
                                            {"time", Duration{17}},
                                            {"text", std::string("a\nb")},
                                            {"wholes", Integers{1, 2, 3}},
                                            {"numbers", Numbers{0.1, 1e300}},
                                            {"texts", Texts{"", "longer than eight bytes"}}});
  std::deque<Attrs> attrs;
  const Share share = received(PackedShare(share_of(ops, "all", &given))).unpack(ops, attrs);
  BOOST_TEST_REQUIRE(attrs.size() == 1U);
  BOOST_TEST(share.kernels[0].attrs == &attrs[0]);
  BOOST_TEST((attrs[0] == given));
  BOOST_TEST(attrs[0].prepared<double>() == -0.1);
  BOOST_TEST(attrs[0].find("values") != nullptr);
  BOOST_TEST((attrs[0].get<std::shared_ptr<const ValueSource>>("values") == nullptr));

  // A registry with other kinds refuses them.
  expect_error(ErrorKind::failed, "", [&] {
    received(PackedShare(share_of(ops, "all", &given))).unpack(builtin_ops(), attrs);
  });
}

using Values = std::shared_ptr<const ValueSource>;

struct SavedTensors {
  testing::TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "x.safetensors";
  std::vector<float> values = {1, 2, 3, 4};

  SavedTensors() { save(file, {{"a", {DType::f32, {4}}}, {"b", {DType::f32, {2, 2}}}}); }

  void save(const std::filesystem::path& path, const std::vector<NamedType>& types) const {
    save_tensors(path, types, [&](std::size_t i) {
      return std::as_bytes(std::span(values).first(types[i].type.bytes() / sizeof(float)));
    });
  }
  // Two kernels that load "a" and "b", and one that loads "a" again.
  Share share(const Attrs& a, const Attrs& b) const {
    Share share = make_share(self, {{}, {}, {}});
    for (Share::Kernel& kernel : share.kernels) kernel.kind = builtin_ops().find("load");
    share.kernels[0].attrs = share.kernels[2].attrs = &a;
    share.kernels[1].attrs = &b;
    return share;
  }
  Attrs load(std::string_view name) const {
    return complete_attrs(builtin_ops()[builtin_ops().find("load")],
                          {{"values", open_tensor(file, name).values}});
  }
  PackedShare pack() const { return PackedShare(share(load("a"), load("b"))); }
};

BOOST_FIXTURE_TEST_CASE(the_receiver_opens_the_file_of_a_tensor_once, SavedTensors) {
  const PackedShare packed = received(pack());
  std::deque<Attrs> attrs;
  OpenFiles files;
  const Share share = packed.unpack(builtin_ops(), attrs, files);
  BOOST_TEST(attrs.size() == 2U);
  BOOST_TEST(share.kernels[0].attrs == share.kernels[2].attrs);
  for (std::size_t k = 0; k < 2; ++k) {
    std::vector<float> read(4);
    share.kernels[k].attrs->get<Values>("values")->read(0, std::as_writable_bytes(std::span(read)));
    BOOST_TEST(read == values);
  }
  BOOST_TEST_REQUIRE(files.size() == 1U);
  const auto opened = files.begin()->second;
  packed.unpack(builtin_ops(), attrs, files);
  BOOST_TEST(files.begin()->second == opened);
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_missing_or_not_the_same_is_refused, SavedTensors) {
  const PackedShare packed = pack();
  const auto expect_refusal = [&](const std::string& problem) {
    std::deque<Attrs> attrs;
    expect_error(ErrorKind::failed, file.string() + ": " + problem,
                 [&] { received(packed).unpack(builtin_ops(), attrs); });
  };
  save(file, {{"a", {DType::f32, {2, 2}}}, {"b", {DType::f32, {2, 2}}}});
  expect_refusal("'a' is float32 [2, 2] here, and float32 [4] where the run was started");
  save(file, {{"a", {DType::f32, {4}}}, {"b", {DType::f32, {2, 2}}}, {"c", {DType::f32, {1}}}});
  expect_refusal("the file has ");
  save(file, {{"a", {DType::f32, {4}}}});
  expect_refusal("");
  std::filesystem::resize_file(file, 60);
  expect_refusal("");
  std::filesystem::remove(file);
  expect_refusal("");
}

BOOST_AUTO_TEST_CASE(values_of_this_program_are_refused) {
  class InMemory final : public ValueSource {
    void read(std::uint64_t, std::span<std::byte>) const override {}
  };
  const Values values = std::make_shared<InMemory>();
  const Attrs attrs{{"values", values}};
  expect_error(ErrorKind::failed, "values of this program can't be sent to another node",
               [&] { PackedShare{share_of(builtin_ops(), "load", &attrs)}; });
}

// A share in which items 0 and 1 have finished, 2 is under way, and 3 has not begun.
template <class Logic>
Share partly_finished(Logic logic, Share share) {
  logic.on_share(std::move(share));
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t slot = logic.next()->slot;
    logic.on_started(slot, Instant{Duration{10 * i}});
    logic.on_finished(slot, Instant{Duration{10 * i + 5}});
  }
  logic.on_started(logic.next()->slot, Instant{Duration{30}});
  return std::move(logic.progress().take_all().front());
}

void check_records(const Share& share, const Share& worked_on) {
  for (std::uint32_t i = 0; i < worked_on.size(); ++i) {
    BOOST_TEST((share.items[i].start == worked_on.items[i].start));
    BOOST_TEST((share.items[i].end == worked_on.items[i].end));
    BOOST_TEST(share.items[i].track == worked_on.items[i].track);
    if (!worked_on.is_transfer()) continue;
    BOOST_TEST((share.moves[i].busy == worked_on.moves[i].busy));
    BOOST_TEST(share.moves[i].shortest_chunk_ns == worked_on.moves[i].shortest_chunk_ns);
    BOOST_TEST(share.moves[i].chunks_here == worked_on.moves[i].chunks_here);
    BOOST_TEST(share.moves[i].chunks_moved == worked_on.moves[i].chunks_moved);
  }
}

BOOST_AUTO_TEST_CASE(records_of_a_partly_finished_share_are_written_to_a_copy_of_it) {
  const testing::Item chunks{.move = Share::Move{.bytes = 8, .chunks = 1}};
  const Share ops = make_share(self, std::vector<testing::Item>(4), 6);
  const Share transfers = make_share(self, std::vector<testing::Item>(4, chunks), 6);
  for (const Share& sent : {ops, transfers}) {
    const Share worked_on = sent.is_transfer()
                                ? partly_finished(LinkLogic(self, Sharing::fifo), sent)
                                : partly_finished(DeviceLogic(self, 1), sent);
    BOOST_TEST_REQUIRE(worked_on.items[1].finished());
    BOOST_TEST_REQUIRE(!worked_on.items[2].finished());
    const ShareRecords records = received(ShareRecords(worked_on));
    BOOST_TEST(records.window() == 6U);
    Share copy = sent;
    records.write_to(copy);
    check_records(copy, worked_on);
    const Share read = SentShare(self, copy).read();
    BOOST_TEST((read.items[2].start == Instant{Duration{30}}));

    // An item that has failed since has not begun; what had finished before stays.
    Share failed = worked_on;
    failed.items[2].start = Share::never;
    failed.items[1].end = Instant{Duration{99}};
    received(ShareRecords(failed)).write_to(copy);
    BOOST_TEST((copy.items[2].start == Share::never));
    BOOST_TEST((copy.items[1].end == Instant{Duration{15}}));
  }
}

BOOST_AUTO_TEST_CASE(records_that_do_not_fit_the_share_are_refused) {
  Share share = make_share(self, std::vector<testing::Item>(4), 6);
  share.items[3].start = Instant{Duration{1}};
  const ShareRecords records = received(ShareRecords(share));
  Share smaller = make_share(self, std::vector<testing::Item>(3), 6);
  Share later = make_share(self, std::vector<testing::Item>(4), 7);
  Share transfers = make_share(self, {4, {.move = Share::Move{}}}, 6);
  for (Share* other : {&smaller, &later, &transfers}) {
    expect_error(ErrorKind::failed, "damaged", [&] { records.write_to(*other); });
  }
  const std::vector<char> whole = written(records);
  for (std::size_t size = 0; size + 8 < whole.size(); ++size) {
    ShareRecords damaged;
    BOOST_TEST_REQUIRE(read(cut(whole, size), damaged));
    expect_error(ErrorKind::failed, "damaged", [&] { damaged.write_to(share); });
  }
}

// A CPU and its memory on each of two nodes, and a switch between them.
Machine two_nodes() {
  Machine machine = testing::two_devices();
  machine.nodes = {"n0", "n1"};
  machine.memories.push_back({.name = "switch", .kind = MemoryKind::network});
  for (std::uint32_t n : {0U, 1U}) machine.memories[n].node = NodeId{n};
  return machine;
}

BOOST_AUTO_TEST_CASE(a_node_gets_its_replicas_and_those_of_others_are_elsewhere) {
  const Machine machine = two_nodes();
  const MemoryId elsewhere{2};
  SmallGraph g;
  const DeviceId dev0{0};
  const DeviceId dev1{1};
  const OpId x = g.work("x", 10, {}, testing::on(dev0), 8);
  const OpId y = g.work("y", 10, {x}, testing::on(dev1), 16);
  g.work("z", 10, {x, y}, testing::on(dev0), 24);
  Plan plan = plan_by_rates(g.graph, machine, g.everything(), {.compare_results = true});
  std::vector<ReplicaSpec> all(plan.replicas.begin(), plan.replicas.end());
  all[0].is_adopted = all[1].is_private = true;
  std::vector<std::uint64_t> at_once(g.graph.types().size());
  std::iota(at_once.begin(), at_once.end(), 10);
  for (const NodeId node : {NodeId{0}, NodeId{1}, NodeId{5}}) {
    const auto packed = received(PackedReplicas(all, g.graph.types(), at_once, machine, node));
    const std::vector<TensorType> types = packed.types();
    const std::vector<ReplicaSpec> replicas = packed.unpack(elsewhere, machine);
    BOOST_TEST_REQUIRE(replicas.size() == all.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
      const bool is_here = machine.memory(all[r].memory).node == node;
      const ReplicaSpec& spec = replicas[r];
      BOOST_TEST((spec.memory == (is_here ? all[r].memory : elsewhere)));
      BOOST_TEST(spec.readers == (is_here ? all[r].readers : 0));
      BOOST_TEST(spec.leaves_digest == (is_here && all[r].leaves_digest));
      BOOST_TEST(spec.is_private == (is_here && all[r].is_private));
      BOOST_TEST(spec.is_adopted == (is_here && all[r].is_adopted));
      BOOST_TEST((types[spec.type] == (is_here ? g.graph.types()[all[r].type] : TensorType{})));
      BOOST_TEST(packed.at_once()[spec.type] == (is_here ? at_once[all[r].type] : 0));
    }
    BOOST_TEST(types.size() <= 1 + g.graph.types().size());
  }
}

BOOST_AUTO_TEST_CASE(replicas_with_wrong_bytes_are_refused) {
  const Machine machine = two_nodes();
  const std::vector<TensorType> types = {{DType::f64, {3}}};
  const MemoryId elsewhere{2};
  const std::vector<ReplicaSpec> all = {
      {.memory = MemoryId{0}}, {.memory = MemoryId{1}}, {.memory = MemoryId{0}}};
  const std::vector<std::uint64_t> at_once = {1};
  const std::vector<char> whole = written(PackedReplicas(all, types, at_once, machine, NodeId{0}));
  for (std::size_t size = 0; size + 8 < whole.size(); ++size) {
    PackedReplicas packed;
    BOOST_TEST_REQUIRE(read(cut(whole, size), packed));
    expect_error(ErrorKind::failed, "damaged", [&] { packed.unpack(elsewhere, machine); });
  }
  PackedReplicas packed;
  BOOST_TEST_REQUIRE(read(whole, packed));
  Machine smaller = machine;
  smaller.memories.clear();
  expect_error(ErrorKind::failed, "damaged", [&] { packed.unpack(elsewhere, smaller); });
}

BOOST_FIXTURE_TEST_CASE(messages_of_these_values_can_cross_the_network, SmallShares) {
  caf::actor_system_config config;
  add_node_values(config);
  caf::actor_system system(config);
  const Share& share = plan.windows.front().shares.front().second;
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
  check_same(message.get_as<PackedShare>(0).unpack(g.graph.kinds(), attrs), share);
  BOOST_TEST(message.get_as<Machine>(2).links.size() == 1U);
  BOOST_TEST(caf::to_string(message).find("troupe::PackedShare(") != std::string::npos);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
