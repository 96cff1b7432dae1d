#include "operate/admin/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operate/admin/console_files.h"
#include "operate/admin/denial.h"
#include "protocol/http/percent.h"
#include "protocol/mcp/end_reason.h"

namespace lineward::admin {
namespace {

constexpr std::string_view kRoot = "/console";
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
constexpr size_t kMostRows = 200;
constexpr size_t kMostLines = 50;

PlainResponse html(int status, std::string body) {
  PlainResponse out;
  out.status = status;
  out.content_type = "text/html; charset=utf-8";
  out.body = std::move(body);
  return out;
}

// Relative to the request's path, so that it works below another path too.
PlainResponse see_other(std::string where) {
  PlainResponse out = html(303, {});
  out.headers.push_back({"Location", std::move(where)});
  return out;
}

// The media type of a file; empty: a template, which is only served filled in.
std::string_view type_of(std::string_view name) {
  const std::string_view extension = name.substr(std::min(name.rfind('.'), name.size()));
  if (extension == ".css") return "text/css; charset=utf-8";
  if (extension == ".js") return "text/javascript; charset=utf-8";
  return extension == ".svg" ? "image/svg+xml" : std::string_view();
}

// The module reasons.js: the class in app.css for each end reason.
std::string reason_classes() {
  constexpr std::array<std::string_view, static_cast<size_t>(mcp::EndKind::count_)> kClasses{
      "ok", "fail", "stop", "stop", "late", "no", "fail"};
  std::string out = "export const KIND_OF = {\n";
  for (const mcp::EndReasonRow& row : mcp::kEndReasons)
    out += fmt::format("  {}: '{}',\n", row.name, kClasses[static_cast<size_t>(row.kind)]);
  return out + "};\n";
}

const EmbeddedFile* file_of(std::string_view name) {
  for (const EmbeddedFile& one : console_files()) {
    if (one.name == name && !type_of(name).empty()) return &one;
  }
  return nullptr;
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 20 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  });
}

// Encodes one path segment.
std::string segment(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

std::string error_of(const PlainResponse& answer) {
  auto body = nlohmann::json::parse(answer.body, nullptr, false);
  auto found = body.is_object() ? body.find("error") : body.end();
  return body.is_object() && found != body.end() && found->is_string() ? found->get<std::string>()
                                                                       : "the gateway did not say why";
}

// A field of the posted form; empty if there is none.
std::string field(const PlainRequest& request, std::string_view name) {
  return http::form_value(request.body, name).value_or("");
}

// The note after a form's action. Both parts come from the URL, so only known words are shown.
std::string note_of(const PlainRequest& request) {
  const std::string act = request.parameter("done").value_or("");
  const std::string id = request.parameter("of").value_or("");
  if (act == "cancel" && is_word(id)) return fmt::format("{}: cancelled, its server was asked to stop", id);
  if (act == "start" || act == "stop" || act == "restart" || act == "drain")
    return fmt::format("the server was told to {}", act);
  return {};
}

}  // namespace

bool Console::has(std::string_view path) {
  return path.substr(0, kRoot.size()) == kRoot && (path.size() == kRoot.size() || path[kRoot.size()] == '/');
}

void Console::handle(const PlainRequest& request, const Access& access, const OpsHttpServer::Answer& answer) {
  PlainResponse out = answered(request, access);
  out.headers.push_back({"Content-Security-Policy", std::string(kPolicy)});
  // Not "no-referrer": forms would then be sent without an Origin.
  out.headers.push_back({"Referrer-Policy", "same-origin"});
  out.headers.push_back({"Cross-Origin-Opener-Policy", "same-origin"});
  out.headers.push_back({"Cross-Origin-Resource-Policy", "same-origin"});
  out.headers.push_back({"X-Frame-Options", "DENY"});
  answer(std::move(out));
}

PlainResponse Console::answered(const PlainRequest& request, const Access& access) {
  // A client without a token may see the login page and its style; all other refused clients see nothing.
  const bool may_log_in = !access.role && access.refusal.status == 401;
  if (!access.role && !may_log_in) return access.refusal;
  const std::string_view below = std::string_view(request.path).substr(kRoot.size());
  if (request.head.method == "POST") {
    if (below == "/login") return log_in(request, access);
    if (!access.role) {
      if (request.head.headers.count("Authorization") == 0)  // otherwise AdminServer has logged it
        tell_denied(request, request.peer, access.refusal.status);
      return access.refusal;
    }
    if (below == "/logout") return log_out(request);
    if (below == "/do") return act(request, access);
    return not_allowed("GET", refused(405, "this takes GET"));
  }
  if (request.head.method != "GET") return not_allowed("GET", refused(405, "this takes GET"));
  if (below.empty()) return page(request, access);
  if (below == "/") return see_other("../console");
  if (below == "/role") {
    if (!access.role) return access.refusal;
    PlainResponse out =
        html(200, *access.role == Role::operate ? "{\"role\":\"operate\"}\n" : "{\"role\":\"read\"}\n");
    out.content_type = "application/json";
    return out;
  }
  if (const EmbeddedFile* file = file_of(below.substr(1))) {
    PlainResponse out = html(200, std::string(file->text));
    out.content_type = std::string(type_of(file->name));
    return out;
  }
  if (below == "/reasons.js") {
    PlainResponse out = html(200, reason_classes());
    out.content_type = std::string(type_of(below));
    return out;
  }
  return refused(404, "there is no such page; the console is at /console");
}

