#include "operate/admin/metric_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "protocol/http/header_list.h"

namespace lineward::admin {
namespace {

using metrics::MetricFamily;
using metrics::MetricPoint;
using metrics::MetricType;

constexpr std::string_view kTotal = "_total";

// ---- Accept ----

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

// The text before the next `end`, which is removed too.
std::string_view take_until(std::string_view& text, char end) {
  std::string_view piece = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), piece.size() + 1));
  return trimmed(piece);
}

double weight_of(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view one = take_until(parameters, ';');
    if (one.size() < 3 || (one[0] != 'q' && one[0] != 'Q') || one[1] != '=') continue;
    double weight = 0;
    auto [end, fault] = std::from_chars(one.data() + 2, one.data() + one.size(), weight);
    return fault == std::errc() && end == one.data() + one.size() ? weight : 0;
  }
  return 1;
}

// ---- the text ----

void append_escaped(std::string& out, std::string_view text) {
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
  }
}

class Exposition {
 public:
  Exposition(std::string& out, MetricFormat format)
      : out_(out), open_(format == MetricFormat::open_metrics) {}

  // Some points of a family; the head precedes the first points only.
  void add(const MetricFamily& family, size_t from, size_t to) {
    // In OpenMetrics a counter's family name omits the suffix of its samples.
    std::string_view name = family.name;
    const bool counts = family.type == MetricType::counter && (!open_ || ends_total(name));
    const std::string_view ending = open_ && counts ? kTotal : "";
    name.remove_suffix(ending.size());
    const bool histogram = family.type == MetricType::histogram;
    if (from == 0) {
      out_ += fmt::format("# HELP {} ", name);
      open_ ? append_escaped(out_, family.help) : void(out_ += family.help);
      out_ += fmt::format("\n# TYPE {} {}\n", name,
                          histogram                          ? "histogram"
                          : counts                           ? "counter"
                          : family.type == MetricType::gauge ? "gauge"
                                                             : "unknown");
    }
    for (size_t at = from; at < to; ++at) {
      const MetricPoint& point = family.points[at];
      if (point.histogram) {
        add(name, point);
      } else {
        line(name, ending, point, {}, number(point.value));
        out_ += '\n';
      }
    }
  }

 private:
  static bool ends_total(std::string_view name) {
    return name.size() > kTotal.size() && name.substr(name.size() - kTotal.size()) == kTotal;
  }

  std::string number(double value) const {
    return open_ ? fmt::format("{}", value) : fmt::format("{:.16g}", value);
  }
  // In OpenMetrics bounds have one spelling, so that they are the same series everywhere.
  std::string bound_text(double bound) const {
    std::string out = number(bound);
    return open_ && out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
  }

  void add(std::string_view name, const MetricPoint& point) {
    const metrics::Histogram& histogram = *point.histogram;
    auto all = bounds(histogram.buckets());
    uint64_t sum = 0;
    for (size_t i = 0; i <= all.size(); ++i) {
      sum += histogram.in_bucket(i);
      line(name, "_bucket", point, i < all.size() ? bound_text(all[i]) : "+Inf", std::to_string(sum));
      for (const auto& [bucket, exemplar] : point.exemplars) {
        if (bucket != i || !open_) continue;
        out_ += fmt::format(" # {{trace_id=\"{}\",span_id=\"{}\"}} {} {:.3f}", exemplar.trace_id(),
                            exemplar.span_id(), exemplar.value, exemplar.at);
      }
      out_ += '\n';
    }
    line(name, "_count", point, {}, std::to_string(histogram.count()));
    out_ += '\n';
    line(name, "_sum", point, {}, number(histogram.sum()));
    out_ += '\n';
  }

  // Without the line end: an exemplar may follow.
  void line(std::string_view name, std::string_view ending, const MetricPoint& point, std::string_view le,
            std::string_view value) {
    out_ += name;
    out_ += ending;
    char before = '{';
    auto label = [&](std::string_view key, std::string_view text) {
      out_ += before;
      out_ += key;
      out_ += "=\"";
      append_escaped(out_, text);
      out_ += '"';
      before = ',';
    };
    for (const auto& [key, text] : point.labels)
      label(key, text);
    if (!le.empty()) label("le", le);
    if (before == ',') out_ += '}';
    out_ += ' ';
    out_ += value;
  }

  std::string& out_;
  const bool open_;
};

// Samples per piece.
constexpr size_t kPoints = 200;

}  // namespace

MetricFormat format_for(std::string_view accept) {
  double open = 0, plain = 0;
  while (!accept.empty()) {
    std::string_view range = take_until(accept, ',');
    const std::string_view type = take_until(range, ';');
    const double weight = weight_of(range);
    if (http::equals_ignoring_case(type, "application/openmetrics-text")) open = std::max(open, weight);
    if (http::equals_ignoring_case(type, "text/plain")) plain = std::max(plain, weight);
  }
  return open > 0 && open >= plain ? MetricFormat::open_metrics : MetricFormat::classic;
}

std::string_view content_type(MetricFormat format) {
  return format == MetricFormat::classic ? "text/plain; version=0.0.4; charset=utf-8"
                                         : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

std::string metrics_text(const metrics::MetricSnapshot& metrics, MetricFormat format) {
  MetricsWriter writer(metrics, format);
  while (writer.write_more()) {
  }
  return writer.take();
}

bool MetricsWriter::write_more() {
  if (family_ < metrics_.families.size()) {
    const MetricFamily& family = metrics_.families[family_];
    const size_t from = point_;
    point_ = std::min(family.points.size(), from + kPoints);
    Exposition(text_, format_).add(family, from, point_);
    if (point_ < family.points.size()) return true;
    ++family_;
    point_ = 0;
    return true;
  }
  if (format_ == MetricFormat::open_metrics && !std::exchange(ended_, true)) text_ += "# EOF\n";
  return false;
}

}  // namespace lineward::admin
