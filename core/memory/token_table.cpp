#include "core/memory/token_table.hpp"

#include <algorithm>

namespace troupe {
namespace {

// The later token of a queue stays.
void add_to(std::vector<Token>& tokens, Token token) {
  const auto same = std::find_if(tokens.begin(), tokens.end(),
                                 [&](const Token& t) { return t.queue == token.queue; });
  if (same == tokens.end()) {
    tokens.push_back(token);
  } else {
    same->position = std::max(same->position, token.position);
  }
}

}  // namespace

void TokenTable::add(ReplicaId r, Token token) {
  if (token.is_none()) return;
  is_used_.store(true, std::memory_order_relaxed);
  Part& p = part(r);
  const std::lock_guard lock(p.mutex);
  add_to(p.writers[r], token);
}

void TokenTable::append(ReplicaId r, std::vector<Token>& after) const {
  if (!is_used_.load(std::memory_order_relaxed)) return;
  const Part& p = part(r);
  const std::lock_guard lock(p.mutex);
  const auto found = p.writers.find(r);
  if (found == p.writers.end()) return;
  for (const Token token : found->second) {
    if (std::find(after.begin(), after.end(), token) == after.end()) after.push_back(token);
  }
}

void TokenTable::erase(ReplicaId r) {
  Part& p = part(r);
  const std::lock_guard lock(p.mutex);
  p.writers.erase(r);
}

void TokenTable::clear() {
  for (Part& p : parts_) {
    const std::lock_guard lock(p.mutex);
    p.writers.clear();
  }
}

}  // namespace troupe
