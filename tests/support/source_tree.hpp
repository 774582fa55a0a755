// The files of this repository as text, for tests that read them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::string text;
};

// Every file below `root`, sorted by path, but for build/, hidden folders other than .ci, files of
// more than 1 MiB, and what isn't text.
std::vector<SourceFile> source_tree(const std::string& root);

bool is_cpp(std::string_view path);     // a source file or a header
bool is_header(std::string_view path);  // a header

// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

// The header of an #include line, with its quotes or angle brackets; empty for other lines.
std::string_view included(std::string_view line);

// C++ text taken apart. Both parts are as long as the text: what belongs to the other part is
// blank, line ends are in both. The contents of string and character literals are in neither.
struct CodeAndComments {
  std::string code;
  std::string comments;
};
CodeAndComments take_apart(std::string_view text);

// The identifiers in `code`.
std::set<std::string_view> identifiers(std::string_view code);

// The identifiers that a header declares: types, functions, constants, members, enumerators,
// macros. Bodies and parameters of functions don't count. May contain more, never less.
std::set<std::string_view> declared_names(std::string_view code);

}  // namespace troupe::testing
