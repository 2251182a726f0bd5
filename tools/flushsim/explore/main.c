/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * main.c - explores cases, replays and shrinks what failed.
 *
 * Design: each case in a process of its own, as a machine boots once.  Runs
 * until the search is through, or one fails, or the time is up.  A search
 * starts over when it learns that more memory is shared than it thought.
 */
#include "explore.h"

#include "sim.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEARNING_RUNS 200
#define MAX_GRANULES 1024

struct options {
    const char *only, *replay, *write;
    enum strategy strategy;
    unsigned int bound, runs, seconds;
    bool bounded, thorough;       /* bound was given; the case's larger one */
    uint64_t seed;
    bool verbose;
};
static struct options opt KEEP = {
    .strategy = DFS, .runs = 10000, .seconds = 60, .seed = 1
};

static const char *const model_names[] = {
    [MODEL_SC] = "sc", [MODEL_TSO] = "tso", [MODEL_WEAK] = "weak",
};
static const char *const strategy_names[] = {
    [DFS] = "bound", [RANDOM] = "random", [PCT] = "pct", [REPLAY] = "replay",
};

struct result {
    char failure[512];            /* empty: none */
    unsigned long schedules;
    unsigned int forks;           /* of the longest run */
    double seconds;
    bool complete;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- one run ---- */
static const char *run(void)
{
    const char *failed;

    state_restore();
    memory_run();
    sched_reset();
    choose_run();
    case_begin();
    failed = sched_run();
    running = NO_VCPU;
    if ( failed || sched_cut() )
        return failed;
    memory_drain_all();
    return case_end();
}

static void on_signal(int number)
{
    char text[40];

    snprintf(text, sizeof(text), "crash: signal %d", number);
    sched_fail(text);
    _exit(3);
}

static void catch_crashes(void)
{
    static char stack[32768] KEEP;
    stack_t s = { .ss_sp = stack, .ss_size = sizeof(stack) };
    struct sigaction action = {
        .sa_handler = on_signal, .sa_flags = SA_NODEFER | SA_ONSTACK
    };

    sigaltstack(&s, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGILL, &action, NULL);
}

/* ---- schedules in files ---- */

/* Forks depend on which memory is shared, and addresses on the program. */
static uint64_t program_sum(void)
{
    FILE *f = fopen("/proc/self/exe", "rb");
    uint64_t sum = 0xcbf29ce484222325u;
    int c;

    while ( f && (c = getc(f)) != EOF )
        sum = (sum ^ c) * 0x100000001b3u;
    if ( f )
        fclose(f);
    return sum;
}

static void write_schedule(const char *path, const char *name,
                           const struct schedule *s, const char *failure)
{
    uintptr_t granules[MAX_GRANULES];
    unsigned int i, n = memory_visible(granules, MAX_GRANULES);
    FILE *f = fopen(path, "w");

    if ( !f )
        return perror(path);
    fprintf(f, "# %s\nprogram %"PRIx64"\ncase %s\nmodel %s\nbuffer %u\n",
            failure, program_sum(), name, model_names[memory_model],
            memory_buffer);
    for ( i = 0; i < n; i++ )
        fprintf(f, "shared %lx\n", (unsigned long)granules[i]);
    for ( i = 0; i < s->nr; i++ )
        fprintf(f, "at %u take %u\n", s->dev[i].fork, s->dev[i].pick);
    fclose(f);
}

static bool set_model(const char *name)
{
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(model_names); i++ )
        if ( !strcmp(name, model_names[i]) )
        {
            memory_model = i;
            return true;
        }
    return false;
}

static const char *read_schedule(const char *path, struct schedule *s)
{
    static char name[64] KEEP;
    char line[512], word[64];
    FILE *f = fopen(path, "r");
    uint64_t sum = 0;
    unsigned long granule;
    unsigned int fork, pick;

    if ( !f )
    {
        perror(path);
        exit(2);
    }
    while ( fgets(line, sizeof(line), f) )
        if ( sscanf(line, "case %63s", name) == 1 ||
             sscanf(line, "program %"SCNx64, &sum) == 1 ||
             sscanf(line, "buffer %u", &memory_buffer) == 1 )
            continue;
        else if ( sscanf(line, "model %63s", word) == 1 )
            set_model(word);
        else if ( sscanf(line, "shared %lx", &granule) == 1 )
            memory_see(granule);
        else if ( sscanf(line, "at %u take %u", &fork, &pick) == 2 &&
                  s->nr < MAX_DEVIATIONS )
            s->dev[s->nr++] = (struct deviation){ fork, pick };
    fclose(f);
    if ( sum != program_sum() )
        printf("# %s was made by another build: it may not fit this one\n",
               path);
    return name;
}