PlainResponse Console::ask(const PlainRequest& from, const Access& access, std::string_view method,
                           std::string path, std::string query, std::string body) {
  http::RequestHead head;
  head.method = method;
  head.headers.add("Content-Type", "application/json");
  PlainResponse out = refused(503, "the gateway did not answer at once");
  api_.handle({head, std::move(path), std::move(query), std::move(body), from.peer, from.uid}, access,
              [&out](PlainResponse answer) { out = std::move(answer); });
  return out;
}

PlainResponse Console::page(const PlainRequest& request, const Access& access) {
  if (!access.role)
    return html(401, console_login_page(request.parameter("login") ? LoginTry::wrong : LoginTry::first));
  auto look = [&](const char* path, std::string query = {}) {
    return nlohmann::json::parse(ask(request, access, "GET", path, std::move(query), {}).body, nullptr,
                                 false);
  };
  const std::string rows = fmt::format("limit={}", kMostRows);
  ConsoleView view;
  view.status = look("/api/v1/status");
  view.servers = look("/api/v1/servers", rows);
  view.calls = look("/api/v1/calls", rows);
  view.listens = look("/api/v1/listens", rows);
  view.sessions = look("/api/v1/sessions", rows);
  view.ends = look("/api/v1/ends", fmt::format("limit={}", kMostLines));
  view.minutes = look("/api/v1/ends/minutes");
  view.operations = look("/api/v1/operations", fmt::format("limit={}", kMostLines));
  view.log = look("/api/v1/log", rows);
  const std::string call = request.parameter("call").value_or("");
  if (is_word(call)) view.story = look(("/api/v1/calls/" + call).c_str());
  view.role = *access.role;
  view.version = sources_.version;
  const std::string login = login_of(request.head.headers);
  view.form_token = logins_.form_token(login);
  view.logged_in = logins_.digest_of(login).has_value();
  view.note = note_of(request);
  return html(200, console_page(view));
}

PlainResponse Console::log_in(const PlainRequest& request, const Access& access) {
  if (access.role) return see_other("../console");
  if (const auto pause = logins_.pauses().left(request.peer, logins_.now()); pause.count() > 0) {
    tell_denied(request, request.peer, 429);
    const int64_t seconds = (pause.count() + 999) / 1000;
    PlainResponse out =
        html(429, console_fault_page(fmt::format(
                      "Too many wrong tokens came from this address. Try again in {} seconds.", seconds)));
    out.headers.push_back({"Retry-After", std::to_string(seconds)});
    return out;
  }
  const std::string token = field(request, "token");
  if (!role_of_token(token, sources_.config.admin)) {
    logins_.pauses().failed(request.peer, logins_.now());
    tell_denied(request, request.peer, 401);
    return see_other("../console?login=wrong");
  }
  logins_.pauses().succeeded(request.peer);
  const http::HeaderList& headers = request.head.headers;
  const bool tls = headers.get("Origin").substr(0, 8) == "https://";
  PlainResponse out = see_other("../console");
  out.headers.push_back({"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}",
                                                   login_cookie_name(headers.get("Host")),
                                                   logins_.open(token), tls ? "; Secure" : "")});
  return out;
}

PlainResponse Console::log_out(const PlainRequest& request) {
  const std::string login = login_of(request.head.headers);
  if (!logins_.takes(field(request, "form"), login))
    return html(403, console_fault_page("This page is too old. Load it again."));
  logins_.close(login);
  PlainResponse out = see_other("../console");
  out.headers.push_back({"Set-Cookie", fmt::format("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
                                                   login_cookie_name(request.head.headers.get("Host")))});
  return out;
}

PlainResponse Console::act(const PlainRequest& request, const Access& access) {
  if (!logins_.takes(field(request, "form"), login_of(request.head.headers)))
    return html(403, console_fault_page("This page is too old, or not from here. Load it again."));
  const std::string act = field(request, "do");
  const std::string id = field(request, "id");
  const bool cancel = act == "cancel";
  if (!cancel && act != "start" && act != "stop" && act != "restart" && act != "drain")
    return html(400, console_fault_page("There is no such thing to do."));
  const std::string path = cancel ? "/api/v1/calls/" + segment(id) + "/cancel"
                                  : "/api/v1/servers/" + segment(field(request, "name")) + "/" + act;
  const PlainResponse done = ask(request, access, "POST", path, {}, "{}");
  if (done.status != 200) return html(done.status, console_fault_page(error_of(done) + "."));
  return see_other(fmt::format("../console?done={}{}", act, cancel && is_word(id) ? "&of=" + id : ""));
}

}  // namespace lineward::admin
