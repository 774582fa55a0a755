#!/usr/bin/env python3
"""The experiments of gpu_overlap in PyTorch, each in two ways.

chapter: as the textbook section "Automatic Parallelism" (Dive into Deep Learning) does it. Where it
         copies by itself, tensors of the host are in pageable memory; where it runs and copies, it
         says non_blocking, and PyTorch takes pinned memory. All work of a GPU is on its default
         stream, and synchronize() ends what is timed.
best:    with pinned memory, a stream for computing and one for each direction of copies, and
         results that are written to tensors allocated before.

Prints text. With --json, writes the results with the keys of gpu_overlap, which are documented in
bench/overlap/results.cpp. Exit code 2 if there is no PyTorch or no GPU, 1 if an experiment failed.
"""

import argparse
import json
import platform
import statistics
import sys
import time

try:
    import torch
except ImportError:
    torch = None  # main() says so

# (count, extent) of products; of training: rows of each worker, inputs, hidden, outputs.
SIZES = {
    "chapter": dict(cpu=(10, 2000), gpu=(10, 6000), many=(50, 4000), copies=(16, 4000),
                    small=(10000, 64), training=(24576, 64, 4096, 4096)),
    "large": dict(cpu=(10, 4000), gpu=(10, 16000), many=(50, 8000), copies=(16, 8000),
                  small=(100000, 64), training=(49152, 64, 8192, 8192)),
    "quick": dict(cpu=(3, 32), gpu=(3, 64), many=(5, 48), copies=(4, 64), small=(100, 16),
                  training=(32, 8, 16, 16)),
}


def flops(size):
    count, extent = size
    return 2.0 * count * extent ** 3


def size_in_bytes(size):
    count, extent = size
    return 4.0 * count * extent ** 2


def matrix(extent, device):
    return torch.rand(extent, extent, device=device)


def pinned(extent):
    return torch.empty(extent, extent, pin_memory=True)


def synchronize():
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)


def seconds_of(work):
    synchronize()
    start = time.perf_counter()
    work()
    synchronize()
    return time.perf_counter() - start


class Experiment:
    """Parts that are timed in turns. `alone`: names of those that `both` can't beat; see bound."""

    def __init__(self, name, title, way, alone=(), both=None, bound=max):
        self.name, self.title, self.way = name, title, way
        self.alone, self.both, self.bound = alone, both, bound
        self.parts = []

    def part(self, name, work, **amounts):
        """Amounts: flops, bytes, ops of one run."""
        self.parts.append((name, work, amounts))

    def measure(self, rounds):
        result = dict(name=self.name, title=self.title, way=self.way)
        samples = {name: [] for name, _, _ in self.parts}
        try:
            for round_number in range(rounds + 1):  # the first one warms up
                for name, work, _ in self.parts:
                    sample = seconds_of(work)
                    if round_number > 0:
                        samples[name].append(sample)
        except RuntimeError as error:  # of CUDA, out of memory included
            result["problem"] = str(error).splitlines()[0]
            return result
        medians = {name: statistics.median(values) for name, values in samples.items()}
        result["parts"] = []
        for name, _, amounts in self.parts:
            part = dict(name=name, seconds=medians[name], samples_s=samples[name])
            if "flops" in amounts:
                part["flops_per_second"] = amounts["flops"] / medians[name]
            if "bytes" in amounts:
                part["bytes_per_second"] = amounts["bytes"] / medians[name]
            if "ops" in amounts:
                part["ns_per_op"] = medians[name] * 1e9 / amounts["ops"]
            result["parts"].append(part)
        if self.both:
            result["bound_s"] = self.bound([medians[name] for name in self.alone])
            result["efficiency"] = result["bound_s"] / medians[self.both]
        return result


