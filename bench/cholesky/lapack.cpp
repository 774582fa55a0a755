// One call of potrf of OpenBLAS, which computes with as many threads as there are cores.
#include "bench/cholesky/matrix.hpp"
#include "core/base/error.hpp"
#include "core/ops/openblas_library.hpp"

#include <chrono>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

namespace troupe::bench {

double measure_lapack(const Problem& problem) {
  // The library reads this variable when it is loaded, which this process hasn't done yet.
  setenv("OPENBLAS_NUM_THREADS", std::to_string(problem.cores.size()).c_str(), 1);
  void* const handle = open_openblas("libopenblas.so.0", cpu_features());  // as Troupe does
  void* const symbol = handle != nullptr ? dlsym(handle, "dpotrf_") : nullptr;
  if (symbol == nullptr) throw run_error("OpenBLAS can't be loaded", "install libopenblas0");
  const auto potrf = reinterpret_cast<BlasOf<double>::Potrf*>(symbol);
  const blasint n = problem.extent;
  const Buffer a(static_cast<std::size_t>(n) * n);
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    for (blasint k = 0; k < n; ++k) {
      for (blasint l = 0; l < n; ++l) a.data()[std::ptrdiff_t{k} * n + l] = element(k, l);
    }
    blasint info = 0;
    const auto begin = std::chrono::steady_clock::now();
    potrf("L", &n, a.data(), &n, &info);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  const auto l = [&](int row, int column) { return a.data()[std::ptrdiff_t{column} * n + row]; };
  if (!(residual(n, l) < 1e-12)) throw run_error("the factor is wrong");
  return seconds;
}

}  // namespace troupe::bench
