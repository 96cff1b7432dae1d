// What an exchange keeps once its server has asked its client something. For exchange*.cc only.
#pragma once

#include <cstdint>

#include "exchange/question_round.h"
#include "net/loop.h"

namespace lineward::exchange {

struct Asking {
  explicit Asking(net::Loop& loop) : settle(loop) {}
  QuestionRound round;
  net::Timer settle;    // runs from the first question of a round
  uint32_t rounds = 0;  // input-required results that this call has made so far
};

}  // namespace lineward::exchange
