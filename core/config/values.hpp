// Reads typed values from Nodes. Each function throws a usage Error at the node's place that says
// what is there and what to write instead.
#pragma once

#include "core/base/time.hpp"
#include "core/config/document.hpp"
#include "core/ops/tensor_type.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

// What stands at a node, for messages: "a list", "a map", "'abc'" or "empty".
std::string describe(const Node& node);

// `what` names the thing being read, for messages: "streams of 'gpu0'".
const Node& expect_map(const Node& node, std::string_view what);   // may be empty
const Node& expect_list(const Node& node, std::string_view what);  // may be empty

// Text that isn't empty; `expected` says what of, for messages: "the name of a task".
std::string read_string(const Node& node, std::string_view what, std::string_view expected);
// None: the text is no whole number, or a very large one.
std::optional<std::int64_t> whole_number(std::string_view text);
std::int64_t read_integer(const Node& node, std::string_view what, std::int64_t value_min,
                          std::int64_t value_max);
// The same, or none if the text is `word`.
std::optional<std::int64_t> read_integer_or(std::string_view word, const Node& node,
                                            std::string_view what, std::int64_t value_min,
                                            std::int64_t value_max);
double read_number(const Node& node, std::string_view what);  // finite
bool read_bool(const Node& node, std::string_view what);      // true or false
double read_flops(const Node& node, std::string_view what);
double read_bandwidth(const Node& node, std::string_view what);
std::uint64_t read_bytes(const Node& node, std::string_view what);
Duration read_duration(const Node& node, std::string_view what);
Shape read_shape(const Node& node, std::string_view what);  // a list that isn't empty
DType read_dtype(const Node& node, std::string_view what);

// The index of the node's text in `choices`; the error suggests the nearest one.
std::size_t read_choice(const Node& node, std::string_view what,
                        std::span<const std::string_view> choices);

// Checks that a key is an identifier; `what` as in "a task".
void expect_identifier(const Node& key, std::string_view what);

// Null if the map has no such key.
const Node* find(const Node& map, std::string_view key);
// Throws at the map's place if there is no such key.
const Node& require(const Node& map, std::string_view key, std::string_view what);
// Throws at the first key that is not one of `known`, and suggests the nearest one.
void check_keys(const Node& map, std::string_view what, std::span<const std::string_view> known);

}  // namespace troupe
