// Attributes of ops as flat bytes.
#pragma once

#include "actors/nodes/flat_bytes.hpp"
#include "core/files/data_file.hpp"
#include "core/ops/attrs.hpp"

namespace troupe {

// Of the values of a file, puts the place of the file. Throws a run Error if other values are among
// the attributes: they exist in this process only.
void put_attrs(FlatWriter& writer, const Attrs& attrs);

// Reads what put_attrs() has put. The result has names in the bytes of the reader. Files of values
// are opened unless they are in `files`. Throws a run Error if the bytes are damaged, or if a file
// is missing or isn't the same.
Attrs get_attrs(FlatReader& reader, OpenFiles& files);

}  // namespace troupe
