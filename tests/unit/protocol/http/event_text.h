// The bytes of an event that the writer makes, unframed.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "protocol/http/writer.h"

inline std::string event_text(std::string data, std::string_view id = {}) {
  const lineward::http::EventPieces event = lineward::http::sse_event(std::move(data), id, 0);
  return event.before + event.data + std::string(event.after);
}
