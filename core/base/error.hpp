// Errors that a user can act on: what is wrong, where, and what to do about it.
#pragma once

#include <exception>
#include <string>

namespace troupe {

// A place in a file the user wrote. `line` and `column` count from 1; 0 means the whole file.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
};

enum class ErrorKind {
  usage,   // bad input, or what it needs is missing, found before anything ran: exit code 2
  failed,  // the run itself failed: exit code 1
};

// Thrown for bad input and failing hardware. Bugs of Troupe fail a TROUPE_ASSERT instead.
class Error : public std::exception {
 public:
  // `problem` says what is wrong, `remedy` what to do (may be empty).
  Error(ErrorKind kind, SourcePlace place, std::string problem, std::string remedy);

  ErrorKind kind() const { return kind_; }
  const SourcePlace& place() const { return place_; }
  const std::string& problem() const { return problem_; }
  const std::string& remedy() const { return remedy_; }

  // "file:line:column: problem; remedy", in one line and without control characters (see
  // visible()).
  const char* what() const noexcept override { return text_.c_str(); }

  // A copy of this error. If this error has no place, the copy has `place`.
  Error at(const SourcePlace& place) const;

 private:
  ErrorKind kind_;
  SourcePlace place_;
  std::string problem_;
  std::string remedy_;
  std::string text_;
};

inline Error usage_error(SourcePlace place, std::string problem, std::string remedy = {}) {
  return Error(ErrorKind::usage, std::move(place), std::move(problem), std::move(remedy));
}
inline Error usage_error(std::string problem, std::string remedy = {}) {
  return usage_error(SourcePlace{}, std::move(problem), std::move(remedy));
}
inline Error run_error(std::string problem, std::string remedy = {}) {
  return Error(ErrorKind::failed, SourcePlace{}, std::move(problem), std::move(remedy));
}

// What the system says of `error`, a value of errno: "No such file or directory".
std::string system_message(int error);

}  // namespace troupe
