// The certificates by which nodes and leaders of one user know each other.
#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;

namespace troupe {

// Paths of files in PEM, as `troupe node --make-certs` writes them.
struct TlsFiles {
  std::string certificate = {};  // of this node or leader, and of those who signed it, if any
  std::string key = {};          // of the certificate; without a passphrase
  std::string authority = {};    // certificates of authorities: peers must be signed by one of them

  bool are_given() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
  bool are_complete() const { return !certificate.empty() && !key.empty() && !authority.empty(); }
};

// Settings of mutual TLS 1.3: both ends of a connection must have a certificate that one of the
// authorities has signed. Names of hosts aren't compared: who has a certificate belongs. Copies
// share one context; thread-safe.
class TlsContext {
 public:
  // Reads the files. Throws a usage Error that names the file if one is missing, unreadable or
  // malformed, if the key can be read by other users or doesn't match the certificate, if a
  // certificate has expired or isn't valid yet, or if no authority has signed it.
  explicit TlsContext(const TlsFiles& files);

  ssl_ctx_st* get() const { return context_.get(); }

 private:
  std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace troupe
