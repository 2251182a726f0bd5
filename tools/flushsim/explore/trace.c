/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trace.c - what happened in a run, for whoever has to understand it.
 *
 * Design: lines are kept with the address of the code, and addr2line(1) is
 * asked once, at the end, what those addresses are.  Without it they are shown
 * as they are.
 */
#include "explore.h"

#include "sim.h"

#include <unistd.h>

#define MAX_LINES 4000

struct line {
    const void *pc;
    char text[120];
};

bool tracing KEEP;
static struct line *lines KEEP;
static unsigned int nr_lines KEEP;

void trace(const void *pc, const char *fmt, ...)
{
    struct line *l;
    va_list args;
    int n = 0;

    if ( !lines )
        lines = calloc(MAX_LINES, sizeof(*lines));
    if ( nr_lines == MAX_LINES )
        return;
    l = &lines[nr_lines++];
    l->pc = pc;
    if ( running != NO_VCPU )
        n = snprintf(l->text, sizeof(l->text), "CPU%d%s ", running,
                     sched_in_handler(running) ? " (irq)" : "");
    va_start(args, fmt);
    vsnprintf(l->text + n, sizeof(l->text) - n, fmt, args);
    va_end(args);
}

static FILE *ask_addr2line(void)
{
    char command[64 + 20 * 1024];
    unsigned int i;
    size_t len = snprintf(command, sizeof(command),
                          "addr2line -s -f -e /proc/%d/exe 2>/dev/null",
                          getpid());

    for ( i = 0; i < nr_lines; i++ )
        if ( lines[i].pc && len < sizeof(command) - 32 )
            len += snprintf(command + len, sizeof(command) - len, " %#lx",
                            (unsigned long)lines[i].pc - 1);
    return popen(command, "r");
}

static bool next_line(FILE *from, char *text, size_t size)
{
    if ( !from || !fgets(text, size, from) )
        return false;
    text[strcspn(text, " \n")] = 0;
    return true;
}

void trace_show(void)
{
    FILE *answers = ask_addr2line();
    unsigned int i;

    for ( i = 0; i < nr_lines; i++ )
    {
        char function[100], place[100];

        if ( lines[i].pc && next_line(answers, function, sizeof(function)) &&
             next_line(answers, place, sizeof(place)) )
            printf("# %s, %s() %s\n", lines[i].text, function, place);
        else
            printf("# %s\n", lines[i].text);
    }
    if ( answers )
        pclose(answers);
    nr_lines = 0;
}
