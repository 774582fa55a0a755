#include "bench/overlap/experiments.hpp"

#include "actors/session.hpp"
#include "bench/overlap/gpu_machine.hpp"
#include "bench/overlap/timed.hpp"
#include "bench/overlap/workload.hpp"
#include "examples/mlp/network.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

namespace troupe::bench {
namespace {

using Gpus = std::span<const CudaGpu>;

std::string in_words(const Products& p) {
  return fmt::format("{} × {}²", p.count, p.extent);
}

// A part that runs some groups of a workload at once.
std::function<Timed()> at_once(std::shared_ptr<const Workload> workload,
                               std::vector<GroupId> groups) {
  return [=] { return workload->run(groups); };
}

Part bare_products(const Bare& bare, const std::string& name, const Products& products) {
  return {.name = bare_name(name),
          .run = [&bare, products] { return Timed{.seconds = bare.products(products)}; },
          .flops = products.flops()};
}

Part bare_copies(const Bare& bare, const std::string& name, const Products& sizes, Bare::Way way) {
  return {.name = bare_name(name),
          .run = [&bare, sizes, way] { return Timed{.seconds = bare.copies(sizes, way)}; },
          .bytes = static_cast<double>(sizes.bytes()) * (way == Bare::Way::both ? 2 : 1)};
}

Experiment cpu_and_gpu(Gpus gpus, const Sizes& sizes, const Bare& bare) {
  const auto work = std::make_shared<Workload>(gpu_machine(gpus.first(1)));
  const GroupId cpu = work->products("cpu", "cpu0", sizes.cpu);
  const GroupId gpu = work->products("gpu", "gpu0", sizes.gpu);
  return {.name = "1",
          .title = fmt::format("{} products on the CPU, {} on a GPU", in_words(sizes.cpu),
                               in_words(sizes.gpu)),
          .parts = {{.name = "cpu", .run = at_once(work, {cpu}), .flops = sizes.cpu.flops()},
                    {.name = "gpu", .run = at_once(work, {gpu}), .flops = sizes.gpu.flops()},
                    {.name = "both", .run = at_once(work, {cpu, gpu})},
                    bare_products(bare, "gpu", sizes.gpu)},
          .alone = {"cpu", "gpu"},
          .both = "both"};
}

// `share`: both devices are the first GPU.
Experiment two_devices(Gpus gpus, const Sizes& sizes, const Bare& bare, bool share) {
  const auto work = std::make_shared<Workload>(gpu_machine(gpus.first(share ? 1 : 2), share));
  const GroupId first = work->products("first", "gpu0", sizes.many);
  const GroupId second = work->products("second", "gpu1", sizes.many);
  const double flops = sizes.many.flops();
  return {.name = share ? "2-shared" : "2",
          .title = fmt::format("{} products on each of two {}", in_words(sizes.many),
                               share ? "devices that are one GPU" : "GPUs"),
          .parts = {{.name = "gpu0", .run = at_once(work, {first}), .flops = flops},
                    {.name = "gpu1", .run = at_once(work, {second}), .flops = flops},
                    {.name = "both", .run = at_once(work, {first, second}), .flops = 2 * flops},
                    bare_products(bare, "gpu0", sizes.many)},
          .alone = {"gpu0", "gpu1"},
          .both = "both",
          .bound = share ? Experiment::Bound::sum : Experiment::Bound::longest};
}

Experiment run_and_copy(Gpus gpus, const Products& products, const Bare& bare, std::string name) {
  const auto work = std::make_shared<Workload>(gpu_machine(gpus.first(1)));
  const GroupId run = work->products("run", "gpu0", products);
  const GroupId copy = work->copies("copy", run, "mem0");
  const auto bytes = static_cast<double>(products.bytes());
  return {.name = std::move(name),
          .title = fmt::format("{} products on a GPU, each copied to the host", in_words(products)),
          .parts = {{.name = "run", .run = at_once(work, {run}), .flops = products.flops()},
                    {.name = "copy", .run = at_once(work, {copy}), .bytes = bytes},
                    {.name = "run, then copy",
                     .run =
                         [=] {
                           return work->run_in_turn({run, copy});
                         }},
                    {.name = "run and copy", .run = at_once(work, {run, copy})},
                    bare_products(bare, "run", products),
                    bare_copies(bare, "copy", products, Bare::Way::to_host)},
          .alone = {"run", "copy"},
          .both = "run and copy"};
}

Experiment both_directions(Gpus gpus, const Products& sizes, const Bare& bare) {
  const auto work = std::make_shared<Workload>(gpu_machine(gpus.first(1)));
  const GroupId down = work->copies("down", work->values("there", "gpu0", sizes), "mem0");
  const GroupId up = work->copies("up", work->values("here", "cpu0", sizes), "vram0");
  const auto bytes = static_cast<double>(sizes.bytes());
  return {
      .name = "copies",
      .title = fmt::format("{} matrices copied to the host, as many to the GPU", in_words(sizes)),
      .parts = {{.name = "to host", .run = at_once(work, {down}), .bytes = bytes},
                {.name = "to GPU", .run = at_once(work, {up}), .bytes = bytes},
                {.name = "both", .run = at_once(work, {down, up}), .bytes = 2 * bytes},
                bare_copies(bare, "to host", sizes, Bare::Way::to_host),
                bare_copies(bare, "to GPU", sizes, Bare::Way::to_gpu),
                bare_copies(bare, "both", sizes, Bare::Way::both)},
      .alone = {"to host", "to GPU"},
      .both = "both"};
}

Experiment small_products(Gpus gpus, const Products& products, const Bare& bare) {
  const auto work = std::make_shared<Workload>(gpu_machine(gpus.first(1)));
  const GroupId run = work->products("run", "gpu0", products);
  const auto ops = static_cast<double>(products.count);
  const auto run_and_count = [work, run, gpu = gpus[0]] {
    const CudaIssued before = cuda_issued(gpu);
    Timed timed = work->run({run});
    const CudaIssued after = cuda_issued(gpu);
    timed.host_seconds_per_op =
        seconds(after.took - before.took) / static_cast<double>(after.ops - before.ops);
    return timed;
  };
  const auto issue = [&bare, products] {
    const Bare::Issue issued = bare.issue(products);
    return Timed{.seconds = issued.seconds, .host_seconds_per_op = issued.host_seconds_per_op};
  };
  return {.name = "small",
          .title = fmt::format("{} products on a GPU", in_words(products)),
          .parts = {{.name = "run", .run = run_and_count, .ops = ops},
                    {.name = bare_name("run"), .run = issue, .ops = ops}}};
}

Experiment training(Gpus gpus, const Sizes& sizes) {
  const bool share = gpus.size() < 2;
  const auto machine = std::make_shared<Machine>(gpu_machine(gpus.first(share ? 1 : 2), share));
  const mlp::StepSizes step{.rows = sizes.training.rows,
                            .inputs = sizes.training.inputs,
                            .hidden = sizes.training.hidden,
                            .outputs = sizes.training.outputs};
  return {.name = "training",
          .title = fmt::format("A step of training on {}, {} rows each",
                               share ? "two devices that are one GPU" : "two GPUs", step.rows),
          .parts = {{.name = "step", .run = [=] {
                       Session session(*machine);
                       const ScenarioReport& report =
                           mlp::measure_step(session, {"cpu0", {"gpu0", "gpu1"}}, step);
                       return Timed{.seconds = seconds(report.makespan),
                                    .bound_seconds = seconds(report.lower_bound)};
                     }}}};
}

}  // namespace

std::vector<Experiment> experiments(std::span<const CudaGpu> gpus, const Sizes& sizes,
                                    const Bare& bare) {
  std::vector<Experiment> all;
  all.push_back(cpu_and_gpu(gpus, sizes, bare));
  if (gpus.size() > 1) all.push_back(two_devices(gpus, sizes, bare, false));
  all.push_back(two_devices(gpus, sizes, bare, true));
  all.push_back(run_and_copy(gpus, sizes.gpu, bare, "3a"));
  all.push_back(run_and_copy(gpus, sizes.many, bare, "3b"));
  all.push_back(both_directions(gpus, sizes.copies, bare));
  all.push_back(small_products(gpus, sizes.small, bare));
  all.push_back(training(gpus, sizes));
  return all;
}

}  // namespace troupe::bench
