// Makes the files of mutual TLS (tls_context.hpp).
#pragma once

#include <chrono>
#include <filesystem>

namespace troupe {

// When certificates are valid, from now on. They begin earlier, as clocks of hosts differ.
struct CertificateTimes {
  std::chrono::hours begin{-24};
  std::chrono::hours end{10 * 365 * 24};
};

// Makes an authority, and one certificate and key for all nodes and leaders: ca.pem, node.pem and
// node.key (mode 0600) in `folder`, which is made if it is absent. The authority's key isn't kept:
// nothing else is ever signed by it. Throws a usage Error if one of the files is there already, or
// can't be written; then none is left.
void make_certificates(const std::filesystem::path& folder, const CertificateTimes& times = {});

}  // namespace troupe
