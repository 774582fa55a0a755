#include "core/config/document.hpp"

#include "core/base/text.hpp"
#include "core/config/nesting.hpp"
#include "core/config/tree_builder.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace troupe {
namespace {

// The column of the first tab in the indentation of the line that `mark` stands in; 0 if none does.
int column_of_tab(std::string_view text, const YAML::Mark& mark) {
  const std::string_view line = text.substr(static_cast<std::size_t>(mark.pos - mark.column));
  const std::string_view indentation = line.substr(0, line.find_first_not_of(" \t"));
  return static_cast<int>(indentation.find('\t') + 1);
}

[[noreturn]] void refuse_yaml(const YAML::Exception& error, std::string_view text,
                              const std::string& file) {
  const YAML::Mark& mark = error.mark;
  const SourcePlace place =
      mark.is_null() ? SourcePlace{file, 0, 0} : SourcePlace{file, mark.line + 1, mark.column + 1};
  if (error.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR) refuse_alias(place);
  // Between brackets, tabs are allowed at the start of a line.
  const bool in_brackets =
      error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW || error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW;
  if (!mark.is_null() && !in_brackets) {
    if (const int column = column_of_tab(text, mark)) {
      throw usage_error(SourcePlace{file, mark.line + 1, column},
                        "YAML allows no tabs for indentation", "use spaces instead of this tab");
    }
  }
  throw usage_error(place, fmt::format("this is not valid YAML: {}", error.msg),
                    "check brackets, quotes, colons and indentation here and in the line before "
                    "(within [ ] and { }, names such as \"run[3]\" or \"y-{i}.npy\" need quotes)");
}

// The whole file, of at most bytes_max bytes. An error has this place, and its problem this prefix.
std::string read_file(const std::filesystem::path& path, const SourcePlace& place,
                      const std::string& prefix) {
  std::error_code status_error;
  const auto status = std::filesystem::status(path, status_error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw usage_error(place, prefix + "there is no such file", "check the path");
  }
  if (status.type() == std::filesystem::file_type::directory) {
    throw usage_error(place, prefix + "this is a directory", "name a file in it");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) {
    // Reading one byte more than allowed finds files that are too large. Pipes have no size to ask
    // for.
    text.resize(Document::bytes_max + 1);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) {
    const std::string cause = system_message(errno);
    throw usage_error(place, fmt::format("{}the file can't be read ({})", prefix, cause),
                      "check its permissions");
  }
  if (text.size() > Document::bytes_max) {
    throw usage_error(
        place, fmt::format("{}the file is larger than {} MiB", prefix, Document::bytes_max >> 20),
        "use `repeat` or a `pattern` instead of writing every task out");
  }
  return text;
}

}  // namespace

Document Document::load(const std::filesystem::path& path, const SourcePlace& referrer) {
  Document document;
  document.file_ = std::make_unique<const std::string>(path.string());
  const std::string& file = *document.file_;

  const bool referred = !referrer.file.empty();
  std::string text = read_file(path, referred ? referrer : SourcePlace{file, 0, 0},
                               referred ? fmt::format("'{}': ", file) : std::string());
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  check_text(text, file);
  if (const auto bracket = find_bracket_too_deep(text, levels_max)) {
    refuse_depth({file, bracket->line, bracket->column});
  }

  TreeBuilder builder(file, text);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    refuse_yaml(error, text, file);
  }
  document.root_ = builder.take_root();
  if (document.root_ == nullptr || document.root_->type == Node::Type::null) {
    throw usage_error(SourcePlace{file, 0, 0}, "the file is empty",
                      "the files in config/ show what goes in");
  }
  return document;
}

}  // namespace troupe
