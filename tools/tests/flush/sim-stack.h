/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-stack.h - switch between stacks.
 *
 * Design: save the callee-saved registers and the stack pointer, go on with
 * those of another stack.  swapcontext() would do it, with two system calls
 * each time.  One file of a program includes this.
 */
#ifndef FLUSH_TEST_SIM_STACK_H
#define FLUSH_TEST_SIM_STACK_H

#include <stddef.h>
#include <string.h>

void sim_swap_stack(void **save, void *to);
__asm__ ( ".text\n"
          "sim_swap_stack:\n"
          "    push %rbx\n    push %rbp\n    push %r12\n"
          "    push %r13\n    push %r14\n    push %r15\n"
          "    mov %rsp, (%rdi)\n"
          "    mov %rsi, %rsp\n"
          "    pop %r15\n    pop %r14\n    pop %r13\n"
          "    pop %r12\n    pop %rbp\n    pop %rbx\n"
          "    ret\n" );

/* Six registers, then where to return to; aligned as after a call. */
static inline void *sim_first_frame(char *stack, size_t size,
                                    void (*entry)(void))
{
    void **sp = (void **)(stack + size - 64);

    memset(sp - 8, 0, 16 * sizeof(*sp));
    sp[-2] = entry;
    return sp - 8;
}

#endif /* FLUSH_TEST_SIM_STACK_H */
