// What no compiler looks after in the files of this repository: length of lines, first lines of
// headers, includes that serve nothing, and files that are named but aren't there.
#include "tests/support/source_tree.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

BOOST_AUTO_TEST_SUITE(tidy)
namespace {

using namespace troupe::testing;
using Tree = std::vector<SourceFile>;
using Complaints = std::vector<std::string>;  // file:line: what is wrong

constexpr std::size_t columns_max = 100;
constexpr std::string_view front_header = "troupe/troupe.hpp";  // which only includes others

const Tree& tree() {
  static const Tree files = source_tree(TROUPE_SOURCE_DIR);
  return files;
}

bool is_markdown(std::string_view path) {
  return path.ends_with(".md");
}

std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.find_last_of('/') + 1);
}

std::string_view without_extension(std::string_view path) {
  return path.substr(0, path.find_last_of('.'));
}

// Calls visit(number, line) for each line, beginning with 1.
void each_line(std::string_view text, const std::function<void(int, std::string_view)>& visit) {
  int number = 0;
  for (const std::string_view line : lines_of(text)) visit(++number, line);
}

// Blanks what stands between lines of ``` in Markdown, which are samples.
std::string without_samples(std::string_view text) {
  std::string rest;
  bool in_sample = false;
  each_line(text, [&](int, std::string_view line) {
    const bool is_fence = line.starts_with("```");
    if (!in_sample && !is_fence) rest += line;
    if (is_fence) in_sample = !in_sample;
    rest += '\n';
  });
  return rest;
}

// Rule: no line is longer than columns_max. Tables, samples and lines with an address are let be in
// Markdown, and so are data and what programs have printed.
Complaints long_lines(const SourceFile& file) {
  Complaints found;
  if (file.path.find("/expected") != std::string::npos || file.path.ends_with(".csv")) return found;
  const bool is_page = is_markdown(file.path);
  each_line(
      is_page ? without_samples(file.text) : file.text, [&](int number, std::string_view line) {
        const bool is_free = is_page && (line.starts_with('|') || line.find("://") != line.npos);
        const auto columns = static_cast<std::size_t>(std::ranges::count_if(
            line, [](char c) { return (c & '\xC0') != '\x80'; }));  // of UTF-8
        if (columns <= columns_max || is_free) return;
        found.push_back(fmt::format("{}:{}: {} columns; at most {}: break the line", file.path,
                                    number, columns, columns_max));
      });
  return found;
}

// Rule: a header begins with a comment that says what it is for.
Complaints unexplained_header(const SourceFile& file) {
  if (!is_header(file.path)) return {};
  const std::vector<std::string_view> lines = lines_of(file.text);
  const std::string_view first = lines.empty() ? std::string_view() : lines.front();
  if (first.starts_with("// ") && std::ranges::count(first, ' ') >= 3) return {};
  return {fmt::format("{}:1: begin with a comment that says what this header is for", file.path)};
}

// Rule: a source file includes the header of its own name first, so that this header is known to
// compile by itself. (Headers without a source file: see headers_alone in tests/CMakeLists.txt.)
Complaints own_header_late(const SourceFile& file, const std::set<std::string_view>& paths) {
  const std::string own = fmt::format("{}.hpp", without_extension(file.path));
  if (!file.path.ends_with(".cpp") || !paths.contains(own)) return {};
  for (const std::string_view line : lines_of(file.text)) {
    const std::string_view header = included(line);
    if (header == fmt::format("\"{}\"", own)) return {};
    if (!header.empty()) break;
  }
  return {fmt::format("{}: include \"{}\" before anything else", file.path, own)};
}

// Rule: a file uses something of each header of ours that it includes. It may pass on what its own
// header includes, and never includes a source file. The front header stands for all of the
// library.
Complaints dead_includes(const SourceFile& file,
                         const std::map<std::string, std::string>& headers) {
  Complaints found;
  if (!is_cpp(file.path) || file.path == front_header) return found;
  const std::string code = take_apart(file.text).code;
  const std::set<std::string_view> used = identifiers(code);
  each_line(file.text, [&](int number, std::string_view line) {
    const std::string_view quoted = included(line);
    if (!quoted.starts_with('"')) return;
    const std::string header(quoted.substr(1, quoted.size() - 2));
    if (!is_header(header)) {
      found.push_back(fmt::format("{}:{}: {} is no header", file.path, number, quoted));
    }
    if (!headers.contains(header) || header == front_header ||
        without_extension(header) == without_extension(file.path)) {
      return;
    }
    const std::set<std::string_view> declared = declared_names(headers.at(header));
    if (std::ranges::none_of(declared,
                             [&](std::string_view name) { return used.contains(name); })) {
      found.push_back(fmt::format("{}:{}: nothing of {} is used here: include what is used instead",
                                  file.path, number, quoted));
    }
  });
  return found;
}

