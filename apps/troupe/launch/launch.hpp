// How processes that srun or mpirun has started together find each other.
#pragma once

#include "core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct Rank {
  std::size_t number = 0;  // among all ranks
  std::size_t count = 1;   // of all ranks
  std::size_t number_here = 0;
  std::size_t count_here = 1;  // on this host
};

class Launch {
 public:
  virtual ~Launch() = default;

  virtual Rank rank() const = 0;
  // At which the node of this rank must listen, at the address that others find by the name of its
  // host; 0: at any port and address.
  virtual std::uint16_t port() const = 0;
  // The addresses of the nodes of all ranks, by rank; `own` is that of this rank's. May block
  // until all ranks have called it. Throws a usage Error if the launcher fails, or if some rank has
  // not called it for `patience`.
  virtual std::vector<std::string> exchange(const std::string& own, Duration patience) = 0;
};

// Returns null unless this process is one of several ranks. Throws a usage Error if the launcher
// can't be asked.
std::unique_ptr<Launch> find_launch();
// Whether a launcher has started this process, be it as the only rank.
bool is_launched();

}  // namespace troupe

// The entry of the module that asks a launcher through PMIx. The caller owns the Launch.
extern "C" troupe::Launch* troupe_make_pmix_launch();
