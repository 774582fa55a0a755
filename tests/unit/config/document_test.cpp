#include "core/config/document.hpp"

#include "tests/unit/config/temporary_files.hpp"

#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <unistd.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(documents)
namespace {

std::string refusal(std::string_view text) {
  const TemporaryFiles files;
  const auto path = files.write("a.yaml", text);
  return files.error_of([&] { Document::load(path); });
}

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

// line:column of every empty value, in order.
std::string places_of_nulls(std::string_view text) {
  const TemporaryFiles files;
  const Document document = Document::load(files.write("a.yaml", text));
  std::string result;
  const std::function<void(const Node&)> visit = [&](const Node& node) {
    if (node.type == Node::Type::null) result += fmt::format(" {}:{}", node.line, node.column);
    for (const Node& child : node.children) visit(child);
  };
  visit(document.root());
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(keys_and_values_keep_their_places) {
  const TemporaryFiles files;
  const auto path = files.write("a.yaml", "# comment\na: 10 µs\nb:\n  - 1\n  - {c: 'd', e: }\n");
  const Document document = Document::load(path);
  const Node& root = document.root();
  BOOST_REQUIRE((root.type == Node::Type::map));
  BOOST_REQUIRE(root.entry_count() == 2U);
  BOOST_TEST(root.key(0).text == "a");
  BOOST_TEST(root.key(0).line == 2);
  BOOST_TEST(root.key(0).column == 1);
  BOOST_TEST(root.value(0).text == "10 µs");
  BOOST_TEST(root.value(0).column == 4);
  const Node& list = root.value(1);
  BOOST_REQUIRE((list.type == Node::Type::list));
  BOOST_REQUIRE(list.children.size() == 2U);
  BOOST_TEST(list.children[0].line == 4);
  BOOST_TEST(list.children[0].column == 5);
  const Node& map = list.children[1];
  BOOST_TEST(map.value(0).text == "d");
  BOOST_TEST(map.value(0).place().file == path.string());
  BOOST_TEST(map.value(0).line == 5);
  BOOST_TEST(map.value(0).column == 9);
  BOOST_TEST((map.value(1).type == Node::Type::null));
}

// yaml-cpp reports a value that is missing where the next thing begins.
BOOST_AUTO_TEST_CASE(a_missing_value_of_a_map_has_the_place_of_its_key) {
  BOOST_TEST(places_of_nulls("a:\n\n\nb: 1\n") == " 1:1");
  BOOST_TEST(places_of_nulls("a: {b, cc: , d: 1}\n") == " 1:5 1:8");
  BOOST_TEST(places_of_nulls("a: # why\n  b: 1\n  c:\n") == " 3:3");
}

BOOST_AUTO_TEST_CASE(a_missing_element_of_a_list_has_the_place_of_its_dash) {
  BOOST_TEST(places_of_nulls("a:\n  -\n  - 1\n") == " 2:3");
  BOOST_TEST(places_of_nulls("a:\n  - 1\n  -   # x - y\n# z -\n\n\nb: 1\n") == " 3:3");
  BOOST_TEST(places_of_nulls("a:\n  - -\n    -\n  - 1\n") == " 2:5 3:5");
  BOOST_TEST(places_of_nulls("- 1\r\n-\r\n- 2\r\n") == " 2:1");
  BOOST_TEST(places_of_nulls("- 1\n- ") == " 2:1");
  BOOST_TEST(places_of_nulls("a: [1,,2]\n") == " 1:7");  // where a comma comes too early
}

BOOST_AUTO_TEST_CASE(a_written_null_has_its_own_place) {
  BOOST_TEST(places_of_nulls("a: ~\nbb: null\n") == " 1:4 2:5");
  BOOST_TEST(places_of_nulls("a:\n  - ~\n  - Null\nb: [1, NULL, ~]\n") == " 2:5 3:5 4:8 4:14");
}

BOOST_AUTO_TEST_CASE(nodes_stay_valid_when_their_document_moves) {
  const TemporaryFiles files;
  const auto path = files.write("a.yaml", "a: 1");
  Document first = Document::load(path);
  const Node& root = first.root();
  const Document second = std::move(first);
  BOOST_TEST(&second.root() == &root);
  BOOST_TEST(root.place().file == path.string());
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_is_skipped) {
  BOOST_TEST(refusal("\xEF\xBB\xBF"
                     "a: 1") == "");
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_refused) {
  const TemporaryFiles files;
  BOOST_TEST(files.error_of([&] { Document::load(files.folder() / "no.yaml"); }) ==
             "no.yaml: there is no such file; check the path");
}

BOOST_AUTO_TEST_CASE(a_file_that_another_one_names_is_refused_where_it_is_named) {
  const TemporaryFiles files;
  const SourcePlace referrer{"run.yaml", 3, 10};
  BOOST_TEST(files.error_of([&] { Document::load(files.folder() / "no.yaml", referrer); }) ==
             "run.yaml:3:10: 'no.yaml': there is no such file; check the path");
}

BOOST_AUTO_TEST_CASE(a_directory_is_refused) {
  const TemporaryFiles files;
  files.write("dir/a.yaml", "a: 1");
  BOOST_TEST(files.error_of([&] { Document::load(files.folder() / "dir"); }) ==
             "dir: this is a directory; name a file in it");
}

BOOST_AUTO_TEST_CASE(an_unreadable_file_is_refused) {
  const TemporaryFiles files;
  const auto path = files.write("a.yaml", "a: 1");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  if (::access(path.c_str(), R_OK) == 0) {
    BOOST_TEST_MESSAGE("skipped: this user may read every file");
    return;
  }
  BOOST_TEST(files.error_of([&] { Document::load(path); }) ==
             "a.yaml: the file can't be read (Permission denied); check its permissions");
}

BOOST_AUTO_TEST_CASE(an_empty_file_is_refused) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "~"}) {
    BOOST_TEST(refusal(text) ==
               "a.yaml: the file is empty; the files in config/ show what goes in");
  }
}

