// A tensor of a run file whose values are in a file. The format is documented in
// docs/run_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/config/input_data.hpp"
#include "core/files/data_file.hpp"

#include <string>

namespace troupe {

// Reads `file`, `tensor`, `shape` and `dtype` of the tensor's map `body`; `file` is the node of the
// path, and `what` names the tensor, for messages: "'x'". If there is no such file, `shape` and
// `dtype` say what it would hold, and reading the values throws a run Error. Throws a usage Error
// if the file's header doesn't fit.
FileTensor read_file_tensor(const Node& body, const Node& file, const std::string& what,
                            InputDataTable& inputs);

}  // namespace troupe
