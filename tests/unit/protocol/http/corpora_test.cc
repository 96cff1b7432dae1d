// Public sets of malformed and ambiguous requests (sources: tests/data/NOTICE), each request alone on a
// connection that stays open behind it.
//
// "accept" here means that the parser takes the request. Whether there is something at that path (404) and
// whether the method is served (405) is for the owner of the connection to say.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "unit/protocol/http/feed.h"

using namespace lineward::http;

namespace {

const std::string kData = LINEWARD_SOURCE_DIR "/tests/data/";

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// The rows of a set's index.tsv, each as column name -> cell.
std::vector<std::map<std::string, std::string>> index_of(const std::string& set) {
  std::vector<std::vector<std::string>> rows(1);
  std::string cell;
  for (char c : read_file(kData + set + "/index.tsv")) {
    if (c != '\t' && c != '\n') {
      cell += c;
      continue;
    }
    rows.back().push_back(std::move(cell));
    cell.clear();
    if (c == '\n') rows.emplace_back();
  }
  std::vector<std::map<std::string, std::string>> named;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].size() < 2) continue;
    std::map<std::string, std::string> row;
    for (size_t column = 0; column < std::min(rows[0].size(), rows[i].size()); ++column) {
      row[rows[0][column]] = rows[i][column];
    }
    named.push_back(std::move(row));
  }
  return named;
}

bool has(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

// Many heads lost their end when the set was cut out of llhttp's own files; alone they would wait for the
// owner's 408 and show nothing.
std::string missing_end(const std::string& bytes) {
  if (has(bytes, "\r\n\r\n")) return "";
  bool at_line_start = bytes.size() >= 2 && bytes.compare(bytes.size() - 2, 2, "\r\n") == 0;
  return at_line_start ? "\r\n" : "\r\n\r\n";
}

// llhttp calls bytes behind a request that closes (`Connection: close`, or HTTP/1.0 as such) an error. We
// answer the request and drop them: an error would lose the answer to a request that was in order.
bool ignored_after_close(const std::string& file) {
  return file == "request-connection-close_CRLF_between_requests_explicit_close.http" ||
         file == "request-connection-close_CRLF_between_requests_explicit_close_followed_by_tab.http" ||
         file == "request-connection-keep-alive_No_restart_when_keep-alive_is_off_1.0.http";
}

// Valid by the RFC, refused here by decision.
const char* refused_by_decision(const std::string& file) {
  if (file == "COMP-OPTIONS-STAR.http")
    return "the gateway serves paths; '*' could only be answered with 405";
  if (file == "COMP-CHUNKED-TRAILER-VALID.http") return "trailers are refused: nothing in MCP has any";
  return nullptr;
}

}  // namespace

TEST_CASE("corpus: Transfer-Encoding gadgets of smuggler") {
  auto rows = index_of("smuggler-te");
  CHECK(rows.size() == 134);
  for (auto& row : rows) {
    INFO(row["file"] << ": " << row["gadget"]);
    Outcome got = feed(read_file(kData + "smuggler-te/" + row["file"]));
    if (row["expected"] == "reject") {
      CHECK(got.requests.empty());
      CHECK(got.failed());
    } else {
      CHECK(row["expected"] == "either");
      CHECK((got.failed() || got.first_complete()));
    }
  }
}

TEST_CASE("corpus: llhttp's own requests, as a gateway should take them") {
  size_t requests = 0;
  size_t after_close = 0;
  for (auto& row : index_of("llhttp")) {
    if (row["kind"] != "request") continue;
    ++requests;
    const std::string& expected = row["gateway_expected"];
    INFO(row["file"] << ": " << row["why"] << "; expected " << expected);
    std::string bytes = read_file(kData + "llhttp/" + row["file"]);
    Outcome got = feed(bytes);
    if (got.requests.empty() && !got.failed()) got = feed(bytes + missing_end(bytes));
    if (has(expected, "parse;")) {
      CHECK(got.first_complete());
    } else if (ignored_after_close(row["file"])) {
      ++after_close;
      REQUIRE(got.first_complete());
      CHECK(got.requests.size() == 1);
      CHECK_FALSE(got.requests[0].keep_alive);
      CHECK(got.phase == RequestParser::Phase::idle);
    } else if (has(expected, "405")) {  // the owner's answer, or ours before it
      CHECK((got.failed() || (got.first_complete() && got.requests[0].method != "POST")));
    } else {
      CHECK(has(expected, "reject"));
      CHECK_FALSE(got.first_complete());
      CHECK(got.failed());
      if (has(expected, "without Host")) CHECK((got.status == 400 || got.status == 501 || got.status == 505));
    }
  }
  CHECK(requests == 120);
  CHECK(after_close == 3);
}

TEST_CASE("corpus: Http11Probe") {
  auto rows = index_of("http11probe");
  CHECK(rows.size() == 133);
  size_t by_decision = 0;
  for (auto& row : rows) {
    INFO(row["file"] << ": " << row["why"] << "; expected " << row["probe_expected"]);
    Outcome got = feed(read_file(kData + "http11probe/" + row["file"]));
    if (refused_by_decision(row["file"])) {
      ++by_decision;
      CHECK(row["expected"] == "accept");
      CHECK(got.status == 400);
    } else if (row["expected"] == "accept") {
      CHECK(got.first_complete());
    } else if (row["expected"] == "reject") {
      // Unfinished requests wait, and the owner ends them with 408.
      CHECK((got.failed() || has(row["probe_expected"], "timeout")));
      CHECK_FALSE(got.first_complete());
      if (row["probe_expected"] == "400") CHECK(got.status == 400);
    } else {
      CHECK(row["expected"] == "either");
    }
  }
  CHECK(by_decision == 2);
}