BOOST_AUTO_TEST_CASE(a_file_over_8_mib_is_refused) {
  const std::string limit(Document::bytes_max - 5, '#');
  BOOST_TEST(refusal("a: 1\n" + limit) == "");
  BOOST_TEST(
      refusal("a: 1\n" + limit + "#").starts_with("a.yaml: the file is larger than 8 MiB; "));
}

BOOST_AUTO_TEST_CASE(yaml_syntax_errors_have_their_place) {
  BOOST_TEST(refusal("a: 1\n]\n").starts_with("a.yaml:2:1: this is not valid YAML: "));
  BOOST_TEST(refusal("a: b: c\n").starts_with("a.yaml:1:5: this is not valid YAML: "));
  BOOST_TEST(refusal("a:\n  - 1\n - 2\n").starts_with("a.yaml:3:2: this is not valid YAML: "));
}

BOOST_AUTO_TEST_CASE(a_tab_that_indents_a_line_is_refused_where_it_stands) {
  const std::string rest = "YAML allows no tabs for indentation; use spaces instead of this tab";
  BOOST_TEST(refusal("a:\n\tb: 1\n") == "a.yaml:2:1: " + rest);
  BOOST_TEST(refusal("\ta: 1\n") == "a.yaml:1:1: " + rest);
  BOOST_TEST(refusal("a:\n  b: 1\n  \tc: 2\n") == "a.yaml:3:3: " + rest);
  BOOST_TEST(refusal("a:\n\t- b\n") == "a.yaml:2:1: " + rest);
  BOOST_TEST(refusal("a:\n\tb: 1\n  c: 2\n") == "a.yaml:2:1: " + rest);
}

BOOST_AUTO_TEST_CASE(a_tab_elsewhere_is_not_blamed) {
  BOOST_TEST(refusal("a: {\n\tb: 1,\n\tc:\t2}\n") == "");
  BOOST_TEST(refusal("a: {\n\tb: 1\n\tc: 2}\n").starts_with("a.yaml:3:3: this is not valid YAML"));
  BOOST_TEST(refusal("a:\tb: c\n").starts_with("a.yaml:1:5: this is not valid YAML"));
}

