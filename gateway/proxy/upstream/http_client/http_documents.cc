#include "proxy/upstream/http_client/http_documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/version.h"
#include "protocol/http/header_list.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLimit{10000};
constexpr size_t kMaxBytes = 64 * 1024;
constexpr size_t kMaxDocuments = 16;  // in flight

bool is_json(std::string_view type) {
  std::string_view media = http::trim_white_space(type.substr(0, type.find(';')));
  return http::equals_ignoring_case(media, "application/json");
}

}  // namespace

class HttpDocument final : public HttpTransferCallbacks {
 public:
  HttpDocument(HttpDocuments& owner, HttpPool& pool, const std::string& path, core::DocumentDone done)
      : owner_(owner), done_(std::move(done)), limit_(pool.loop()) {
    HttpRequest request;
    request.method = "GET";
    request.target = path;
    request.headers = {
        {"User-Agent", LINEWARD_USER_AGENT}, {"Accept", "application/json"}, {"Accept-Encoding", "identity"}};
    transfer_ = std::make_unique<HttpTransfer>(pool, std::move(request), *this);
    limit_.start(kLimit, [this] { fail(504, fmt::format("did not come within {} ms", kLimit.count())); });
  }

  void drop() {
    done_ = nullptr;
    limit_.stop();
    transfer_->close();
  }

 private:
  void on_transfer_sent() override {}
  void on_transfer_drained() override {}
  void on_transfer_head(const http::ResponseInfo& info) override {
    if (info.status == 404) return fail(404, "does not exist there");
    if (info.status != 200) return fail(502, fmt::format("was answered with HTTP {}", info.status));
    if (!is_json(info.headers.get("Content-Type"))) return fail(502, "is no application/json");
    std::string_view coding = info.headers.get("Content-Encoding");
    if (!coding.empty() && !http::equals_ignoring_case(coding, "identity") && !transfer_->inflates())
      return fail(502, "came compressed");
  }
  void on_transfer_body(std::string_view bytes) override {
    if (body_.size() + bytes.size() > kMaxBytes)
      return fail(502, fmt::format("is larger than {} bytes", kMaxBytes));
    body_ += bytes;
  }
  void on_transfer_complete() override { finish(std::move(body_)); }
  void on_transfer_failed(const core::Failure&) override { fail(502, "could not be fetched"); }

  void fail(int status, const std::string& why) {
    finish(Unexpected<core::NoDocument>{{status, "the server's metadata " + why}});
  }
  void finish(Result<std::string, core::NoDocument> result) {
    limit_.stop();
    transfer_->close();
    auto done = std::exchange(done_, nullptr);
    owner_.over(*this);  // freed at the end of the turn
    if (done) done(std::move(result));
  }

  HttpDocuments& owner_;
  core::DocumentDone done_;
  net::Timer limit_;
  std::unique_ptr<HttpTransfer> transfer_;
  std::string body_;
};

HttpDocuments::HttpDocuments(net::Loop& loop) : loop_(loop) {}

HttpDocuments::~HttpDocuments() {
  drop_all();
}

void HttpDocuments::fetch(HttpPool& pool, const std::string& path, core::DocumentDone done) {
  if (documents_.size() < kMaxDocuments) {
    documents_.push_back(std::make_unique<HttpDocument>(*this, pool, path, std::move(done)));
    return;
  }
  loop_.defer([done = std::move(done)] {
    done(Unexpected<core::NoDocument>{{503, "too many requests for metadata at once"}});
  });
}

void HttpDocuments::over(HttpDocument& document) {
  auto found =
      std::find_if(documents_.begin(), documents_.end(), [&](const auto& d) { return d.get() == &document; });
  if (found == documents_.end()) return;
  loop_.retire(std::move(*found));
  documents_.erase(found);
}

void HttpDocuments::drop_all() {
  std::vector<std::unique_ptr<HttpDocument>> all;
  all.swap(documents_);
  for (auto& document : all) {
    document->drop();
    loop_.retire(std::move(document));
  }
}

}  // namespace lineward::upstream
