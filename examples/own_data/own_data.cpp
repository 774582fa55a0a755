// Your own data: a matrix from a file that NumPy wrote (np.save), and weights from a vector. Their
// product, as shares of each row, is saved to a file that NumPy can load. Arguments: the two files.
#include "troupe/troupe.hpp"

#include <cstddef>
#include <exception>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

int main(int argc, char** argv) try {
  const std::filesystem::path from = argc > 1 ? argv[1] : "examples/own_data/x.npy";
  const std::filesystem::path to = argc > 2 ? argv[2] : "build/own_data.npy";
  Session session(local_machine(discover_host(), {.cpu_devices = 2}));
  const Tensor x = session.load(from);
  const std::vector<float> weights{1, 0, -1, 0.5, -0.5, 1};
  const Tensor w = session.tensor(weights, {3, 2});
  softmax(matmul(x, w)).save(to);

  const Tensor saved = session.load(to);
  const std::vector<float> shares = saved.read<float>();
  const auto columns = static_cast<std::size_t>(saved.shape()[1]);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    fmt::print("{:.3f}{}", shares[i], (i + 1) % columns == 0 ? '\n' : ' ');
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "own_data: {}\n", error.what());
  return 1;
}
