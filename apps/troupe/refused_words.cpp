#include "apps/troupe/refused_words.hpp"

#include "apps/troupe/commands.hpp"
#include "apps/troupe/print_error.hpp"
#include "core/base/suggest.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

// Prints what is wrong where a command doesn't know a word. Returns the exit code.
int refuse_extras(const CLI::App& app, const CLI::App& command) {
  const std::vector<std::string> words = app.remaining(true);
  const auto is_option = [](const std::string& word) {
    return word.starts_with('-') && word.find_first_not_of('-') != std::string::npos;
  };
  const auto found = std::find_if(words.begin(), words.end(), is_option);
  if (found == words.end()) {
    print_error("troupe: '{}' is one word too many; 'troupe {} --help' shows how it is called",
                words.back(), command.get_name());
    return exit_usage;
  }
  const std::string name = found->substr(0, found->find('='));
  std::vector<std::string> own;
  std::string others;
  for (const CLI::App* other : app.get_subcommands({})) {
    for (const CLI::Option* option : other->get_options()) {
      for (const std::string& known : option->get_lnames()) {
        if (other == &command) own.push_back("--" + known);
        if (name == "--" + known) others += fmt::format("; 'troupe {}' has it", other->get_name());
      }
    }
  }
  if (std::find(own.begin(), own.end(), name) != own.end()) {
    print_error("troupe: '{}' is an option of '{}'; write it behind that word", name,
                command.get_name());
    return exit_usage;
  }
  const std::vector<std::string_view> known(own.begin(), own.end());
  print_error("troupe: 'troupe {}' has no option '{}'{}", command.get_name(), name,
              others.empty() ? "; " + suggestion(name, known) : others);
  return exit_usage;
}

}  // namespace

int refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!chosen.empty() && dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return refuse_extras(app, *chosen.front());
  }
  if (!chosen.empty()) {
    print_error("troupe: {}; 'troupe {} --help' shows how it is called", error.what(),
                chosen.front()->get_name());
    return exit_usage;
  }
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) {
    print_error("troupe: no command is given; one of: {}", fmt::join(names, ", "));
  } else if (words.front().starts_with('-')) {
    print_error("troupe: there is no option '{}'; 'troupe --help' lists them", words.front());
  } else {
    print_error("troupe: there is no command '{}'; {}", words.front(),
                suggestion(words.front(), names));
  }
  return exit_usage;
}

}  // namespace troupe
