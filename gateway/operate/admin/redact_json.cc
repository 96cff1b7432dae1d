#include "operate/admin/redact_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "foundation/log/redaction.h"

namespace lineward::admin {

void redact_json(nlohmann::json& value) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    text = redaction::redacted(text);
  } else if (value.is_structured()) {
    for (nlohmann::json& element : value)
      redact_json(element);
  }
}

}  // namespace lineward::admin