class Products:
    """`count` products on a device, and copies of them to the host."""

    def __init__(self, size, device, way):
        self.count, extent = size
        self.x = matrix(extent, device)
        self.is_best = way == "best" and device != "cpu"
        self.y = []
        if self.is_best:
            self.computing = torch.cuda.Stream(device)
            self.copying = torch.cuda.Stream(device)
            self.made = [torch.cuda.Event() for _ in range(self.count)]
            self.y = [torch.empty_like(self.x) for _ in range(self.count)]
            self.pinned = []

    def run(self):
        if not self.is_best:
            self.y = [self.x.mm(self.x) for _ in range(self.count)]
            return
        with torch.cuda.stream(self.computing):
            for y, made in zip(self.y, self.made):
                torch.mm(self.x, self.x, out=y)
                made.record()

    def copy(self, non_blocking=False):
        if not self.is_best:
            # As in the section, which says non_blocking only where it runs and copies. PyTorch
            # then makes results in pinned memory, else in pageable memory.
            self.on_host = [y.to("cpu", non_blocking=non_blocking) for y in self.y]
            return
        if not self.pinned:
            self.pinned = [pinned(self.x.shape[0]) for _ in range(self.count)]
        with torch.cuda.stream(self.copying):
            for y, made, target in zip(self.y, self.made, self.pinned):
                self.copying.wait_event(made)
                target.copy_(y, non_blocking=True)

    def run_then_copy(self):
        self.run()
        synchronize()
        self.copy()

    def run_and_copy(self):
        self.run()
        self.copy(non_blocking=True)


def in_words(size):
    return f"{size[0]} × {size[1]}²"


def cpu_and_gpu(sizes, way):
    cpu, gpu = Products(sizes["cpu"], "cpu", way), Products(sizes["gpu"], "cuda:0", way)
    experiment = Experiment(
        "1", f"{in_words(sizes['cpu'])} products on the CPU, {in_words(sizes['gpu'])} on a GPU",
        way, alone=("cpu", "gpu"), both="both")

    def both():
        gpu.run()  # enqueues
        cpu.run()

    experiment.part("cpu", cpu.run, flops=flops(sizes["cpu"]))
    experiment.part("gpu", gpu.run, flops=flops(sizes["gpu"]))
    experiment.part("both", both)
    return experiment


def two_devices(sizes, way, share):
    size = sizes["many"]
    first = Products(size, "cuda:0", way)
    second = Products(size, "cuda:0" if share else "cuda:1", way)
    what = "streams of one GPU" if share else "GPUs"
    experiment = Experiment(
        "2-shared" if share else "2", f"{in_words(size)} products on each of two {what}", way,
        alone=("gpu0", "gpu1"), both="both", bound=sum if share else max)

    def both():
        first.run()
        second.run()

    experiment.part("gpu0", first.run, flops=flops(size))
    experiment.part("gpu1", second.run, flops=flops(size))
    experiment.part("both", both, flops=2 * flops(size))
    return experiment


def run_and_copy(name, size, way):
    products = Products(size, "cuda:0", way)
    products.run()
    experiment = Experiment(
        name, f"{in_words(size)} products on a GPU, each copied to the host", way,
        alone=("run", "copy"), both="run and copy")
    experiment.part("run", products.run, flops=flops(size))
    experiment.part("copy", products.copy, bytes=size_in_bytes(size))
    experiment.part("run, then copy", products.run_then_copy)
    experiment.part("run and copy", products.run_and_copy)
    return experiment


def both_directions(sizes, way):
    count, extent = size = sizes["copies"]
    gpu = torch.device("cuda:0")
    on_gpu = [matrix(extent, gpu) for _ in range(count)]
    on_host = [matrix(extent, "cpu") for _ in range(count)]
    if way == "best":
        on_host = [x.pin_memory() for x in on_host]
        down_to, up_to = [pinned(extent) for _ in on_gpu], [torch.empty_like(x) for x in on_gpu]
        down_stream, up_stream = torch.cuda.Stream(gpu), torch.cuda.Stream(gpu)

    def to_host():
        if way == "chapter":
            return [x.to("cpu", non_blocking=True) for x in on_gpu]
        with torch.cuda.stream(down_stream):
            return [to.copy_(x, non_blocking=True) for to, x in zip(down_to, on_gpu)]

    def to_gpu():
        if way == "chapter":
            return [x.to(gpu, non_blocking=True) for x in on_host]
        with torch.cuda.stream(up_stream):
            return [to.copy_(x, non_blocking=True) for to, x in zip(up_to, on_host)]

    def both():
        return to_host(), to_gpu()

    experiment = Experiment(
        "copies", f"{in_words(size)} matrices copied to the host, as many to the GPU", way,
        alone=("to host", "to GPU"), both="both")
    experiment.part("to host", to_host, bytes=size_in_bytes(size))
    experiment.part("to GPU", to_gpu, bytes=size_in_bytes(size))
    experiment.part("both", both, bytes=2 * size_in_bytes(size))
    return experiment