// The code of every header of `files`, by path.
std::map<std::string, std::string> header_code(const Tree& files) {
  std::map<std::string, std::string> code;
  for (const SourceFile& file : files) {
    if (is_header(file.path)) code[file.path] = take_apart(file.text).code;
  }
  return code;
}

std::set<std::string_view> paths_of(const Tree& files) {
  std::set<std::string_view> paths;
  for (const SourceFile& file : files) paths.insert(file.path);
  return paths;
}

// The text that people read in a file, with the lines where they are: pages but for their samples,
// comments of C++, and of CMake, shell and YAML. Nothing of other files.
std::string prose(const SourceFile& file) {
  if (is_markdown(file.path)) return without_samples(file.text);
  if (is_cpp(file.path)) return take_apart(file.text).comments;
  const bool has_comments = file.text.starts_with("#!") || file.path.ends_with("CMakeLists.txt") ||
                            file.path.ends_with(".cmake") || file.path.ends_with(".yaml") ||
                            file.path.ends_with(".sh");
  std::string text;
  if (!has_comments) return text;
  each_line(file.text, [&](int, std::string_view line) {
    const std::size_t at = line.starts_with('#') ? 0 : line.find(" #");
    if (at != line.npos) text += line.substr(at);
    text += '\n';
  });
  return text;
}

// The words of a line that look like names of files of this repository. NAME stands for any name.
std::vector<std::string_view> named_files(std::string_view line) {
  constexpr std::array extensions{".hpp", ".cpp", ".cmake", ".md", ".yaml", ".supp"};
  constexpr std::string_view of_a_path =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  std::vector<std::string_view> names;
  for (std::size_t at = 0; (at = line.find_first_of(of_a_path, at)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_not_of(of_a_path, at), line.size());
    std::string_view word = line.substr(at, end - at);
    const bool is_part = (at > 0 && line[at - 1] == '*') || (end < line.size() && line[end] == '*');
    const bool is_address = at >= 1 && line[at - 1] == ':' && word.starts_with("//");
    while (word.ends_with('.')) word.remove_suffix(1);
    const bool is_pattern = is_part || word.find("NAME") != word.npos;
    if (!is_pattern && !is_address &&
        std::ranges::any_of(extensions, [&](std::string_view extension) {
          return word.ends_with(extension) && word.size() > extension.size();
        })) {
      names.push_back(word);
    }
    at = end;
  }
  return names;
}

// The folders and files that a line of Markdown links to, or names in backticks with a '/'.
std::vector<std::string_view> named_places(std::string_view line) {
  std::vector<std::string_view> names;
  for (std::size_t at = 0; (at = line.find("](", at)) != line.npos; ++at) {
    const std::string_view link = line.substr(at + 2, line.find(')', at) - at - 2);
    if (link.find("://") == link.npos) names.push_back(link.substr(0, link.find('#')));
  }
  for (std::size_t at = 0; (at = line.find('`', at)) != line.npos;) {
    const std::size_t end = line.find('`', at + 1);
    if (end == line.npos) break;
    const std::string_view quoted = line.substr(at + 1, end - at - 1);
    constexpr std::array roots{"core/", "actors/", "apps/",  "bench/",    "cmake/", "config/",
                               "docs/", "tests/",  "tools/", "examples/", "troupe/"};
    const bool is_place = std::ranges::any_of(roots, [&](auto r) { return quoted.starts_with(r); });
    if (is_place && quoted.find_first_of(" *<{") == quoted.npos &&
        quoted.find("NAME") == quoted.npos)
      names.push_back(quoted);
    at = end + 1;
  }
  return names;
}

// Files that pages and comments may name though they aren't here: those of users, in samples.
const std::set<std::string_view> of_users{"run.yaml", "machine.yaml", "big.yaml",
                                          "../machines/one.yaml"};

