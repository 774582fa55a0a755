#include "core/ops/op_library.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

namespace troupe {
namespace {

// Versions that differ only in the patch are compatible.
std::string_view interface_of(std::string_view of) {
  return of.substr(0, of.rfind('.'));
}

// dlopen() maps what the file says that it has: where a part is missing, to read it would end the
// process.
bool is_cut_short(const std::filesystem::path& library) {
  std::ifstream file(library, std::ios::binary);
  Elf64_Ehdr head{};
  const bool is_whole = static_cast<bool>(file.read(reinterpret_cast<char*>(&head), sizeof head));
  if (!std::equal(head.e_ident, head.e_ident + SELFMAG, ELFMAG)) return false;  // dlopen() says so
  if (!is_whole) return true;
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(library, error);
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return true;
    if (part.p_offset > bytes || part.p_filesz > bytes - part.p_offset) return true;
  }
  return false;
}

// Null: there is no such symbol, or it is a function.
const void* find_object(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  Dl_info info{};
  ElfW(Sym)* entry = nullptr;
  const bool is_known =
      symbol != nullptr &&
      dladdr1(symbol, &info, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) != 0;
  return is_known && entry != nullptr && ELF64_ST_TYPE(entry->st_info) == STT_OBJECT ? symbol
                                                                                     : nullptr;
}

}  // namespace

void load_op_library(const std::filesystem::path& library, OpRegistry& registry) {
  const SourcePlace place{.file = library.string()};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(library, ignored)) {
    throw usage_error(
        place,
        std::filesystem::exists(library, ignored) ? "this is no file" : "there is no such file",
        "check the path of the library of ops");
  }
  if (is_cut_short(library)) {
    throw usage_error(place, "the library of ops is not complete", "build or copy it anew");
  }
  // A path, so that no other folder is searched.
  const std::filesystem::path path = absolute_path(library);
  std::string missing;  // functions, maybe since another version of Troupe had them
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    missing = dlerror();
    loaded = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  }
  if (loaded == nullptr) {
    throw usage_error(place, fmt::format("could not load the library of ops: {}", dlerror()),
                      fmt::format("build it as a shared library for Troupe {}", version));
  }
  const auto* const ops = static_cast<const OpLibrary*>(find_object(loaded, "troupe_op_library"));
  if (ops == nullptr || ops->version == nullptr || ops->add == nullptr) {
    throw usage_error(place, "this is no library of ops: it lacks the symbol troupe_op_library",
                      "add the ops in TROUPE_OPS(registry) { … }");
  }
  if (interface_of(ops->version) != interface_of(version)) {
    throw usage_error(place,
                      fmt::format("the library of ops was built for Troupe {}, and this is {}",
                                  ops->version, version),
                      "build it anew with the headers of this version");
  }
  if (!missing.empty()) {
    throw usage_error(place, fmt::format("could not load the library of ops: {}", missing),
                      "link it to what it uses");
  }
  try {
    ops->add(registry);
  } catch (const Error& error) {
    throw error.at(place);
  } catch (const std::exception& error) {
    throw usage_error(place, fmt::format("it could not add its ops: {}", error.what()),
                      "see what its TROUPE_OPS does");
  } catch (...) {
    throw usage_error(place, "it could not add its ops: it threw what is no std::exception",
                      "see what its TROUPE_OPS does");
  }
}

}  // namespace troupe
