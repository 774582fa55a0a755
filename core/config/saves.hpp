// `save` of a run file. The format is documented in docs/run_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/config/run_file.hpp"
#include "core/config/task_table.hpp"

#include <vector>

namespace troupe {

// Reads `save`, if it is there. Of `run`, all else must have been read.
// Throws a usage Error, also if a file would be written twice, or is one that the run reads.
std::vector<SavedFile> read_saves(const Document& document, const TaskTable& table,
                                  const RunFile& run);

// Throws a usage Error at the file's place if the file can't be written. Leaves nothing behind.
void check_target(const SavedFile& file);

}  // namespace troupe
