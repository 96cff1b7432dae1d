#include "fiber.h"

#if LINEWARD_SIM_PLAYS

#include <cxxabi.h>
#include <elf.h>
#include <sys/auxv.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "heap.h"
#include "huge_pages.h"

// Leaves a stack here, which `left` tells then, and goes on where another one was left. A function keeps its
// registers on the stack.
extern "C" void lineward_sim_switch(void** left, void* to);
asm(R"(
.pushsection .text
.type lineward_sim_switch, @function
lineward_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lineward_sim_switch, .-lineward_sim_switch
.popsection
)");

// glibc's own, which the C++ library calls too.
extern "C" int __cxa_thread_atexit_impl(void (*end)(void*), void* object, void* library);

namespace lineward::sim {
namespace {

// The program's own thread_local data: its place for this thread, and its initial bytes.
struct OwnData {
  std::byte* at = nullptr;
  size_t size = 0;
  const void* first = nullptr;
  size_t first_size = 0;
};

// It ends where the thread's pointer points to, which is the address that stands there (the ABI's "variant
// II").
OwnData find_own_data() {
  OwnData own;
  const auto* parts = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  const size_t count = getauxval(AT_PHNUM);
  uintptr_t base = 0, end = 0;
  asm volatile("movq %%fs:0, %0" : "=r"(end));
  for (size_t i = 0; i < count; ++i) {
    const Elf64_Phdr& part = parts[i];
    if (part.p_type == PT_PHDR) base = reinterpret_cast<uintptr_t>(parts) - part.p_vaddr;
    if (part.p_type != PT_TLS) continue;
    if (part.p_vaddr % part.p_align != 0) std::abort();
    own.size = (part.p_memsz + part.p_align - 1) & ~(part.p_align - 1);
    own.at = reinterpret_cast<std::byte*>(end - own.size);
    own.first = reinterpret_cast<const void*>(base + part.p_vaddr);
    own.first_size = part.p_filesz;
  }
  if (own.at == nullptr) std::abort();
  return own;
}

// The data of the one thread that has worlds.
const OwnData& own_data() {
  static const OwnData own = find_own_data();
  return own;
}

// Destructors of that data.
struct End {
  void (*end)(void*);
  void* object;
  End* before;
};
constinit thread_local bool is_fiber = false;
constinit thread_local End* ends = nullptr;  // of a fiber, the last one first

Fiber* arriving = nullptr;
void* left_stack = nullptr;  // of one that has left, until another one runs

std::vector<void*>& spare_stacks() {
  static std::vector<void*> all;
  return all;
}

void* take_stack() {
  auto& spare = spare_stacks();
  if (spare.empty()) return make_stack();
  void* stack = spare.back();
  spare.pop_back();
  return stack;
}

}  // namespace

Fiber::Fiber() = default;
Fiber::~Fiber() = default;

void Fiber::begin(void (*work)(void*), void* with) {
  const OwnData& own = own_data();
  own_.reset(new std::byte[own.size]);
  std::memcpy(own_.get(), own.first, own.first_size);
  std::memset(own_.get() + own.first_size, 0, own.size - own.first_size);
  work_ = work;
  with_ = with;
  stack_ = take_stack();
  // As if something had called it, at an address between 16 bytes and 16 bytes, and left its stack.
  auto* top = reinterpret_cast<uint64_t*>(static_cast<std::byte*>(stack_) + kStack) - 1;
  *top = 0;
  *--top = reinterpret_cast<uint64_t>(+[] {
    Fiber* self = arriving;
    self->arrive();
    is_fiber = true;
    self->work_(self->with_);
    std::abort();  // it has left
  });
  for (int saved = 0; saved < 6; ++saved)
    *--top = 0;
  stack_at_ = top;
}

void Fiber::end_own() {
  // Objects that begin meanwhile end too.
  while (ends != nullptr) {
    const std::unique_ptr<End> last(ends);
    ends = last->before;
    last->end(last->object);
  }
}

void Fiber::keep_and_bring(Fiber& to) {
  const OwnData& own = own_data();
  if (!own_) own_.reset(new std::byte[own.size]);
  auto* exceptions = reinterpret_cast<decltype(exceptions_)*>(abi::__cxa_get_globals());
  exceptions_ = std::exchange(*exceptions, to.exceptions_);
  std::memcpy(own_.get(), own.at, own.size);
  std::memcpy(own.at, to.own_.get(), own.size);
  arriving = &to;
  lineward_sim_switch(&stack_at_, to.stack_at_);
}

void Fiber::arrive() {
  if (void* stack = std::exchange(left_stack, nullptr)) spare_stacks().push_back(stack);
}

void Fiber::pass(Fiber& from, Fiber& to) {
  from.keep_and_bring(to);
  from.arrive();
}

void Fiber::leave(Fiber& to) {
  left_stack = std::exchange(stack_, nullptr);
  keep_and_bring(to);
}

void on_own_thread(const std::function<void()>& work) {
  struct Both {
    const std::function<void()>& work;
    Fiber outside, inside;
  } both{work, {}, {}};
  both.inside.begin(
      [](void* given) {
        auto& its = *static_cast<Both*>(given);
        its.work();
        enters_heap();
        Fiber::end_own();
        leaves_heap();
        its.inside.leave(its.outside);
      },
      &both);
  Fiber::pass(both.outside, both.inside);
}

}  // namespace lineward::sim

// An executable's symbols come before those of shared libraries. A library's object ends with the kernel's
// thread.
extern "C" int __cxa_thread_atexit(void (*end)(void*), void* object, void* library) noexcept {
  using namespace lineward::sim;
  const OwnData& own = own_data();
  const auto at = static_cast<size_t>(static_cast<std::byte*>(object) - own.at);
  if (!is_fiber || at >= own.size) return __cxa_thread_atexit_impl(end, object, library);
  ends = new End{end, object, ends};
  return 0;
}

#else

#include <thread>

namespace lineward::sim {
namespace {

void wait(sem_t& semaphore) {
  while (sem_wait(&semaphore) != 0) {
  }
}

}  // namespace

Fiber::Fiber() {
  sem_init(&baton_, 0, 0);
}

Fiber::~Fiber() {
  sem_destroy(&baton_);
}

void Fiber::begin(void (*)(void*), void*) {}

void Fiber::enter() {
  wait(baton_);
}

void Fiber::pass(Fiber& from, Fiber& to) {
  sem_post(&to.baton_);
  wait(from.baton_);
}

void Fiber::leave(Fiber& to) {
  sem_post(&to.baton_);
}

void Fiber::end_own() {}

void on_own_thread(const std::function<void()>& work) {
  std::thread(work).join();
}

}  // namespace lineward::sim

#endif
