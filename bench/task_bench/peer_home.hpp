// A temporary home folder for peers.
#pragma once

#include "core/base/error.hpp"
#include "core/base/temporary_path.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include <stdlib.h>

namespace troupe::bench {

// StarPU and Dask write files to the user's home folder, Dask and Open MPI others for their
// processes: while this lives, to a folder of its own, which is then removed. Open MPI runs for the
// user root, too.
class PeerHome {
 public:
  PeerHome() {
    std::string name = (temporary_directory() / "task_bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw run_error("no temporary directory can be made");
    path_ = name;
    setenv("STARPU_HOME", path_.c_str(), 1);
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_CALIBRATE", "0", 1);
    setenv("DASK_CONFIG", path_.c_str(), 1);
    setenv("DASK_TEMPORARY_DIRECTORY", path_.c_str(), 1);
    setenv("OMPI_MCA_orte_tmpdir_base", path_.c_str(), 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }
  ~PeerHome() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PeerHome(const PeerHome&) = delete;
  PeerHome& operator=(const PeerHome&) = delete;

 private:
  std::filesystem::path path_;
};

}  // namespace troupe::bench
