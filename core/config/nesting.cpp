#include "core/config/nesting.hpp"

#include <algorithm>

namespace troupe {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Walks through the tokens of a text without building any. A token is a bracket, a comma, an
// indicator ("- ", "? ", ": "), a quoted scalar, a block scalar, an anchor, an alias, a tag, a
// directive, a document marker or a plain scalar. Tokens begin and end where yaml-cpp's do: a quote
// that opens nothing for yaml-cpp would else hide the brackets behind it.
class BracketCounter {
 public:
  explicit BracketCounter(std::string_view text) : text_(text) {}

  std::optional<TextPlace> find_deeper_than(std::size_t levels_max) {
    while (at_.offset < text_.size()) {
      const char c = current();
      if (at_.column == 1 && is_document_marker()) {
        skip(3);
        in_plain_scalar_ = false;
        node_.reset();
        key_is_allowed_ = false;
        parent_ = 0;
      } else if (c == '#' && (begins_word() || !in_plain_scalar_)) {
        skip_line();
        in_plain_scalar_ = false;
      } else if (c == '\n') {
        skip_line_end();
      } else if (open_ > 0 && (c == ',' || c == ']' || c == '}')) {
        if (c != ',') --open_;
        end_token(c != ',');
      } else if ((c == '[' || c == '{') && (open_ > 0 || !in_plain_scalar_)) {
        if (open_ == levels_max) return at_;
        begin_node();
        ++open_;
        end_token(false);
      } else if (c == ':' && ends_key()) {
        if (open_ == 0) begin_value(node_.value_or(at_.column), !node_);
        end_token(false);
      } else if (in_plain_scalar_ || is_blank(c)) {
        advance();
      } else {
        begin_token(c);
      }
    }
    return std::nullopt;
  }

 private:
  char current() const { return text_[at_.offset]; }
  bool begins_word() const { return at_.offset == 0 || is_blank(text_[at_.offset - 1]); }

  void advance() {
    if (current() == '\n') {
      ++at_.line;
      at_.column = 0;
    }
    ++at_.offset;
    ++at_.column;
  }
  void skip(int bytes) {
    for (; bytes > 0; --bytes) advance();
  }
  void skip_while_one_of(std::string_view bytes) {
    while (at_.offset < text_.size() && bytes.find(current()) != std::string_view::npos) advance();
  }
  void skip_until_one_of(std::string_view bytes) {
    while (at_.offset < text_.size() && bytes.find(current()) == std::string_view::npos) advance();
  }
  void skip_line() { skip_until_one_of("\n"); }

  // Whether a blank or the end of the text follows `bytes` bytes, as it must for an indicator.
  bool is_blank_after(std::size_t bytes) const {
    return at_.offset + bytes >= text_.size() || is_blank(text_[at_.offset + bytes]);
  }
  bool is_document_marker() const {
    const std::string_view word = text_.substr(at_.offset, 3);
    return (word == "---" || word == "...") && is_blank_after(3);
  }
  bool ends_key() const {
    if (is_blank_after(1)) return true;
    if (open_ == 0 || in_plain_scalar_) return false;
    const char next = text_[at_.offset + 1];
    return follows_json_ || next == ',' || next == ']' || next == '}';
  }

  // The first token of a node may begin a key, whose column is then that of its mapping.
  void begin_node() {
    if (open_ > 0 || !key_is_allowed_) return;
    node_ = at_.column;
    key_is_allowed_ = false;
  }
  // Behind an indicator of the collection in this column.
  void begin_value(int column, bool key_is_allowed) {
    parent_ = column;
    node_.reset();
    key_is_allowed_ = key_is_allowed;
  }
  // The column of the collection that a scalar at this place is in; 0: none.
  int collection() const {
    if (node_) return *node_;
    return parent_ <= at_.column ? parent_ : at_.column - 1;
  }
  // `is_json`: the value of a key in quotes or brackets may follow its colon at once.
  void end_token(bool is_json) {
    in_plain_scalar_ = false;
    follows_json_ = is_json;
    advance();
  }

  // Skips a token, or begins a plain scalar.
  void begin_token(char c) {
    if (c == '%' && at_.column == 1) return skip_line();
    if (c == ',') return end_token(false);
    if ((c == '-' || c == '?') && is_blank_after(1)) {
      if (open_ == 0) begin_value(at_.column, true);
      return end_token(false);
    }
    if ((c == '|' || c == '>') && open_ == 0) return skip_block_scalar();
    scalar_parent_ = collection();
    begin_node();
    follows_json_ = c == '"' || c == '\'';
    if (follows_json_) return skip_quoted(c);
    if (c == '&' || c == '*') return skip_until_one_of(" \t\r\n,[]{}");
    if (c == '!') return skip_tag();
    in_plain_scalar_ = true;
    advance();
  }

  // Between brackets a plain scalar may continue in the next line. Outside of brackets it does if
  // that line is indented more than the collection that the scalar is in.
  void skip_line_end() {
    skip_while_one_of(" \t\r\n");
    if (open_ > 0) return;
    if (!in_plain_scalar_) {
      node_.reset();
      key_is_allowed_ = true;
    } else if (at_.column <= scalar_parent_) {
      in_plain_scalar_ = false;
      end_lines_of_scalar();
    }
  }

  // yaml-cpp forgets where the node began only if this line is indented less.
  void end_lines_of_scalar() {
    if (node_ && at_.column < *node_) node_.reset();
    key_is_allowed_ = !node_;
  }

  void skip_tag() {
    constexpr std::string_view bytes =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-#;/?:@&=+$_.~*'()%!";
    advance();
    if (at_.offset < text_.size() && current() == '<') {
      skip_until_one_of("> \t\r\n");
    } else {
      skip_while_one_of(bytes);
    }
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

  // The lines that are indented as its first one, or as the digit of its header says.
  void skip_block_scalar() {
    const int top = std::max(0, collection() - 1);  // columns, from 0
    int indentation = top + 1;
    bool is_given = false;
    for (advance(); at_.offset < text_.size() && !is_blank(current()); advance()) {
      if (current() < '1' || current() > '9') continue;
      indentation = top + (current() - '0');
      is_given = true;
    }
    skip_line();
    while (at_.offset < text_.size()) {
      advance();  // the end of a line
      const std::size_t spaces = text_.substr(at_.offset).find_first_not_of(' ');
      if (spaces == std::string_view::npos) return skip_line();
      const char first = text_[at_.offset + spaces];
      const bool is_empty = first == '\n' || first == '\r';
      const int column = static_cast<int>(spaces);
      if (!is_given) indentation = std::max(indentation, column);
      if (!is_empty && column < indentation) {
        skip(column);
        return end_lines_of_scalar();
      }
      is_given = is_given || !is_empty;
      skip_line();
    }
  }

  std::string_view text_;
  TextPlace at_;
  std::size_t open_ = 0;  // brackets
  bool in_plain_scalar_ = false;
  bool follows_json_ = false;  // behind a quoted scalar or a closing bracket
  // Outside of brackets:
  int parent_ = 0;                // column of the innermost collection; 0: none
  int scalar_parent_ = 0;         // that of the last plain scalar
  bool key_is_allowed_ = true;    // at this place of the line
  std::optional<int> node_ = {};  // column of the first token behind the last indicator of the
                                  // line, if it may begin a key
};

}  // namespace

std::optional<TextPlace> find_bracket_too_deep(std::string_view text, std::size_t levels_max) {
  return BracketCounter(text).find_deeper_than(levels_max);
}

}  // namespace troupe
