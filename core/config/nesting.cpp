#include "core/config/nesting.hpp"

namespace troupe {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Walks through the tokens of a text without building any. A token is a bracket, a comma, an
// indicator ("- ", "? ", ": "), a quoted scalar, an anchor or a tag, or a plain scalar.
class BracketCounter {
 public:
  explicit BracketCounter(std::string_view text) : text_(text) {}

  std::optional<TextPlace> find_deeper_than(std::size_t levels_max) {
    std::size_t open = 0;
    bool in_plain_scalar = false;
    while (at_.offset < text_.size()) {
      const char c = current();
      const bool begins_word = at_.offset == 0 || is_blank(text_[at_.offset - 1]);
      if (c == '#' && begins_word) {
        skip_line();
      } else if (c == '\n') {
        // Between brackets a plain scalar may continue in the next line. Outside of brackets it may
        // too, but a line that begins with a bracket or a quote is more likely a value of its own.
        in_plain_scalar = in_plain_scalar && open > 0;
        advance();
      } else if (open > 0 && (c == ',' || c == ']' || c == '}')) {
        in_plain_scalar = false;
        if (c != ',') --open;
        advance();
      } else if ((c == '[' || c == '{') && (open > 0 || !in_plain_scalar)) {
        if (open == levels_max) return at_;
        in_plain_scalar = false;
        ++open;
        advance();
      } else if (c == ':' && (ends_indicator() || (open > 0 && !in_plain_scalar))) {
        in_plain_scalar = false;
        advance();
      } else if (in_plain_scalar || is_blank(c)) {
        advance();
      } else if (c == '"' || c == '\'') {
        skip_quoted(c);
      } else if (c == '&' || c == '!') {
        skip_property();
      } else {
        in_plain_scalar = !((c == '-' || c == '?') && ends_indicator());
        advance();
      }
    }
    return std::nullopt;
  }

 private:
  char current() const { return text_[at_.offset]; }

  void advance() {
    if (current() == '\n') {
      ++at_.line;
      at_.column = 0;
    }
    ++at_.offset;
    ++at_.column;
  }

  // Whether a blank or the end of the text follows the current byte, as it must for an indicator.
  bool ends_indicator() const {
    return at_.offset + 1 == text_.size() || is_blank(text_[at_.offset + 1]);
  }

  void skip_line() {
    while (at_.offset < text_.size() && current() != '\n') advance();
  }

  // An anchor or a tag, which stands before its value.
  void skip_property() {
    constexpr std::string_view ends = " \t\r\n,[]{}";
    while (at_.offset < text_.size() && ends.find(current()) == std::string_view::npos) advance();
  }

  // A single quote that is doubled, '', is read as the end of one scalar and the start of another.
  void skip_quoted(char quote) {
    advance();
    while (at_.offset < text_.size() && current() != quote) {
      const bool escapes = quote == '"' && current() == '\\';
      advance();
      if (escapes && at_.offset < text_.size()) advance();
    }
    if (at_.offset < text_.size()) advance();
  }

  std::string_view text_;
  TextPlace at_;
};

}  // namespace

std::optional<TextPlace> find_bracket_too_deep(std::string_view text, std::size_t levels_max) {
  return BracketCounter(text).find_deeper_than(levels_max);
}

}  // namespace troupe
