#include "foundation/net/wakeup.h"

#include "foundation/net/handle.h"

namespace lineward::net {

struct Wakeup::State {
  Handle<uv_async_t> handle;
  std::function<void()> woken;
};

Wakeup::Wakeup(std::unique_ptr<State> state) : state_(std::move(state)) {}
Wakeup::~Wakeup() = default;

Result<std::unique_ptr<Wakeup>> Wakeup::create(Loop& loop, std::function<void()> woken) {
  auto state = std::make_unique<State>();
  state->woken = std::move(woken);
  int error = state->handle.open(state.get(), [&](uv_async_t* handle) {
    return uv_async_init(loop.raw(), handle, [](uv_async_t* h) {
      if (h->data == nullptr) return;
      auto work = static_cast<State*>(h->data)->woken;  // it may destroy this object
      work();
    });
  });
  if (error != 0) return fail(uv_strerror(error));
  return std::unique_ptr<Wakeup>(new Wakeup(std::move(state)));
}

void Wakeup::wake() {
  uv_async_send(state_->handle.get());
}

}  // namespace lineward::net