/* ---- shrinking ---- */

/* The same kind of failure: the same up to the first digit. */
static bool same_kind(const char *a, const char *b)
{
    size_t n = strcspn(a, "0123456789");

    return n == strcspn(b, "0123456789") && !strncmp(a, b, n);
}

static bool still_fails(const struct schedule *s, const char *failure)
{
    const char *text;

    choose_replay(s);
    text = run();
    return text && same_kind(text, failure);
}

static void shrink(struct schedule *s, const char *failure)
{
    static struct schedule shorter KEEP;
    unsigned int i;
    bool progress;

    do {
        progress = false;
        for ( i = s->nr; i-- > 0; )
        {
            shorter = *s;
            memmove(&shorter.dev[i], &shorter.dev[i + 1],
                    (s->nr - i - 1) * sizeof(shorter.dev[0]));
            shorter.nr--;
            if ( still_fails(&shorter, failure) )
            {
                *s = shorter;
                progress = true;
            }
        }
    } while ( progress );
}

/* ---- exploring ---- */
static void learn(void)
{
    unsigned int i;

    choose_begin(RANDOM, 0, 1);
    for ( i = 0; i < LEARNING_RUNS; i++ )
        run();
    memory_learn();
}

/* Until through; false if it has to start over. */
static bool search(struct result *r, double start)
{
    const char *failed;
    unsigned long i;

    choose_begin(opt.strategy, opt.bound, opt.seed);
    r->schedules = 0;
    r->complete = true;
    do {
        failed = run();
        r->schedules++;
        r->forks = max(r->forks, choose_forks());
        if ( memory_learn() )
            return false;
        if ( failed )
        {
            snprintf(r->failure, sizeof(r->failure), "%s", failed);
            return true;
        }
        if ( r->schedules % 256 == 0 && now() - start > opt.seconds )
        {
            r->complete = false;
            return true;
        }
        i = r->schedules;
    } while ( opt.strategy == DFS ? choose_next() : i < opt.runs );
    return true;
}

static void show_failure(const char *name, const struct result *r)
{
    static struct schedule s KEEP;
    const char *text;

    s = *choose_taken();
    shrink(&s, r->failure);
    if ( opt.write )
        write_schedule(opt.write, name, &s, r->failure);
    tracing = opt.verbose;
    choose_replay(&s);
    text = run();
    printf("#   shrunk to %u choices: %s\n", s.nr, text ?: "does not fail");
    if ( tracing )
        trace_show();
}

static bool explore(const struct explore_case *c)
{
    struct result r = { };
    double start = now();
    char how[40], cut[40] = "";

    if ( !opt.bounded )
        opt.bound = opt.thorough ? c->thorough : c->quick;
    learn();
    while ( !search(&r, start) )
        ;
    r.seconds = now() - start;
    if ( opt.strategy == DFS )
        snprintf(how, sizeof(how), "bound %u", opt.bound);
    else
        snprintf(how, sizeof(how), "%s, seed %"PRIu64,
                 strategy_names[opt.strategy], opt.seed);
    if ( opt.strategy == DFS )
        snprintf(cut, sizeof(cut), " (%lu cut short)", choose_cut());
    printf("%s %s: %s, %s: %lu schedules%s%s, %u forks, %.1f s%s%s\n",
           r.failure[0] ? "FAILED" : r.complete ? "ok" : "UNFINISHED",
           c->name, model_names[memory_model], how, r.schedules,
           cut, opt.strategy != DFS || r.failure[0] ? "" :
           r.complete ? ", all" : ", not all", r.forks, r.seconds,
           r.failure[0] ? ": " : "", r.failure);
    if ( r.failure[0] )
        show_failure(c->name, &r);
    return !r.failure[0] && r.complete;
}

static bool replay(const struct explore_case *c, const struct schedule *s)
{
    const char *failed;

    choose_replay(s);
    tracing = true;
    failed = run();
    trace_show();
    printf("%s %s: %s, replay of %u choices%s%s\n", failed ? "FAILED" : "ok",
           c->name, model_names[memory_model], s->nr, failed ? ": " : "",
           failed ?: "");
    return !failed;
}

static const struct explore_case *find_case(const char *name)
{
    unsigned int i;

    for ( i = 0; i < explore_nr_cases; i++ )
        if ( !strcmp(explore_cases[i].name, name) )
            return &explore_cases[i];
    fprintf(stderr, "explore: no case %s\n", name);
    exit(2);
}

