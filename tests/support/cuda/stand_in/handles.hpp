// The handles that the stand-in has given to the program and that aren't destroyed yet.
#pragma once

#include <map>
#include <memory>
#include <string_view>

namespace troupe::testing {

// A handle is a pointer to an object of type T; T::kind says what it is in a report.
class Handles {
 public:
  template <class T>
  T* add(std::shared_ptr<T> object) {
    T* handle = object.get();
    live_[handle] = {T::kind, std::move(object)};
    return handle;
  }
  // Returns null if there is no such handle.
  template <class T>
  std::shared_ptr<T> find(T* handle) const {
    const auto found = live_.find(handle);
    if (found == live_.end() || found->second.kind != T::kind) return nullptr;
    return std::static_pointer_cast<T>(found->second.object);
  }
  void remove(const void* handle) { live_.erase(handle); }
  std::map<std::string_view, int> count() const {
    std::map<std::string_view, int> counts;
    for (const auto& [handle, entry] : live_) ++counts[entry.kind];
    return counts;
  }

 private:
  struct Entry {
    std::string_view kind;
    std::shared_ptr<void> object;
  };
  std::map<const void*, Entry> live_;
};

}  // namespace troupe::testing