def small_products(sizes, way):
    count, extent = size = sizes["small"]
    x = matrix(extent, "cuda:0")
    y = torch.empty_like(x)

    def run():
        if way == "chapter":
            for _ in range(count):
                x.mm(x)
        else:
            for _ in range(count):
                torch.mm(x, x, out=y)

    experiment = Experiment("small", f"{in_words(size)} products on a GPU", way)
    experiment.part("run", run, ops=count)
    return experiment


def training(sizes, way):
    """A step of examples/mlp: a parameter server on the CPU and two workers."""
    rows, inputs, hidden, outputs = sizes["training"]
    workers = ["cuda:0", "cuda:1" if torch.cuda.device_count() > 1 else "cuda:0"]
    is_best = way == "best"

    def host(*shape):
        return torch.zeros(*shape, pin_memory=is_best)

    batches = [(host(rows, inputs), torch.zeros(rows, dtype=torch.long)) for _ in workers]
    if is_best:
        batches = [(x, labels.pin_memory()) for x, labels in batches]
    server = [host(inputs, hidden), host(hidden, outputs)]
    pulled = [[w.to(worker) for w in server] for worker in workers]
    pushed = [[host(inputs, hidden), host(hidden, outputs)] for _ in workers]
    if is_best:
        computing = [torch.cuda.Stream(worker) for worker in workers]
        copying = [torch.cuda.Stream(worker) for worker in workers]

    def gradients(x, labels, w1, w2, push):
        h = x.mm(w1)
        r = h.relu()
        o_grad = r.mm(w2).softmax(-1)
        o_grad[torch.arange(rows, device=x.device), labels] -= 1
        o_grad /= rows
        push(1, r.t().mm(o_grad))
        push(0, x.t().mm(o_grad.mm(w2.t()) * (h > 0)))

    def step_of_chapter():
        for k, worker in enumerate(workers):
            def push(layer, grad, k=k):
                pushed[k][layer] = grad.to("cpu", non_blocking=True)
            x, labels = batches[k]
            gradients(x.to(worker), labels.to(worker), *pulled[k], push)
        synchronize()
        for layer, w in enumerate(server):
            w.add_(pushed[0][layer] + pushed[1][layer], alpha=-0.25)
        for k, worker in enumerate(workers):
            pulled[k] = [w.to(worker) for w in server]

    def step_of_best():
        arrived = [[torch.cuda.Event() for _ in server] for _ in workers]
        for k, worker in enumerate(workers):
            def push(layer, grad, k=k):
                copying[k].wait_stream(computing[k])
                with torch.cuda.stream(copying[k]):
                    grad.record_stream(copying[k])
                    pushed[k][layer].copy_(grad, non_blocking=True)
                    arrived[k][layer].record()
            with torch.cuda.stream(computing[k]):
                x, labels = (t.to(worker, non_blocking=True) for t in batches[k])
                gradients(x, labels, *pulled[k], push)
        for layer in (1, 0):  # layer 2 is updated while the gradient of layer 1 is computed
            for k in range(len(workers)):
                arrived[k][layer].synchronize()
            server[layer].add_(pushed[0][layer] + pushed[1][layer], alpha=-0.25)
            for k in range(len(workers)):
                # The worker still reads layer 2 for the gradient of layer 1: hence a new tensor.
                with torch.cuda.stream(copying[k]):
                    pulled[k][layer] = server[layer].to(workers[k], non_blocking=True)
                    pulled[k][layer].record_stream(computing[k])
        for k in range(len(workers)):
            computing[k].wait_stream(copying[k])

    where = "two GPUs" if workers[0] != workers[1] else "one GPU, twice"
    experiment = Experiment("training", f"A step of training on {where}, {rows} rows each", way)
    experiment.part("step", step_of_best if is_best else step_of_chapter)
    return experiment


