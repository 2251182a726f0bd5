/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self test of remote flushes: option, debug key, and the crew.
 *
 * Design
 * ------
 * The test is a list of parts.  In each, all CPUs work at the same time: a
 * worker per CPU, a tasklet in the context of the idle vCPU, calls the part's
 * step() until there is no more to do.  The last worker to stop judges the
 * part, and starts the next one.  So nobody ever waits for the test, and it
 * takes CPUs as they come and go.
 *
 * At boot, once all CPUs are up and before there is a domain, the test has the
 * machine for itself, and boot waits for it.  CPU0 is busy with booting then,
 * and runs its worker by hand.  On the debug key the test runs in the
 * background: workers pause after a few steps, and a timer (the pacer) wakes
 * them, such that domains run in between.
 *
 * A CPU that goes offline leaves its tasklet to another CPU, where the worker
 * notices, and is taken out.  A CPU that comes online may be taken in.
 *
 * Output is TAP with a prefix, and ends with one line: "result: PASS" or
 * "result: FAIL", and the seed.
 *
 * Locking: none.  `running` says who may start a run; `busy` counts the active
 * workers, and whoever takes it to zero owns everything until the next part's
 * workers are scheduled.  docs/misc/flush-test.pandoc is the user's manual.
 */

#include <xen/cpu.h>
#include <xen/init.h>
#include <xen/keyhandler.h>
#include <xen/param.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/string.h>
#include <xen/timer.h>
#include <asm/flush-test.h>
#include <asm/setup.h>

#include "private.h"

/* In the background. */
#define STEPS_PER_TURN 4
#define PAUSE          MILLISECS(10)

#define PROGRESS       SECONDS(5)

bool __read_mostly flush_test_running;
struct worker **__read_mostly workers;

static struct part *const parts[] = {
    &torture_part, &order_part, &oracle_part, &fairness_part, &bench_part,
};

static bool __read_mostly at_boot = true;   /* or on the debug key only */
static bool __read_mostly seed_given;
static unsigned int __read_mostly seed;

static bool __read_mostly background;
static bool __read_mostly stop;
static unsigned int running;                /* test_and_set_bit() by starter */
static atomic_t busy;
static atomic_t used;                       /* of the part's amount */
static unsigned int current_part;           /* index */
static unsigned int number, failed;         /* parts judged so far */
static s_time_t next_progress;
static struct timer pacer;

/*
 * Option
 */

static char __initdata bad_item[64];
static bool __initdata given, bad;

/* What follows the colon of NAME:NUMBER; *@n stays if there is none. */
static bool __init parse_number(const char *colon, unsigned int *n)
{
    const char *end;

    if ( !colon )
        return true;

    *n = simple_strtoul(colon + 1, &end, 0);

    return end != colon + 1 && !*end;
}

static struct part *__init find_part(const char *name, size_t len)
{
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(parts); i++ )
        if ( !strncmp(name, parts[i]->name, len) && !parts[i]->name[len] )
            return parts[i];

    return NULL;
}

static void __init want_all(void)
{
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(parts); i++ )
        parts[i]->wanted = true;
}

/* One item of the list, NAME or NAME:NUMBER, without the comma. */
static bool __init parse_item(const char *s)
{
    const char *colon = strchr(s, ':');
    size_t len = colon ? colon - s : strlen(s);
    struct part *part = find_part(s, len);

    if ( part )
    {
        part->wanted = true;
        return parse_number(colon, &part->amount);
    }

    if ( colon && len == 4 && !strncmp(s, "seed", len) )
    {
        seed_given = true;
        return parse_number(colon, &seed);
    }

    if ( !strcmp(s, "all") )
        want_all();
    else if ( !strcmp(s, "key") )
        at_boot = false;
    else
        return false;

    return true;
}

static int __init cf_check parse_flush_test(const char *s)
{
    given = true;

    for ( ; ; )
    {
        const char *comma = strchr(s, ',');
        size_t len = comma ? comma - s : strlen(s);
        char item[sizeof(bad_item)];

        strlcpy(item, s, min(len + 1, sizeof(item)));
        if ( !parse_item(item) && !bad )
        {
            bad = true;
            strlcpy(bad_item, item, sizeof(bad_item));
        }

        if ( !comma )
            return 0;
        s = comma + 1;
    }
}
custom_param("flush-test", parse_flush_test);

/*
 * Services to the parts
 */

struct worker *next_worker(unsigned int cpu)
{
    for ( ; cpu < nr_cpu_ids; cpu++ )
        if ( workers[cpu] )
            return workers[cpu];

    return NULL;
}