// Whether `name`, read in the file `from`, is a file or a folder: from the root, from the folder of
// `from`, or as the end of a path. A source file may be named without its extension.
bool is_there(std::string_view name, std::string_view from,
              const std::set<std::string_view>& paths) {
  if (of_users.contains(name)) return true;
  while (name.ends_with('/')) name.remove_suffix(1);
  const auto is_this = [&](std::string_view path, std::string_view place) {
    return path == place || path.starts_with(fmt::format("{}/", place)) ||
           (path.starts_with(place) && path.substr(place.size()).starts_with('.'));
  };
  std::string relative(folder_of(from));
  std::string_view rest = name;
  while (rest.starts_with("../") && !relative.empty()) {
    rest.remove_prefix(3);
    relative.pop_back();
    relative = folder_of(relative);
  }
  relative += rest;
  return std::ranges::any_of(paths, [&](std::string_view path) {
    return is_this(path, name) || is_this(path, relative) ||
           path.ends_with(fmt::format("/{}", name));
  });
}

// Rule: pages and comments name no file that isn't there.
Complaints missing_files(const SourceFile& file, const std::set<std::string_view>& paths) {
  Complaints found;
  each_line(prose(file), [&](int number, std::string_view line) {
    std::vector<std::string_view> names = named_files(line);
    if (is_markdown(file.path)) {
      const std::vector<std::string_view> places = named_places(line);
      names.insert(names.end(), places.begin(), places.end());
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string_view name : names) {
      if (is_there(name, file.path, paths)) continue;
      found.push_back(fmt::format("{}:{}: there is no '{}'", file.path, number, name));
    }
  });
  return found;
}

