// The files of mutual TLS: made, checked, refused.
#include "core/network/tls_context.hpp"

#include "core/network/make_certificates.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/unit/network/any_wire.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

BOOST_AUTO_TEST_SUITE(tls_context)
namespace {

using namespace troupe;
using namespace troupe::testing;
namespace fs = std::filesystem;
using std::chrono::hours;

struct Certificates {
  TemporaryDirectory folder;
  TlsFiles files = tls_files_in(folder.path());

  explicit Certificates(const CertificateTimes& times = {}) {
    make_certificates(folder.path(), times);
  }
};

void check_refused(const TlsFiles& files, const std::string& problem) {
  expect_error(ErrorKind::usage, problem, [&] { const TlsContext context(files); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(certificates_that_were_made_together_are_accepted) {
  const Certificates made;
  const TlsContext context(made.files);
  BOOST_TEST(context.get() != nullptr);
  BOOST_TEST((fs::status(made.files.key).permissions() ==
              (fs::perms::owner_read | fs::perms::owner_write)));
}

BOOST_AUTO_TEST_CASE(files_that_exist_are_not_overwritten) {
  const TemporaryDirectory folder;
  folder.write("node.key", "mine");
  expect_error(ErrorKind::usage, "node.key' is there already",
               [&] { make_certificates(folder.path()); });
  BOOST_TEST(folder.entries() == 1U);
}

BOOST_AUTO_TEST_CASE(a_file_that_there_is_no_room_for_to_its_end_is_removed_and_refused) {
  const TemporaryDirectory folder;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit half{.rlim_cur = 100, .rlim_max = before.rlim_max};  // of a file
  setrlimit(RLIMIT_FSIZE, &half);
  std::string message;
  try {
    make_certificates(folder.path());
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  BOOST_TEST(message.find("can't be written: File too large") != std::string::npos, message);
  BOOST_TEST(folder.entries() == 0U);
}

BOOST_AUTO_TEST_CASE(a_folder_that_can_not_be_made_is_refused) {
  const TemporaryDirectory folder;
  folder.write("file", "");
  expect_error(ErrorKind::usage, "can't be made",
               [&] { make_certificates(folder.path() / "file" / "folder"); });
}

BOOST_AUTO_TEST_CASE(files_that_are_missing_or_malformed_are_refused) {
  const Certificates made;
  made.folder.write("text.pem", "no certificate");
  const std::string text = made.folder.path() / "text.pem";
  fs::permissions(text, fs::perms::owner_read);
  for (std::string TlsFiles::*const file :
       {&TlsFiles::certificate, &TlsFiles::key, &TlsFiles::authority}) {
    TlsFiles files = made.files;
    files.*file = made.folder.path() / "absent.pem";
    check_refused(files, "absent.pem' can't be read: No such file");
    files.*file = made.folder.path();
    check_refused(files, "is not a file");
    files.*file = text;
    check_refused(files, "text.pem' is not a");
  }
}

BOOST_AUTO_TEST_CASE(a_key_that_others_can_read_is_refused) {
  const Certificates made;
  for (const fs::perms others : {fs::perms::others_read, fs::perms::group_read}) {
    fs::permissions(made.files.key, fs::perms::owner_read | others);
    check_refused(made.files, "can be read by other users of this host; chmod 600");
  }
}

BOOST_AUTO_TEST_CASE(certificates_out_of_their_time_are_refused) {
  const Certificates expired({.begin = hours(-48), .end = hours(-24)});
  check_refused(expired.files, "node.pem' has expired on ");
  const Certificates early({.begin = hours(24), .end = hours(48)});
  check_refused(early.files, "node.pem' isn't valid before ");
}

BOOST_AUTO_TEST_CASE(certificates_of_different_sets_are_refused) {
  const Certificates made;
  const Certificates other;
  TlsFiles files = made.files;
  files.authority = other.files.authority;
  check_refused(files, "isn't one of the authority");
  files = made.files;
  files.key = other.files.key;
  check_refused(files, "is not that of the certificate");
}

BOOST_AUTO_TEST_SUITE_END()
