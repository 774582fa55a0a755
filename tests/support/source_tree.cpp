#include "tests/support/source_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace troupe::testing {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Identifiers and single other characters; blanks and line ends are left out.
std::vector<std::string_view> tokens_of(std::string_view code) {
  std::vector<std::string_view> tokens;
  for (std::size_t i = 0; i < code.size();) {
    std::size_t end = i + 1;
    if (is_word(code[i])) {
      while (end < code.size() && is_word(code[end])) ++end;
    }
    if (std::isspace(static_cast<unsigned char>(code[i])) == 0) {
      tokens.push_back(code.substr(i, end - i));
    }
    i = end;
  }
  return tokens;
}

bool is_identifier(std::string_view token) {
  return is_word(token.front()) && std::isdigit(static_cast<unsigned char>(token.front())) == 0;
}

// The index after the bracket that closes the one at `open`.
std::size_t after_closing(const std::vector<std::string_view>& tokens, std::size_t open,
                          std::string_view opening, std::string_view closing) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i] == opening) ++depth;
    if (tokens[i] == closing && --depth == 0) return i + 1;
  }
  return tokens.size();
}

// The index after the body of a function whose parameters end before `at`, or `at` where it has
// none.
std::size_t after_body(const std::vector<std::string_view>& tokens, std::size_t at) {
  const auto token = [&](std::size_t i) { return i < tokens.size() ? tokens[i] : ";"; };
  std::size_t next = at;
  while (is_identifier(token(next))) ++next;  // `const` and the like
  if (token(next) == ":" && token(next + 1) != ":") {
    do {  // initialisers of members
      ++next;
      while (token(next) != "(" && token(next) != "{" && token(next) != ";") ++next;
      next = after_closing(tokens, next, token(next), token(next) == "(" ? ")" : "}");
    } while (token(next) == ",");
  }
  return token(next) == "{" ? after_closing(tokens, next, "{", "}") : at;
}

// The length of the literal that begins at text[at] with a quote, prefixes excluded.
std::size_t literal_length(std::string_view text, std::size_t at) {
  if (text[at] == '"' && at > 0 && text[at - 1] == 'R') {
    const std::size_t open = text.find('(', at);
    if (open == std::string_view::npos) return text.size() - at;
    const std::string end = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
    const std::size_t close = text.find(end, open);
    return close == std::string_view::npos ? text.size() - at : close + end.size() - at;
  }
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != text[at] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size()) - at;
}

}  // namespace

std::vector<SourceFile> source_tree(const std::string& root) {
  std::vector<SourceFile> files;
  for (std::filesystem::recursive_directory_iterator it(root), end; it != end; ++it) {
    const std::string path = it->path().lexically_relative(root).generic_string();
    if (it->is_directory()) {
      const bool is_hidden = it->path().filename().string().starts_with('.') && path != ".ci";
      if (is_hidden || path == "build") it.disable_recursion_pending();
    } else if (it->is_regular_file() && it->file_size() <= (1U << 20U)) {
      std::ifstream in(it->path(), std::ios::binary);
      std::string text{std::istreambuf_iterator<char>(in), {}};
      if (text.find('\0') == std::string::npos) files.push_back({path, std::move(text)});
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

bool is_header(std::string_view path) {
  constexpr std::array extensions{".hpp", ".h", ".cuh"};
  return std::ranges::any_of(extensions, [&](const char* e) { return path.ends_with(e); });
}

bool is_cpp(std::string_view path) {
  constexpr std::array extensions{".cpp", ".c", ".cc", ".cu"};
  return is_header(path) ||
         std::ranges::any_of(extensions, [&](const char* e) { return path.ends_with(e); });
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view included(std::string_view line) {
  const auto skip_blanks = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(std::string_view("include").size());
  skip_blanks();
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return {};
  const std::size_t end = line.find(line.front() == '"' ? '"' : '>', 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end + 1);
}

CodeAndComments take_apart(std::string_view text) {
  CodeAndComments parts{std::string(text.size(), ' '), std::string(text.size(), ' ')};
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 1;
    std::string* part = &parts.code;
    if (text.substr(i).starts_with("//")) {
      length = std::min(text.find('\n', i), text.size()) - i;
      part = &parts.comments;
    } else if (text.substr(i).starts_with("/*")) {
      const std::size_t end = text.find("*/", i + 2);
      length = (end == std::string_view::npos ? text.size() : end + 2) - i;
      part = &parts.comments;
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_word(text[i - 1])))) {
      length = literal_length(text, i);  // 1'000 is no literal
      part = nullptr;
    }
    if (part != nullptr) part->replace(i, length, text.substr(i, length));
    for (std::size_t k = i; k < i + length; ++k) {
      if (text[k] == '\n') parts.code[k] = parts.comments[k] = '\n';
    }
    i += length;
  }
  return parts;
}

std::set<std::string_view> identifiers(std::string_view code) {
  std::set<std::string_view> names;
  for (const std::string_view token : tokens_of(code)) {
    if (is_identifier(token)) names.insert(token);
  }
  return names;
}

std::set<std::string_view> declared_names(std::string_view code) {
  static const std::set<std::string_view> introducing{"class",   "struct", "enum",  "union",
                                                      "concept", "using",  "define"};
  static const std::set<std::string_view> following{"(", "=", ";", "{", ":", ",", "}", "["};
  static const std::set<std::string_view> never{"default", "delete", "override", "const",
                                                "final",   "public", "private",  "protected"};
  const std::vector<std::string_view> tokens = tokens_of(code);
  const auto token = [&](std::size_t i) { return i < tokens.size() ? tokens[i] : ""; };
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < tokens.size();) {
    const std::string_view before = i == 0 ? "" : tokens[i - 1];
    if (token(i) == "(") {
      i = after_body(tokens, after_closing(tokens, i, "(", ")"));
      continue;
    }
    const bool is_qualified = before == ":" && i >= 2 && tokens[i - 2] == ":";
    const bool is_qualifier = token(i + 1) == ":" && token(i + 2) == ":";
    if (is_identifier(tokens[i]) && !is_qualified && !is_qualifier && !never.contains(tokens[i]) &&
        (introducing.contains(before) || following.contains(token(i + 1)))) {
      names.insert(tokens[i]);
    }
    ++i;
  }
  return names;
}

}  // namespace troupe::testing
