#include "core/backend/file/file_backend.hpp"

#include "core/backend/file/tensor_file.hpp"
#include "core/backend/link_workers.hpp"
#include "core/base/assert.hpp"

#include <memory>

namespace troupe {
namespace {

class FileLink final : public LinkBackend {
 public:
  explicit FileLink(const BackendContext& context)
      : store_(context.store), workers_(context.completions) {
    ignore_file_size_signal();
  }

  Started start(Direction direction, const ChunkMove& move) override {
    const FilePart part{.offset = move.offset,
                        .bytes = move.bytes,
                        .size = store_.type(move.to).bytes(),
                        .first = move.first,
                        .last = move.last,
                        .is_padded = !store_.is_adopted(move.from)};
    TROUPE_ASSERT(part.offset + part.bytes <= part.size);
    if (std::byte* to = store_.data(move.to)) {
      return workers_.start(direction,
                            [=, file = store_.file(move.from)] { read_part(file, part, to); });
    }
    const std::byte* from = store_.data(move.from);
    TROUPE_ASSERT(from != nullptr);
    return workers_.start(direction,
                          [=, file = store_.file(move.to)] { write_part(file, part, from); });
  }

 private:
  MemoryStore& store_;
  LinkWorkers workers_;
};

bool file_fits(const Machine& machine, LinkId id) {
  const Link& link = machine.link(id);
  const bool a_stores = machine.memory(link.a).kind == MemoryKind::storage;
  const bool b_stores = machine.memory(link.b).kind == MemoryKind::storage;
  return a_stores != b_stores && is_host_ram(machine, a_stores ? link.b : link.a);
}

std::unique_ptr<LinkBackend> make_file_link(const BackendContext& context, LinkId) {
  return std::make_unique<FileLink>(context);
}

}  // namespace

LinkBackendEntry file_link_backend() {
  return {.name = "file", .fits = file_fits, .make = make_file_link, .mode = Mode::run};
}

}  // namespace troupe