// Reports every complaint of `rule` about a file of the repository.
void apply(const std::function<Complaints(const SourceFile&)>& rule) {
  BOOST_TEST(tree().size() > 200U);
  for (const SourceFile& file : tree()) {
    for (const std::string& complaint : rule(file)) BOOST_ERROR(complaint);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_line_is_longer_than_a_hundred_columns) {
  apply(long_lines);
}

BOOST_AUTO_TEST_CASE(a_long_line_is_found) {
  const std::string x(100, 'x');
  BOOST_TEST(long_lines({"core/a.cpp", "\n" + x + "y\n"}) ==
                 Complaints{"core/a.cpp:2: 101 columns; at most 100: break the line"},
             boost::test_tools::per_element());
  BOOST_TEST(long_lines({"core/a.cpp", x + "\n"}).empty());
  BOOST_TEST(long_lines({"core/a.cpp", x.substr(1) + "µ\n"}).empty());
  BOOST_TEST(!long_lines({"docs/a.md", x + "y\n"}).empty());
  BOOST_TEST(long_lines({"docs/a.md", "|" + x + "\n```\n" + x + "y\n```\nhttps://" + x}).empty());
  BOOST_TEST(!long_lines({"docs/a.md", "```\n```\n" + x + "y\n"}).empty());
}

BOOST_AUTO_TEST_CASE(every_header_begins_with_what_it_is_for) {
  apply(unexplained_header);
}

BOOST_AUTO_TEST_CASE(a_header_that_does_not_say_what_it_is_for_is_found) {
  BOOST_TEST(unexplained_header({"a.hpp", "// What a device does.\n#pragma once\n"}).empty());
  BOOST_TEST(unexplained_header({"a.cpp", "int a;\n"}).empty());
  BOOST_TEST(!unexplained_header({"a.hpp", "#pragma once\n// What a device does.\n"}).empty());
  BOOST_TEST(!unexplained_header({"a.hpp", "// heft.hpp\n#pragma once\n"}).empty());
  BOOST_TEST(!unexplained_header({"a.hpp", ""}).empty());
}

BOOST_AUTO_TEST_CASE(every_source_file_includes_its_own_header_first) {
  const std::set<std::string_view> paths = paths_of(tree());
  apply([&](const SourceFile& file) { return own_header_late(file, paths); });
}

BOOST_AUTO_TEST_CASE(a_header_that_its_source_file_includes_late_is_found) {
  const std::set<std::string_view> paths{"core/a.hpp", "core/a.cpp", "core/b.cpp"};
  const auto late = [&](std::string path, std::string text) {
    return own_header_late({std::move(path), std::move(text)}, paths);
  };
  BOOST_TEST(late("core/a.cpp", "// Why.\n#include \"core/a.hpp\"\n#include <set>\n").empty());
  BOOST_TEST(late("core/b.cpp", "#include <set>\n").empty());
  BOOST_TEST(!late("core/a.cpp", "#include <set>\n#include \"core/a.hpp\"\n").empty());
  BOOST_TEST(!late("core/a.cpp", "int a;\n").empty());
}

BOOST_AUTO_TEST_CASE(every_included_header_is_used) {
  const std::map<std::string, std::string> headers = header_code(tree());
  apply([&](const SourceFile& file) { return dead_includes(file, headers); });
}

BOOST_AUTO_TEST_CASE(an_include_that_serves_nothing_is_found) {
  const std::map<std::string, std::string> headers = header_code(
      {{"core/a.hpp",
        "// An act.\nstruct Act {\n  int scenes;\n  explicit Act(int pages) : scenes(pages) {\n"
        "    int lines = 0;\n  }\n  int played() const { return left; }\n};\n"
        "enum class Mood { glad, sad };\nusing Acts = std::vector<Act>;\nAct open(int door);\n"}});
  const auto dead = [&](std::string code) {
    return dead_includes({"core/b.cpp", "#include \"core/a.hpp\"\n" + code}, headers);
  };
  for (const char* use : {"Act a;", "x.scenes = 1;", "x->played();", "f(Mood::sad);", "Acts b;",
                          "auto c = open(1);"}) {
    BOOST_TEST(dead(use).empty(), use);
  }
  for (const char* none : {"", "// Act\n", "auto s = \"Act\";", "R\"(Act)\"",
                           "int pages, lines, door;", "std::vector<int> left;", "Action act;"}) {
    BOOST_TEST(dead(none).size() == 1U, none);
  }
  BOOST_TEST(dead_includes({"core/a.cpp", "#include \"core/a.hpp\"\n"}, headers).empty());
  BOOST_TEST(dead_includes({"core/b.cpp", "#include \"core/c.cpp\"\n"}, headers) ==
                 Complaints{"core/b.cpp:1: \"core/c.cpp\" is no header"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pages_and_comments_name_only_files_that_are_there) {
  const std::set<std::string_view> paths = paths_of(tree());
  apply([&](const SourceFile& file) { return missing_files(file, paths); });
}

BOOST_AUTO_TEST_CASE(a_file_that_is_named_but_is_not_there_is_found) {
  const std::set<std::string_view> paths{"core/plan/heft.hpp", "core/plan/heft.cpp", "docs/a.md",
                                         "README.md"};
  const auto missing = [&](std::string path, std::string text) {
    return missing_files({std::move(path), std::move(text)}, paths);
  };
  BOOST_TEST(missing("docs/a.md", "See `plan/heft.cpp`.\n\nAlso `core/plain.hpp`, [x](b.md).") ==
                 (Complaints{"docs/a.md:3: there is no 'b.md'",
                             "docs/a.md:3: there is no 'core/plain.hpp'"}),
             boost::test_tools::per_element());
  for (const char* text :
       {"heft.hpp", "`core/plan/heft`", "`core/plan/`", "[x](../README.md#a)", "https://x.org/b.md",
        "*.md", "core/NAME.cpp", "```\nb.md\n```", "`core/*/b`"}) {
    BOOST_TEST(missing("docs/a.md", text).empty(), text);
  }
  for (const char* text : {"[x](tools)", "`core/cost/`", "[x](../plan/heft.hpp2)", "(b.md)."}) {
    BOOST_TEST(missing("docs/a.md", text).size() == 1U, text);
  }
  BOOST_TEST(missing("core/plan/heft.cpp", "int a;  // see gone.hpp\n").size() == 1U);
  BOOST_TEST(missing("core/plan/heft.cpp", "auto a = \"gone.hpp\";  // see heft.hpp\n").empty());
  BOOST_TEST(missing("core/CMakeLists.txt", "set(a gone.cpp)  # gone.md\n").size() == 1U);
}

BOOST_AUTO_TEST_CASE(include_lines_are_recognised_however_they_are_spaced) {
  BOOST_TEST(included("#include <vector>") == "<vector>");
  BOOST_TEST(included("  #\tinclude\"core/a/b.hpp\"  // why") == "\"core/a/b.hpp\"");
  BOOST_TEST(included("// #include <vector>") == "");
  BOOST_TEST(included("#define X") == "");
  BOOST_TEST(included("#include") == "");
}

BOOST_AUTO_TEST_SUITE_END()
