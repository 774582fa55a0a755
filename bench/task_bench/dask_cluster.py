# A pattern of Task Bench with Dask's distributed scheduler: a scheduler and a worker process of one
# thread for each node, on this host, which talk by TCP on the loopback interface. The worker of a
# node computes a block of columns. Started by the module task_bench_dask (dask.cpp):
#
#   python3 dask_cluster.py MODULE TASK WIDTH STEPS CORES
#
# MODULE has the functions of a point, TASK (hex digits) describes it to them, CORES are OS numbers,
# one for each worker. Prints the nanoseconds that building and running the graph took. The run is
# from giving the graph to the client until the client has heard that every task has ended.
import ctypes
import functools
import os
import signal
import sys
import time


class Module:
    """The functions of dask.cpp, for one task."""

    def __init__(self, path, task):
        self.functions = ctypes.CDLL(path)
        self.functions.task_bench_payload_bytes.restype = ctypes.c_uint64
        self.functions.task_bench_carry_out.restype = ctypes.c_char_p
        self.task = ctypes.create_string_buffer(task, len(task))
        self.payload_bytes = self.functions.task_bench_payload_bytes(self.task)

    def points_of_row(self, t):
        return self.functions.task_bench_points_of_row(self.task, t)

    def dependences(self, t, i, width):
        columns = (ctypes.c_uint32 * (2 * width))()
        count = self.functions.task_bench_dependences(self.task, t, i, columns)
        return list(columns[:count])

    def carry_out(self, t, i, inputs):
        output = ctypes.create_string_buffer(self.payload_bytes)
        pointers = (ctypes.c_char_p * len(inputs))(*inputs)
        problem = self.functions.task_bench_carry_out(self.task, t, i, pointers, output)
        if problem is not None:
            raise RuntimeError(problem.decode())
        return output.raw


@functools.lru_cache
def module_of(path, task):
    return Module(path, task)


def point(path, task, t, i, *inputs):
    return module_of(path, task).carry_out(t, i, inputs)


def pin(core):
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def name_of(t, i):
    return f"{t}-{i}"


def make_graph(path, task, width, steps):
    """The tasks by name, and the names of those that no other task reads."""
    module = module_of(path, task)
    graph = {}
    unread = set()
    for t in range(steps):
        for i in range(module.points_of_row(t)):
            inputs = [name_of(t - 1, c) for c in module.dependences(t, i, width)]
            graph[name_of(t, i)] = (point, path, task, t, i, *inputs)
            unread.difference_update(inputs)
            unread.add(name_of(t, i))
    return graph, sorted(unread)


def main(path, task, width, steps, cores):
    import distributed
    from dask import highlevelgraph

    with distributed.LocalCluster(
        n_workers=len(cores),
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
    ) as cluster, distributed.Client(cluster) as client:
        workers = sorted(client.scheduler_info()["workers"])
        for worker, core in zip(workers, cores):
            client.run(pin, core, workers=[worker])

        def worker_of(name):
            return workers[int(name.split("-")[1]) * len(workers) // width]

        begin = time.perf_counter_ns()
        graph, unread = make_graph(path, task, width, steps)
        built = time.perf_counter_ns()
        layer = highlevelgraph.MaterializedLayer(graph, annotations={"workers": worker_of})
        layers = highlevelgraph.HighLevelGraph({"points": layer}, {"points": set()})
        futures = client.get(layers, unread, sync=False)
        distributed.wait(futures)
        ended = time.perf_counter_ns()
        for future in futures:
            future.result()
        print(built - begin, ended - built)


if __name__ == "__main__":
    import dask_cluster  # so that workers import what runs there, instead of getting it by value

    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # it ends with task_bench
    dask_cluster.main(
        sys.argv[1],
        bytes.fromhex(sys.argv[2]),
        int(sys.argv[3]),
        int(sys.argv[4]),
        [int(core) for core in sys.argv[5].split(",")],
    )
