#include "operate/admin/console_page.h"

#include <fmt/format.h>

#include <map>

#include "config/duration.h"
#include "operate/admin/console_files.h"

namespace lineward::admin {
namespace {

using nlohmann::json;

std::string_view console_text(std::string_view name) {
  for (const EmbeddedFile& one : console_files()) {
    if (one.name == name) return one.text;
  }
  return {};
}

// Replaces each {{name}} by its value; inserted text is not expanded again.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string out;
  for (;;) {
    const size_t open = text.find("{{");
    const size_t close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) return out + std::string(text);
    out += text.substr(0, open);
    auto found = values.find(text.substr(open + 2, close - open - 2));
    if (found != values.end()) out += found->second;
    text.remove_prefix(close + 2);
  }
}

std::string word(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? html_text(found->get_ref<const std::string&>())
                                                     : std::string();
}

int64_t number(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<int64_t>() : 0;
}

const json& list(const json& object, const char* key) {
  static const json none = json::array();
  auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

// Whole seconds for longer durations.
std::string time_text(int64_t ms) {
  if (ms >= 1000) ms -= ms % 1000;
  return config::format_duration(std::chrono::milliseconds(ms));
}

std::string cell(std::string_view html, std::string_view css = {}) {
  return css.empty() ? fmt::format("<td>{}</td>", html) : fmt::format("<td class=\"{}\">{}</td>", css, html);
}

std::string head_cell(std::string_view html) {
  return fmt::format("<th scope=\"row\">{}</th>", html);
}

// The form of one item; the buttons are its actions.
std::string form(const ConsoleView& view, const char* key, const std::string& value,
                 std::string_view buttons) {
  if (view.role != Role::operate) return {};
  return fmt::format(
      "<form method=\"post\" action=\"console/do\"><input type=\"hidden\" name=\"form\" value=\"{}\">"
      "<input type=\"hidden\" name=\"{}\" value=\"{}\">{}</form>",
      html_text(view.form_token), key, value, buttons);
}

std::string button(std::string_view act, std::string_view label, std::string_view about) {
  return fmt::format("<button name=\"do\" value=\"{}\" aria-label=\"{}\">{}</button>", act, about, label);
}

std::string server_buttons(const ConsoleView& view, const json& server) {
  if (word(server, "kind") == "together") return {};
  const std::string name = word(server, "name");
  const bool held = server.value("held", false);
  const int64_t calls = number(server, "in_flight");
  std::string buttons;
  if (held) {
    buttons = button("start", "Start", "Start " + name);
  } else {
    buttons = button("restart", "Restart", fmt::format("Restart {}; its calls go on", name)) +
              button("drain", "Drain", fmt::format("Drain {}; its calls go on", name)) +
              button("stop", "Stop", fmt::format("Stop {}; cancels its {} calls", name, calls));
  }
  return form(view, "name", name, buttons);
}

std::string server_rows(const ConsoleView& view) {
  std::string out;
  for (const json& one : list(view.servers, "servers")) {
    const std::string state = word(one, "state");
    std::string why = word(one, "why");
    const json& breaker = one.contains("breaker") ? one["breaker"] : one;
    if (breaker.contains("left_ms"))
      why += fmt::format(" circuit open, {} left", time_text(number(breaker, "left_ms")));
    std::string pids;
    for (const json& process : list(one, "processes"))
      pids += fmt::format("{}{}", pids.empty() ? "" : ", ", number(process, "pid"));
    const json& said = list(one, "stderr");
    const json& counts = one.contains("counts") ? one["counts"] : one;
    out +=
        "<tr>" +
        head_cell(fmt::format("{} <small>{} {} {}</small>", word(one, "name"), word(one, "kind"),
                              word(one, "era"), word(one, "server"))) +
        cell(
            fmt::format("<span class=\"dot\" data-state=\"{0}\"></span>{0} <small>{1}</small>", state, why)) +
        cell(fmt::format("{}/{}", number(one, "in_flight"), number(one, "max_in_flight")), "n") +
        cell(fmt::format("{}/{}", number(one, "waiting"), number(one, "max_queue")), "n") + cell(pids, "n") +
        cell(fmt::format("{} calls, {} timeouts, {} cancelled, {} exits", number(counts, "calls"),
                         number(counts, "timeouts"), number(counts, "cancelled"), number(counts, "exits"))) +
        cell(said.empty() ? std::string() : word(said.back(), "line"), "mono") +
        cell(server_buttons(view, one), "acts") + "</tr>\n";
  }
  return out;
}

std::string progress_text(const json& call) {
  auto found = call.find("progress");
  if (found == call.end() || !found->is_object()) return {};
  std::string out;
  if (found->contains("progress") && (*found)["progress"].is_number()) out = (*found)["progress"].dump();
  if (found->contains("total") && (*found)["total"].is_number()) out += "/" + (*found)["total"].dump();
  return out + " " + word(*found, "message");
}

// The target of a call, with the tool's name first, and its server.
std::string what_cells(const json& call) {
  return cell(fmt::format("<b>{}</b> {}", word(call, "target"), word(call, "method")), "what") +
         cell(word(call, "upstream"));
}

std::string call_rows(const ConsoleView& view) {
  std::string out;
  for (const json& one : list(view.calls, "calls")) {
    const std::string id = word(one, "id");
    std::string state = word(one, "state");
    if (state == "queued") state += fmt::format(", {} ahead", number(one, "ahead"));
    out += "<tr>" + head_cell(fmt::format("<a href=\"?call={0}#call\">{0}</a>", id)) +
           cell(time_text(number(one, "age_ms")), "n") +
           cell(one.contains("left_ms") ? time_text(number(one, "left_ms")) : std::string(), "n") +
           what_cells(one) + cell(state + " " + progress_text(one)) + cell(word(one, "client")) +
           cell(form(view, "id", id, button("cancel", "Cancel", "Cancel " + id)), "acts") + "</tr>\n";
  }
  return out;
}

std::string listen_rows(const ConsoleView& view) {
  std::string out;
  for (const json& one : list(view.listens, "listens")) {
    out += "<tr>" + head_cell(word(one, "upstream")) + cell(word(one, "client")) + cell(word(one, "rpc_id")) +
           cell(word(one, "listens")) + cell(time_text(number(one, "age_ms")), "n") +
           cell(std::to_string(number(one, "events")), "n") + "</tr>\n";
  }
  return out;
}

std::string session_rows(const ConsoleView& view) {
  std::string out;
  for (const json& one : list(view.sessions, "sessions")) {
    out += "<tr>" + head_cell(word(one, "session")) + cell(word(one, "upstream")) +
           cell(word(one, "client")) + cell(word(one, "revision")) +
           cell(time_text(number(one, "age_ms")), "n") + cell(time_text(number(one, "idle_ms")), "n") +
           cell(std::to_string(number(one, "calls")), "n") + "</tr>\n";
  }
  return out;
}

std::string ended_rows(const ConsoleView& view) {
  std::string out;
  for (const json& one : list(view.ends, "ends")) {
    out += "<tr>" + head_cell(fmt::format("<a href=\"?call={0}#call\">{0}</a>", word(one, "id"))) +
           what_cells(one) + cell(word(one, "reason")) + cell(time_text(number(one, "age_ms")), "n") +
           cell(time_text(number(one, "ended_ago_ms")), "n") + "</tr>\n";
  }
  return out;
}

std::string reason_rows(const ConsoleView& view) {
  std::map<std::string, int64_t> sums;
  for (const json& minute : list(view.minutes, "minutes")) {
    for (const auto& [reason, ends] : minute["ends"].items())
      sums[reason] += ends.get<int64_t>();
  }
  std::string out;
  for (const auto& [reason, ends] : sums)
    out += "<tr>" + head_cell(html_text(reason)) + cell(std::to_string(ends), "n") + "</tr>\n";
  return out;
}

std::string operation_rows(const ConsoleView& view) {
  std::string out;
  auto shown = [](const json& one, const char* key) { return fmt::format("{:.0f} ms", one.value(key, 0.0)); };
  for (const json& one : list(view.operations, "operations")) {
    const std::string name = word(one, "name");
    out += "<tr>" + head_cell(name.empty() ? word(one, "method") : name) + cell(word(one, "upstream")) +
           cell(std::to_string(number(one, "calls")), "n") +
           cell(std::to_string(number(one, "failed")), "n") + cell(shown(one, "p50_ms"), "n") +
           cell(shown(one, "p95_ms"), "n") + cell(shown(one, "p99_ms"), "n") + "</tr>\n";
  }
  return out;
}

std::string log_rows(const ConsoleView& view) {
  std::string out;
  const json& lines = list(view.log, "lines");
  for (auto one = lines.rbegin(); one != lines.rend(); ++one) {
    const json& line = (*one)["line"];
    std::string rest;
    for (const auto& [key, value] : line.items()) {
      if (key == "time" || key == "level" || key == "event") continue;
      rest +=
          html_text(fmt::format("{}={} ", key, value.is_string() ? value.get<std::string>() : value.dump()));
    }
    out += "<tr>" + head_cell(word(line, "time")) + cell(word(line, "level")) + cell(word(line, "event")) +
           cell(rest, "mono") + "</tr>\n";
  }
  return out;
}

// The selected call, if the URL names it.
std::string story_section(const ConsoleView& view) {
  if (!view.story.is_object() || !view.story.contains("id")) return {};
  const json& one = view.story;
  std::string out = fmt::format(
      "<section id=\"call\" aria-labelledby=\"call-title\"><div class=\"title\"><h2 id=\"call-title\">Call "
      "{}</h2><span class=\"quiet\">{} <b>{}</b> of {} for {}</span></div>"
      "<table><caption class=\"sr\">Its time line</caption><thead><tr><th scope=\"col\">Step</th>"
      "<th scope=\"col\" class=\"n\">Since it arrived</th><th scope=\"col\" "
      "class=\"n\">Times</th></tr></thead><tbody>",
      word(one, "id"), word(one, "method"), word(one, "target"), word(one, "upstream"), word(one, "client"));
  for (const json& mark : list(one, "timeline"))
    out += "<tr>" + head_cell(word(mark, "step")) +
           cell(config::format_duration(std::chrono::milliseconds(number(mark, "at_ms"))), "n") +
           cell(std::to_string(number(mark, "times")), "n") + "</tr>";
  return out + "</tbody></table></section>";
}

std::string log_out(const ConsoleView& view) {
  if (!view.logged_in) return {};
  return fmt::format(
      "<form method=\"post\" action=\"console/logout\"><input type=\"hidden\" name=\"form\" value=\"{}\">"
      "<button>Log out</button></form>",
      html_text(view.form_token));
}

// `root`: the relative path from the page's URL to the console.
std::string plain_page(std::string_view title, const char* root, std::string_view body) {
  return filled(console_text("plain.html"),
                {{"title", std::string(title)}, {"root", root}, {"body", std::string(body)}});
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string console_page(const ConsoleView& view) {
  const bool draining = view.status.value("draining", false);
  return filled(console_text("index.html"),
                {{"role", view.role == Role::operate ? "operate" : "read"},
                 {"version", html_text(view.version)},
                 {"state", draining ? "draining" : "serving"},
                 {"url", word(view.status, "url")},
                 {"uptime", time_text(number(view.status, "uptime_ms"))},
                 {"in_flight", std::to_string(number(view.status, "in_flight"))},
                 {"waiting", std::to_string(number(view.status, "waiting"))},
                 {"listens_count", std::to_string(number(view.status, "listens"))},
                 {"sessions_count", std::to_string(number(view.status, "sessions"))},
                 {"note", html_text(view.note)},
                 {"logout", log_out(view)},
                 {"servers", server_rows(view)},
                 {"calls", call_rows(view)},
                 {"listens", listen_rows(view)},
                 {"sessions", session_rows(view)},
                 {"ends", ended_rows(view)},
                 {"reasons", reason_rows(view)},
                 {"operations", operation_rows(view)},
                 {"log", log_rows(view)},
                 {"story", story_section(view)}});
}

std::string console_login_page(LoginTry tried) {
  return plain_page(
      "Log in", "",
      fmt::format(
          "<form method=\"post\" action=\"console/login\" class=\"login\">{}"
          "<label for=\"token\">A token of <code>admin.tokenFile</code></label>"
          "<input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" "
          "required autofocus><button>Log in</button></form>",
          tried == LoginTry::wrong ? "<p class=\"fault\" role=\"alert\">That is no token of it.</p>" : ""));
}

std::string console_fault_page(std::string_view text) {
  return plain_page("Not done", "../",
                    fmt::format("<p class=\"fault\" role=\"alert\">{}</p><p><a href=\"../console\">Back to "
                                "the console</a></p>",
                                html_text(text)));
}

}  // namespace lineward::admin