BOOST_AUTO_TEST_CASE(a_quote_that_is_never_closed_is_refused) {
  BOOST_TEST(refusal("a: 1\nb: \"x\nc: 3\n") == "a.yaml:2:4: this quote is never closed; close it");
}

BOOST_AUTO_TEST_CASE(anchors_and_aliases_are_refused) {
  BOOST_TEST(refusal("a: &x 1\nb: *x\n") ==
             "a.yaml:1:4: YAML anchors and aliases are not supported; write the value out where it "
             "is used");
  BOOST_TEST(refusal("a: &x {b: 1}\n").starts_with("a.yaml:1:4: YAML anchors and aliases"));
  BOOST_TEST(refusal("a: *x\n").starts_with("a.yaml:1:4: YAML anchors and aliases"));
}

BOOST_AUTO_TEST_CASE(merge_keys_are_refused) {
  BOOST_TEST(refusal("a:\n  <<: {b: 1}\n").starts_with("a.yaml:2:3: YAML merge keys (<<)"));
}

BOOST_AUTO_TEST_CASE(tags_are_refused) {
  BOOST_TEST(refusal("a: !!str 1\n")
                 .starts_with("a.yaml:1:4: YAML tags (tag:yaml.org,2002:str) are not supported; "));
  BOOST_TEST(refusal("a: !x [1]\n").starts_with("a.yaml:1:4: YAML tags (!x) are not supported"));
  BOOST_TEST(refusal("a: !x {b: 1}\n").starts_with("a.yaml:1:4: YAML tags (!x) are not supported"));
  BOOST_TEST(refusal("a: ! x\n").starts_with("a.yaml:1:4: YAML tags (!) are not supported"));
}

BOOST_AUTO_TEST_CASE(nesting_deeper_than_64_is_refused) {
  BOOST_TEST(refusal(repeated("[", 64) + repeated("]", 64)) == "");
  BOOST_TEST(refusal(repeated("[", 65) + repeated("]", 65)) ==
             "a.yaml:1:65: lists and maps are nested deeper than 64 levels; check the brackets; no "
             "Troupe file needs that many");
  BOOST_TEST(refusal(repeated("- ", 100'000)).starts_with("a.yaml:1:129: lists and maps are"));
}

BOOST_AUTO_TEST_CASE(a_key_that_occurs_twice_is_refused) {
  BOOST_TEST(refusal("a: 1\nb: 2\na: 3\n") ==
             "a.yaml:3:1: 'a' occurs twice; the first is in line 1; remove or rename one of them");
  BOOST_TEST(refusal("a: {b: 1}\nc: {b: 1}\n") == "");
}

BOOST_AUTO_TEST_CASE(a_key_that_is_no_word_is_refused) {
  BOOST_TEST(refusal("? [a]\n: b\n").starts_with("a.yaml:1:3: a key must be a plain word"));
  BOOST_TEST(refusal("? {a: 1}\n: b\n").starts_with("a.yaml:1:3: a key must be a plain word"));
  BOOST_TEST(refusal("~: b\n").starts_with("a.yaml:1:1: a key must be a plain word"));
}

BOOST_AUTO_TEST_CASE(several_documents_are_refused) {
  BOOST_TEST(refusal("a: 1\n---\nb: 2\n")
                 .starts_with("a.yaml:2:1: the file goes on after its one YAML document; "));
  BOOST_TEST(refusal("{a: 1} {b: 2}\n").starts_with("a.yaml:1:8: the file goes on after"));
  BOOST_TEST(refusal("---\na: 1\n...\n") == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_text_is_refused) {
  BOOST_TEST(refusal("a: 1\nb: \xFF\n") ==
             "a.yaml:2:4: the file is not UTF-8 text; save it in UTF-8");
  BOOST_TEST(refusal("a: \"\\x1b[31m\"\n") ==
             "a.yaml:1:4: control characters are not supported; remove them");
}

BOOST_AUTO_TEST_SUITE_END()