def experiments(sizes, way):
    """Functions that make them: tensors of one experiment are freed before the next one."""
    yield "1", lambda: cpu_and_gpu(sizes, way)
    if torch.cuda.device_count() > 1:
        yield "2", lambda: two_devices(sizes, way, share=False)
    yield "2-shared", lambda: two_devices(sizes, way, share=True)
    yield "3a", lambda: run_and_copy("3a", sizes["gpu"], way)
    yield "3b", lambda: run_and_copy("3b", sizes["many"], way)
    yield "copies", lambda: both_directions(sizes, way)
    yield "small", lambda: small_products(sizes, way)
    yield "training", lambda: training(sizes, way)


def describe_host():
    gpus = [torch.cuda.get_device_properties(k) for k in range(torch.cuda.device_count())]
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            driver = file.readline().rstrip("\n")
    except OSError:
        driver = ""
    return dict(cpu=platform.processor() or platform.machine(),
                gpus=[dict(name=gpu.name, memory_bytes=gpu.total_memory) for gpu in gpus],
                driver=driver, cuda_driver="", cuda_runtime=torch.version.cuda or "",
                compute_capability=f"{gpus[0].major}.{gpus[0].minor}")


def print_result(result):
    print(f"\n{result['name']}, {result['way']}: {result['title']}")
    if "problem" in result:
        print(f"  {result['problem']}")
        return
    for part in result["parts"]:
        line = f"  {part['name']:<18}{part['seconds'] * 1e3:>12.3f} ms"
        if "flops_per_second" in part:
            line += f"{part['flops_per_second'] / 1e12:>10.2f} TFLOP/s"
        if "bytes_per_second" in part:
            line += f"{part['bytes_per_second'] / 1e9:>10.2f} GB/s"
        if "ns_per_op" in part:
            line += f"{part['ns_per_op']:>10.0f} ns an op"
        print(line)
    if "bound_s" in result:
        print(f"  {'lower bound':<18}{result['bound_s'] * 1e3:>12.3f} ms")
        print(f"  {'overlap efficiency':<18}{result['efficiency']:>12.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Measures computing beside copying in PyTorch.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--large", action="store_true", help="Larger sizes, for large GPUs")
    size.add_argument("--quick", action="store_true",
                      help="Sizes so small that the figures mean nothing")
    parser.add_argument("--json", metavar="PATH", help="Write the results as JSON to this path")
    parser.add_argument("--rounds", type=int, default=5,
                        help="Samples of each part; medians are shown")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if torch is None:
        print("overlap_torch.py: there is no PyTorch for this Python; install torch",
              file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("overlap_torch.py: PyTorch finds no GPU; see what nvidia-smi says", file=sys.stderr)
        return 2
    if hasattr(torch.backends.cuda, "matmul"):  # older versions use TF32 of their own accord
        torch.backends.cuda.matmul.allow_tf32 = False
    sizes = "large" if options.large else "quick" if options.quick else "chapter"
    report = dict(program="overlap_torch", version=torch.__version__, sizes=sizes,
                  rounds=options.rounds, host=describe_host(), experiments=[])
    for way in ("chapter", "best"):
        for name, make in experiments(SIZES[sizes], way):
            try:
                result = make().measure(options.rounds)
            except RuntimeError as error:
                result = dict(name=name, title="", way=way, problem=str(error).splitlines()[0])
            torch.cuda.empty_cache()
            report["experiments"].append(result)
            print_result(result)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as file:
                    json.dump(report, file, indent=2)
    return 1 if any("problem" in result for result in report["experiments"]) else 0


if __name__ == "__main__":
    sys.exit(main())
