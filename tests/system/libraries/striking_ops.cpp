// A library of ops that strikes processes of nodes before they listen, after so many of them in
// this folder as NODES_SPARED says. Those write a line of their own first. NODE_STRIKE is the
// number of a signal; or "noise": they write without end; or "silence": they close their output,
// and go on.
#include "core/ops/op_library.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace {

bool is_node() {
  std::ifstream words("/proc/self/cmdline");
  std::string word;
  std::getline(words, word, '\0');
  std::getline(words, word, '\0');
  return word == "node";
}

// True for as many processes as are to be spared.
bool is_spared() {
  const int count = std::atoi(std::getenv("NODES_SPARED"));
  for (int i = 0; i < count; ++i) {
    const std::string mark = "spared-" + std::to_string(i);
    const int file = open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) continue;
    close(file);
    return true;
  }
  return false;
}

void strike(const std::string& how) {
  while (how == "noise") std::puts("noise");
  if (how == "silence") {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
    return;
  }
  raise(std::stoi(how));
}

}  // namespace

TROUPE_OPS(registry) {
  if (registry.size() == 0 || !is_node()) return;
  if (!is_spared()) return strike(std::getenv("NODE_STRIKE"));
  std::puts("this one is spared");
  std::fflush(stdout);
}
