#include "fiber.h"

#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "sanitized.h"

#if !LINEWARD_SIM_SANITIZED && defined(__x86_64__) && defined(__linux__)
#define LINEWARD_SIM_LENDS 1
#else
#define LINEWARD_SIM_LENDS 0
#endif

namespace lineward::sim {
namespace {

void wait(sem_t& semaphore) {
  while (sem_wait(&semaphore) != 0) {
  }
}

#if LINEWARD_SIM_LENDS

// Where a stack was left, and what `fs` was: the thread's own data.
struct Place {
  void* stack = nullptr;
  uint64_t own = 0;
};

// They begin with their own address.
uint64_t own_data() {
  uint64_t at = 0;
  asm volatile("movq %%fs:0, %0" : "=r"(at));
  return at;
}

#else
struct Place {};
#endif

}  // namespace

#if LINEWARD_SIM_LENDS
// May a program say itself where its thread's own data are (wrfsbase)? Else the kernel is asked to
// (arch_prctl), which takes a tenth of what it takes to let another thread run.
extern "C" const bool lineward_sim_says_itself = (getauxval(AT_HWCAP2) & 2) != 0;
// Leaves `from` here and goes on where `to` was left. What a function has to keep is kept on the stack; `arg`
// comes through, for the one that begins.
extern "C" void lineward_sim_switch(void* from, void* to, void* arg);
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
  movq %fs:0, %rax
  movq %rax, 8(%rdi)
  movq (%rsi), %rsp
  movq 8(%rsi), %rsi
  cmpb $0, lineward_sim_says_itself(%rip)
  je 1f
  wrfsbase %rsi
  jmp 2f
1:
  movl $0x1002, %edi  # ARCH_SET_FS
  movl $158, %eax     # arch_prctl
  syscall
2:
  movq %rdx, %rdi
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
#endif

struct Fiber::Lent {
  Place left;            // where the fiber goes on
  sem_t entered;         // its thread has left its stack to others
  bool at_hand = false;  // that has been waited for
  // On which its thread waits meanwhile.
  alignas(64) std::byte stack[32 * 1024];
};

Fiber::Fiber() {
  sem_init(&baton_, 0, 0);
#if LINEWARD_SIM_LENDS
  lent_.reset(new Lent);  // the stack is not filled
  sem_init(&lent_->entered, 0, 0);
#endif
}

Fiber::~Fiber() {
  sem_destroy(&baton_);
  if (lent_) sem_destroy(&lent_->entered);
}

#if LINEWARD_SIM_LENDS

namespace {
Fiber* leaving = nullptr;  // its stack can be given back as soon as another one runs
}

// On the other stack, by the thread itself.
void Fiber::park() {
  sem_post(&lent_->entered);
  wait(baton_);
  Place nobodys;
  lineward_sim_switch(&nobodys, &lent_->left, nullptr);
}

void Fiber::arrive() {
  if (Fiber* left = std::exchange(leaving, nullptr)) sem_post(&left->baton_);
}

void Fiber::run_to(Fiber& from, Fiber& to) {
  from.lent_->at_hand = true;
  if (!std::exchange(to.lent_->at_hand, true)) wait(to.lent_->entered);
  lineward_sim_switch(&from.lent_->left, &to.lent_->left, nullptr);
}

void Fiber::enter() {
  // As if park() had been called by nobody: the address that it would return to lies between 16 bytes and 16
  // bytes.
  auto* top = reinterpret_cast<uint64_t*>(lent_->stack + sizeof lent_->stack) - 1;
  *top = 0;
  *--top = reinterpret_cast<uint64_t>(+[](Fiber* fiber) { fiber->park(); });
  for (int saved = 0; saved < 6; ++saved)
    *--top = 0;
  Place parking{top, own_data()};
  lineward_sim_switch(&lent_->left, &parking, this);
  arrive();
}

void Fiber::pass(Fiber& from, Fiber& to) {
  run_to(from, to);
  from.arrive();
}

void Fiber::leave(Fiber& to) {
  leaving = this;
  run_to(*this, to);  // returns on the thread itself
}

#else

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

#endif

}  // namespace lineward::sim
