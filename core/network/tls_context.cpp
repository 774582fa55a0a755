#include "core/network/tls_context.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <ctime>
#include <initializer_list>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr const char* make_new_ones =
    "make new files (`troupe node --make-certs DIR`) and copy them to all hosts";

// Why the last call of OpenSSL has failed.
std::string reason() {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  return text == nullptr ? "unknown reason" : text;
}

// Throws if the file can't be read, or is a key that other users can read.
void check_file(const std::string& path, bool is_key) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    throw usage_error(fmt::format("'{}' can't be read: {}", path, system_message(errno)),
                      "check the path; `troupe node --make-certs DIR` makes these files");
  }
  struct stat status {};
  fstat(fd, &status);
  close(fd);
  if (!S_ISREG(status.st_mode)) {
    throw usage_error(fmt::format("'{}' is not a file", path), "check the path");
  }
  constexpr mode_t of_others = S_IRWXG | S_IRWXO;
  if (is_key && (status.st_mode & of_others) != 0) {
    throw usage_error(fmt::format("the key '{}' can be read by other users of this host", path),
                      fmt::format("chmod 600 {}", path));
  }
}

std::string date(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "?";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

void check_dates(const std::string& path, const X509* certificate) {
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(begin) > 0) {
    throw usage_error(fmt::format("the certificate '{}' isn't valid before {}", path, date(begin)),
                      "check the clock of this host");
  }
  if (X509_cmp_current_time(end) < 0) {
    throw usage_error(fmt::format("the certificate '{}' has expired on {}", path, date(end)),
                      make_new_ones);
  }
}

// Whether peers will accept the certificate, in both roles.
void check_signature(SSL_CTX* context, const TlsFiles& files) {
  for (const int role : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT}) {
    const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(
        X509_STORE_CTX_new(), &X509_STORE_CTX_free);
    STACK_OF(X509)* others = nullptr;
    SSL_CTX_get0_chain_certs(context, &others);
    X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context),
                        SSL_CTX_get0_certificate(context), others);
    X509_STORE_CTX_set_purpose(check.get(), role);
    if (X509_verify_cert(check.get()) == 1) continue;
    const int error = X509_STORE_CTX_get_error(check.get());
    throw usage_error(
        fmt::format("the certificate '{}' isn't one of the authority '{}': {}", files.certificate,
                    files.authority, X509_verify_cert_error_string(error)),
        "use files that were made together");
  }
}

// Each certificate of the file.
void check_authorities(const std::string& path) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> file(BIO_new_file(path.c_str(), "r"), &BIO_free);
  while (file != nullptr) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr), &X509_free);
    if (certificate == nullptr) break;
    check_dates(path, certificate.get());
  }
  ERR_clear_error();
}

// Keys with a passphrase are refused, instead of asking for it.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

Error malformed(const std::string& path, const char* what) {
  return usage_error(fmt::format("'{}' is not {} in PEM: {}", path, what, reason()),
                     "check the path; `troupe node --make-certs DIR` makes these files");
}

}  // namespace

TlsContext::TlsContext(const TlsFiles& files)
    : context_(SSL_CTX_new(TLS_method()), [](SSL_CTX* context) { SSL_CTX_free(context); }) {
  check_file(files.certificate, false);
  check_file(files.key, true);
  check_file(files.authority, false);
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    throw malformed(files.certificate, "a certificate");
  }
  if (SSL_CTX_load_verify_locations(context, files.authority.c_str(), nullptr) != 1) {
    throw malformed(files.authority, "a certificate");
  }
  const std::unique_ptr<BIO, decltype(&BIO_free)> file(BIO_new_file(files.key.c_str(), "r"),
                                                       &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(file.get(), nullptr, no_passphrase, nullptr), &EVP_PKEY_free);
  if (key == nullptr) throw malformed(files.key, "a private key without a passphrase");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    throw usage_error(fmt::format("the key '{}' is not that of the certificate '{}'", files.key,
                                  files.certificate),
                      "use files that were made together");
  }
  check_dates(files.certificate, SSL_CTX_get0_certificate(context));
  check_authorities(files.authority);
  check_signature(context, files);
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // No session is resumed: every connection shows its certificate.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
}

}  // namespace troupe
