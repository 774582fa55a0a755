#include "core/ops/openblas_library.hpp"

#include "core/base/assert.hpp"

#include <cstdlib>
#include <optional>
#include <string>

#include <boost/test/unit_test.hpp>
#include <dlfcn.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(openblas_library)
namespace {

constexpr CpuFeatures old_processor;
constexpr CpuFeatures avx2{.has_avx2 = true};
constexpr CpuFeatures avx512{.has_avx2 = true, .has_avx512 = true};

constexpr const char* variable = "OPENBLAS_CORETYPE";

// OPENBLAS_CORETYPE while a test runs; nullptr: not set.
class CoreType {
 public:
  explicit CoreType(const char* value) {
    if (const char* const before = std::getenv(variable)) before_ = before;
    set(value);
  }
  ~CoreType() { set(before_ ? before_->c_str() : nullptr); }
  CoreType(const CoreType&) = delete;
  CoreType& operator=(const CoreType&) = delete;

 private:
  static void set(const char* value) {
    if (value != nullptr) {
      setenv(variable, value, 1);
    } else {
      unsetenv(variable);
    }
  }

  std::optional<std::string> before_;
};

std::string core_type_of(void* handle) {
  void* const symbol = dlsym(handle, "openblas_get_corename");
  TROUPE_ASSERT(symbol != nullptr);
  return reinterpret_cast<const char* (*)()>(symbol)();
}

// Opens the library of libraries/old_openblas.cpp and closes it.
std::string opened_core_type(const CpuFeatures& features) {
  void* const handle = open_openblas(OLD_OPENBLAS_LIBRARY, features);
  TROUPE_ASSERT(handle != nullptr);
  const std::string core_type = core_type_of(handle);
  dlclose(handle);
  return core_type;
}

}  // namespace

BOOST_AUTO_TEST_CASE(only_kernels_for_unknown_processors_are_replaced) {
  for (const char* const fallback : {"Prescott", "Barcelona"}) {
    BOOST_TEST(better_core_type(fallback, old_processor) == "");
    BOOST_TEST(better_core_type(fallback, avx2) == "Haswell");
    BOOST_TEST(better_core_type(fallback, avx512) == "SkylakeX");
  }
  for (const char* const known :
       {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", "Nehalem", "armv8", ""}) {
    BOOST_TEST(better_core_type(known, avx512) == "");
  }
}

BOOST_AUTO_TEST_CASE(an_openblas_that_does_not_know_the_processor_is_told_which_kernels_to_take) {
  const CoreType none(nullptr);
  BOOST_TEST(opened_core_type(old_processor) == "Prescott");
  BOOST_TEST(opened_core_type(avx2) == "Haswell");
  BOOST_TEST(opened_core_type(avx512) == "SkylakeX");
  BOOST_TEST(std::getenv(variable) == nullptr);
}

BOOST_AUTO_TEST_CASE(kernels_that_the_user_chose_stay) {
  const CoreType users("Prescott");
  BOOST_TEST(opened_core_type(avx512) == "Prescott");
  BOOST_TEST(std::string(std::getenv(variable)) == "Prescott");
}

BOOST_AUTO_TEST_CASE(a_library_that_others_have_open_stays_as_it_is) {
  const CoreType none(nullptr);
  void* const theirs = dlopen(OLD_OPENBLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  BOOST_TEST_REQUIRE(theirs != nullptr);
  BOOST_TEST(opened_core_type(avx512) == "Prescott");
  BOOST_TEST(core_type_of(theirs) == "Prescott");
  dlclose(theirs);
}

BOOST_AUTO_TEST_CASE(a_library_that_is_not_there_cannot_be_opened) {
  BOOST_TEST(open_openblas("libopenblas.so.none", avx2) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
