// Shares as messages between nodes.
#pragma once

#include "actors/nodes/flat_bytes.hpp"
#include "core/files/data_file.hpp"
#include "core/ops/attrs.hpp"
#include "core/ops/registry.hpp"
#include "core/plan/share.hpp"

#include <cstddef>
#include <deque>

#include <caf/meta/type_name.hpp>

namespace troupe {

// A share that no actor has worked on: everything but records. Copies share their bytes.
class PackedShare {
 public:
  PackedShare() = default;
  // Blocks for about 10 ms per million items. Throws a run Error if an attribute has values that
  // are in this process only.
  explicit PackedShare(const Share& share);

  // The attributes of kernels are added to `attrs` and must live as long as the share. `ops` must
  // have the kinds of the sender's registry, with the same ids. Files that attributes name are
  // opened unless they are in `files`, and added. Throws a run Error if the bytes are not those of
  // a share, if an attribute doesn't suit its kind, and as open_values() does.
  //
  // Ids of units, replicas and resources aren't checked: they are those of the sender's plan.
  Share unpack(const OpRegistry& ops, std::deque<Attrs>& attrs, OpenFiles& files) const;
  Share unpack(const OpRegistry& ops, std::deque<Attrs>& attrs) const {
    OpenFiles files;
    return unpack(ops, attrs, files);
  }

 private:
  template <class Inspector>
  friend auto inspect(Inspector& f, PackedShare& share) {
    return f(caf::meta::type_name("troupe::PackedShare"), share.bytes_);
  }

  FlatBytes bytes_;
};

}  // namespace troupe