static void prepare(const struct explore_case *c)
{
    catch_crashes();
    sched_init();
    case_boot(c);
    state_save();
}

static bool in_process(const struct explore_case *c)
{
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if ( !pid )
    {
        bool good;

        prepare(c);
        good = explore(c);
        fflush(stdout);
        _exit(!good);
    }
    if ( pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
         WEXITSTATUS(status) > 1 )
    {
        printf("FAILED %s: the explorer itself died\n", c->name);
        return false;
    }
    return !status;
}

static bool in_list(const char *list, const char *name)
{
    size_t n = strlen(name);
    const char *p;

    for ( p = list; (p = strstr(p, name)) != NULL; p += n )
        if ( (p == list || p[-1] == ',') && (!p[n] || p[n] == ',') )
            return true;
    return false;
}

static bool wanted(const struct explore_case *c)
{
    if ( opt.only )
        return in_list(opt.only, c->name);
    if ( c->engine_only && !HAVE_GROUPS )
        return false;
    return !c->not_quick || opt.bounded || opt.thorough ||
           opt.strategy != DFS;
}

static int explore_all(void)
{
    unsigned int i, bad = 0, n = 0;

    for ( i = 0; i < explore_nr_cases; i++ )
    {
        const struct explore_case *c = &explore_cases[i];

        if ( !wanted(c) )
            continue;
        n++;
        bad += !in_process(c);
    }
    if ( !n )
        find_case(opt.only);
    return bad != 0;
}

static int replay_file(void)
{
    static struct schedule s KEEP;
    const struct explore_case *c = find_case(read_schedule(opt.replay, &s));

    prepare(c);
    return !replay(c, &s);
}

static int list_cases(void)
{
    unsigned int i, cpu;

    for ( i = 0; i < explore_nr_cases; i++ )
    {
        const struct explore_case *c = &explore_cases[i];

        printf("%-16s %u CPUs, %u group(s): %s;", c->name, c->nr_cpus,
               c->nr_nodes ?: 1, c->what);
        for ( cpu = 0; cpu < c->nr_cpus; cpu++ )
            printf(" [%s]", c->program[cpu] ?: "");
        printf("\n");
    }
    return 0;
}

static int usage(void)
{
    fputs("usage: explore [-c CASE,...] [-m sc|tso|weak] [-B STORES]\n"
          "               [-b BOUND | -T | -p | -r] [-n RUNS] [-s SEED] "
          "[-t SECONDS]\n"
          "               [-u] [-w FILE] [-v]\n"
          "       explore -f FILE\n"
          "       explore -l\n"
          "  -b  all schedules of up to BOUND preemptions (default: what takes a\n"
          "      few seconds for this case, -T: up to some minutes)\n"
          "  -p  PCT, -r random: RUNS schedules (default 10000) from SEED\n"
          "  -B  stores that a CPU can hold back (default 4, at most 8)\n"
          "  -u  try every order, also of independent steps\n"
          "  -w  write a failing schedule to FILE; -f replay it; -v show it\n"
          "  -l  list the cases\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int c;

    setvbuf(stdout, NULL, _IOLBF, 0);
    memory_init();
    while ( (c = getopt(argc, argv, "c:m:B:b:Tuprn:s:t:w:f:vl")) != -1 )
        switch ( c )
        {
        case 'c': opt.only = optarg; break;
        case 'm':
            if ( !set_model(optarg) )
                return usage();
            break;
        case 'B': memory_buffer = strtoul(optarg, NULL, 0); break;
        case 'b':
            opt.bound = strtoul(optarg, NULL, 0);
            opt.bounded = true;
            break;
        case 'T': opt.thorough = true; break;
        case 'u': choose_merge = false; break;
        case 'p': opt.strategy = PCT; break;
        case 'r': opt.strategy = RANDOM; break;
        case 'n': opt.runs = strtoul(optarg, NULL, 0); break;
        case 's': opt.seed = strtoull(optarg, NULL, 0); break;
        case 't': opt.seconds = strtoul(optarg, NULL, 0); break;
        case 'w': opt.write = optarg; break;
        case 'f': opt.replay = optarg; break;
        case 'v': opt.verbose = true; break;
        case 'l': return list_cases();
        default: return usage();
        }
    if ( optind != argc || memory_buffer < 1 || memory_buffer > MAX_BUFFER )
        return usage();
    return opt.replay ? replay_file() : explore_all();
}
