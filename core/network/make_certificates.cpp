#include "core/network/make_certificates.hpp"

#include "core/base/error.hpp"
#include "core/network/random_number.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Text = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr int x509_version_3 = 2;

void check(bool has_succeeded) {
  if (!has_succeeded) throw run_error("OpenSSL could not make a certificate");
}

Key make_key() {
  Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  check(key != nullptr);
  return key;
}

void set_name(X509_NAME* name, const std::string& text) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.c_str());
  check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, bytes, -1, -1, 0) == 1);
}

void add_extension(X509* certificate, int kind, const char* value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
  check(extension != nullptr);
  const int added = X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  check(added == 1);
}

// Without extensions and signature.
Certificate make_certificate(const std::string& name, EVP_PKEY* key,
                             const CertificateTimes& times) {
  Certificate certificate(X509_new(), &X509_free);
  X509* const made = certificate.get();
  check(made != nullptr);
  check(X509_set_version(made, x509_version_3) == 1);
  check(ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), random_number() >> 1) == 1);
  const auto seconds = [](std::chrono::hours time) {
    return static_cast<long>(std::chrono::seconds(time).count());
  };
  X509_gmtime_adj(X509_getm_notBefore(made), seconds(times.begin));
  X509_gmtime_adj(X509_getm_notAfter(made), seconds(times.end));
  set_name(X509_get_subject_name(made), name);
  check(X509_set_pubkey(made, key) == 1);
  return certificate;
}

void sign(X509* certificate, const X509* authority, EVP_PKEY* key_of_authority) {
  check(X509_set_issuer_name(certificate, X509_get_subject_name(authority)) == 1);
  check(X509_sign(certificate, key_of_authority, EVP_sha256()) > 0);
}

std::string text_of(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return std::string(text, static_cast<std::size_t>(size));
}
std::string pem(X509* certificate) {
  const Text text(BIO_new(BIO_s_mem()), &BIO_free);
  check(PEM_write_bio_X509(text.get(), certificate) == 1);
  return text_of(text.get());
}
std::string pem(EVP_PKEY* key) {
  const Text text(BIO_new(BIO_s_mem()), &BIO_free);
  check(PEM_write_bio_PrivateKey(text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return text_of(text.get());
}

struct NewFile {
  std::filesystem::path path;
  std::string text;
  mode_t mode;
};

// Returns 0, or the error.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void write_new(const NewFile& file) {
  const int fd = open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file.mode);
  int error = fd < 0 ? errno : 0;
  if (error == EEXIST) {
    throw usage_error(fmt::format("'{}' is there already", file.path.string()),
                      "give another folder, or remove the old files");
  }
  if (fd >= 0) {
    error = write_all(fd, file.text);
    if (close(fd) != 0 && error == 0) error = errno;
    if (error != 0) unlink(file.path.c_str());
  }
  if (error == 0) return;
  throw usage_error(
      fmt::format("'{}' can't be written: {}", file.path.string(), system_message(error)),
      "give another folder");
}

}  // namespace

void make_certificates(const std::filesystem::path& folder, const CertificateTimes& times) {
  const Key key_of_authority = make_key();
  // A name of its own: that of another authority would be taken for this one.
  const Certificate authority = make_certificate(
      fmt::format("Troupe authority {:016x}", random_number()), key_of_authority.get(), times);
  add_extension(authority.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(authority.get(), NID_key_usage, "critical,keyCertSign");
  sign(authority.get(), authority.get(), key_of_authority.get());

  const Key key = make_key();
  const Certificate node = make_certificate("Troupe node", key.get(), times);
  add_extension(node.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(node.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(node.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  sign(node.get(), authority.get(), key_of_authority.get());

  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw usage_error(fmt::format("the folder '{}' can't be made: {}", folder.string(),
                                  system_message(error.value())),
                      "give another folder");
  }
  constexpr mode_t for_all = 0644;
  constexpr mode_t for_its_owner = 0600;
  const std::array files{
      NewFile{folder / "ca.pem", pem(authority.get()), for_all},
      NewFile{folder / "node.pem", pem(node.get()), for_all},
      NewFile{folder / "node.key", pem(key.get()), for_its_owner},
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    try {
      write_new(files[i]);
    } catch (...) {
      for (std::size_t written = 0; written < i; ++written) unlink(files[written].path.c_str());
      throw;
    }
  }
}

}  // namespace troupe
