// Values that become tensors of a session: elements of the program, and files.
#pragma once

#include "actors/session.hpp"
#include "actors/session/session_core.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace troupe {

// As Session::tensor(), adopt() and load(); for T float, double, std::int32_t and std::int64_t.
template <class T>
Tensor copy_in(SessionCore& session, std::span<const T> elements, const Shape& shape, DType dtype,
               CallSite where);
template <class T>
Tensor take_in(SessionCore& session, std::span<const T> elements, const Shape& shape, DType dtype,
               std::function<void()> deleter, CallSite where);
// Errors of the file have it as their place.
Tensor load_from(SessionCore& session, const std::filesystem::path& file, std::string_view name,
                 CallSite where);

// The same values in another memory.
Tensor copy_to(SessionCore& session, TensorState& tensor, MemoryId memory, CallSite where);

}  // namespace troupe
