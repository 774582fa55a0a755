// A temporary home folder for peers.
#pragma once

#include "bench/temporary_folder.hpp"
#include "core/base/temporary_path.hpp"

#include <stdlib.h>

namespace troupe::bench {

// StarPU and Dask write files to the user's home folder, Dask and Open MPI others for their
// processes: while this lives, to a folder of its own, which is then removed. Open MPI runs for the
// user root, too.
class PeerHome {
 public:
  PeerHome() {
    const char* const path = folder_.path().c_str();
    setenv("STARPU_HOME", path, 1);
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_CALIBRATE", "0", 1);
    setenv("DASK_CONFIG", path, 1);
    setenv("DASK_TEMPORARY_DIRECTORY", path, 1);
    setenv("OMPI_MCA_orte_tmpdir_base", path, 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }

 private:
  const TemporaryFolder folder_{temporary_directory()};
};

}  // namespace troupe::bench