bool take_one(const struct part *part)
{
    unsigned int n;

    if ( read_atomic(&stop) )
        return false;

    n = atomic_inc_return(&used);

    return !part->amount || n <= part->amount;
}

bool is_over(const struct part *part)
{
    return read_atomic(&stop) ||
           (part->amount && taken(part) >= part->amount);
}

bool in_background(void)
{
    return background;
}

unsigned int taken(const struct part *part)
{
    unsigned int n = atomic_read(&used);

    return part->amount && n > part->amount ? part->amount : n;
}

/* Marsaglia's xorshift with 64 bits of state (2003). */
unsigned int random_below(struct worker *w, unsigned int n)
{
    uint64_t x = w->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    w->random = x;

    return (x >> 32) % n;
}

void random_delay(struct worker *w)
{
    unsigned int n = random_below(w, 64);

    /* Mostly none, now and then long enough for others to get in between. */
    for ( n = n < 48 ? 0 : n - 48; n; n-- )
        cpu_relax();
}

/*
 * Crew
 */

static void start_part(void);

static struct part *this_part(void)
{
    return parts[current_part];
}

static void end_run(void)
{
    write_atomic(&flush_test_running, false);
    if ( background )
        stop_timer(&pacer);

    tap("1..%u", number);
    if ( failed )
        tap("result: FAIL seed %u (%u of %u parts failed)", seed, failed,
            number);
    else
        tap("result: PASS seed %u", seed);

    /* Pairs with test_and_set_bit() in key_fn(). */
    smp_wmb();
    clear_bit(0, &running);
}

static void judge(bool ok, const char *text)
{
    number++;
    if ( !ok )
        failed++;
    tap("%s %u - %s: %s", ok ? "ok" : "not ok", number, this_part()->name,
        text);
}

/* All workers stopped: this CPU owns the state. */
static void end_part(void)
{
    char text[100];
    enum verdict verdict = this_part()->end(this_part(), text, sizeof(text));

    if ( verdict != PART_AGAIN )
    {
        judge(verdict == PART_OK, text);
        current_part++;
    }

    start_part();
}

static void leave(struct worker *w)
{
    write_atomic(&w->active, false);
    if ( atomic_dec_and_test(&busy) )
        end_part();
}

static void progress(const struct worker *w)
{
    struct part *part = this_part();
    s_time_t now;

    if ( w->cpu != cpumask_first(&cpu_online_map) )
        return;

    now = NOW();
    if ( now < next_progress )
        return;

    next_progress = now + PROGRESS;
    if ( part->amount )
        note("%s: %u of %u", part->name, taken(part), part->amount);
    else
        note("%s: %u", part->name, taken(part));
}

/* A worker's turn.  Returns whether it has more to do, later. */
static bool turn(struct worker *w)
{
    unsigned int steps = 0;

    progress(w);

    do {
        if ( !this_part()->step(this_part(), w) )
        {
            leave(w);
            return false;
        }
    } while ( !softirq_pending(w->cpu) &&
              !(background && ++steps == STEPS_PER_TURN) );

    return true;
}

/* Let it go on where it belongs, if it can. */
static void go_home(struct worker *w)
{
    if ( cpu_online(w->cpu) )
        tasklet_schedule_on_cpu(&w->tasklet, w->cpu);
    else
        leave(w);
}

static void cf_check worker_fn(void *data)
{
    struct worker *w = data;

    if ( smp_processor_id() != w->cpu )
    {
        /* Its CPU went offline, and may be back already. */
        go_home(w);
        return;
    }

    if ( !turn(w) )
        return;

    if ( background )
        write_atomic(&w->paused, true);
    else
        tasklet_schedule(&w->tasklet);
}

static void cf_check pacer_fn(void *data)
{
    struct worker *w;

    for_each_worker ( w )
    {
        if ( !read_atomic(&w->paused) )
            continue;

        write_atomic(&w->paused, false);
        go_home(w);
    }

    if ( read_atomic(&flush_test_running) )
        set_timer(&pacer, NOW() + PAUSE);
}

/* While booting CPU0 has no tasklets: run_by_hand() does its work. */
static void put_to_work(struct worker *w)
{
    write_atomic(&w->active, true);
    if ( background || w->cpu )
        tasklet_schedule_on_cpu(&w->tasklet, w->cpu);
}

static bool next_part(void)
{
    while ( current_part < ARRAY_SIZE(parts) && !this_part()->wanted )
        current_part++;

    return current_part < ARRAY_SIZE(parts) && !read_atomic(&stop);
}

static void reset_counts(void)
{
    struct worker *w;

    for_each_worker ( w )
    {
        w->present = false;
        w->done = w->time = 0;
    }
}

