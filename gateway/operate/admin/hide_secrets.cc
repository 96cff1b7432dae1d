#include "operate/admin/hide_secrets.h"

#include <nlohmann/json.hpp>
#include <string>

#include "foundation/log/redaction.h"

namespace lineward::admin {

void hide_secrets(nlohmann::json& value) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    text = redaction::without_secrets(text);
  } else if (value.is_structured()) {
    for (nlohmann::json& element : value)
      hide_secrets(element);
  }
}

}  // namespace lineward::admin
