// Files for nodes and leaders with TLS.
#pragma once

#include "core/network/make_certificates.hpp"
#include "tests/support/temporary_directory.hpp"

#include <string>
#include <vector>

namespace troupe::testing {

class Certificates {
 public:
  explicit Certificates(const CertificateTimes& times = {}) {
    make_certificates(folder_.path(), times);
  }

  std::string path(const std::string& file) const { return folder_.path() / file; }
  // Of the command line, and `more`.
  std::vector<std::string> options(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--tls-cert",     path("node.pem"), "--tls-key",
                                    path("node.key"), "--tls-ca",       path("ca.pem")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

 private:
  TemporaryDirectory folder_;
};

}  // namespace troupe::testing