static void start_part(void)
{
    unsigned int cpu;
    int rc;

    for ( ; ; current_part++ )
    {
        if ( !next_part() )
        {
            end_run();
            return;
        }

        reset_counts();
        rc = this_part()->begin(this_part());
        if ( !rc )
            break;
        note("error %d", rc);
        judge(false, "could not be set up");
    }

    atomic_set(&used, 0);

    /* One more, so that nobody is the last before all have been started. */
    atomic_set(&busy, 1);
    for_each_online_cpu ( cpu )
        if ( workers[cpu] )
        {
            atomic_inc(&busy);
            put_to_work(workers[cpu]);
        }
    if ( atomic_dec_and_test(&busy) )
        end_part();
}

static unsigned int wanted_parts(void)
{
    unsigned int i, n = 0;

    for ( i = 0; i < ARRAY_SIZE(parts); i++ )
        n += parts[i]->wanted;

    return n;
}

/* The caller has set bit 0 of running. */
static void start_run(void)
{
    struct worker *w;

    if ( !seed_given )
        seed = NOW();
    for_each_worker ( w )
        w->random = (seed + 1) * 0x9e3779b97f4a7c15UL ^
                    (w->cpu + 1) * 0xbf58476d1ce4e5b9UL;

    tap("TAP version 13");
    note("seed %u, %u CPUs%s", seed, num_online_cpus(),
         background ? ", in the background" : "");

    stop = false;
    number = failed = current_part = 0;
    next_progress = NOW() + PROGRESS;
    write_atomic(&flush_test_running, true);
    if ( background )
        set_timer(&pacer, NOW() + PAUSE);

    start_part();
}

/*
 * Boot and debug key
 */

static void cf_check key_fn(unsigned char key)
{
    if ( test_and_set_bit(0, &running) )
    {
        write_atomic(&stop, true);
        return;
    }

    background = true;
    start_run();
}

/*
 * busy is 0 while nobody works, and while a part is being judged.  Otherwise
 * adding to it keeps the part from ending.
 */
static void join(struct worker *w)
{
    if ( !atomic_add_unless(&busy, 1, 0) )
        return;

    if ( this_part()->joinable && !read_atomic(&w->active) )
        put_to_work(w);
    else if ( atomic_dec_and_test(&busy) )
        end_part();
}

static int cf_check cpu_callback(struct notifier_block *nfb,
                                 unsigned long action, void *hcpu)
{
    struct worker *w = workers[(unsigned long)hcpu];

    if ( action == CPU_ONLINE && w )
        join(w);

    return NOTIFY_DONE;
}

static struct notifier_block cpu_nfb = {
    .notifier_call = cpu_callback,
};

static int __init make_worker(unsigned int cpu)
{
    struct worker *w = xzalloc(struct worker);

    if ( !w || !zalloc_cpumask_var(&w->mask) ||
         !zalloc_cpumask_var(&w->named) )
        return -ENOMEM;

    w->cpu = cpu;
    tasklet_init(&w->tasklet, worker_fn, w);
    workers[cpu] = w;

    return torture_init(w);
}

static int __init make_workers(void)
{
    unsigned int cpu;
    int rc;

    workers = xzalloc_array(struct worker *, nr_cpu_ids);
    if ( !workers )
        return -ENOMEM;

    for_each_present_cpu ( cpu )
        if ( (rc = make_worker(cpu)) != 0 )
            return rc;

    return oracle_init();
}

/* CPU0's turns, until the run is over. */
static void __init run_by_hand(void)
{
    struct worker *w = workers[0];

    while ( read_atomic(&flush_test_running) )
    {
        if ( read_atomic(&w->active) )
            turn(w);
        process_pending_softirqs();
        cpu_relax();
    }
}

static int __init cf_check flush_test_init(void)
{
    int rc;

    if ( bad )
        printk(XENLOG_WARNING
               "WARNING: flush-test=%s is not known, not testing\n", bad_item);
    if ( !given || bad )
        at_boot = false;
    if ( !wanted_parts() )
        torture_part.wanted = order_part.wanted = oracle_part.wanted =
            fairness_part.wanted = true;

    rc = make_workers();
    if ( rc )
    {
        printk(XENLOG_ERR "flush-test: cannot be set up: %d\n", rc);
        return rc;
    }

    init_timer(&pacer, pacer_fn, NULL, 0);
    register_cpu_notifier(&cpu_nfb);
    register_keyhandler('k', key_fn, "run or stop the flush self test", 0);

    if ( at_boot && !test_and_set_bit(0, &running) )
    {
        start_run();
        run_by_hand();
    }

    return 0;
}
__initcall(flush_test_init);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
