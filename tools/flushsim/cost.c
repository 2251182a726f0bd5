/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cost.c - read the table of a machine.
 *
 * Design: a line is "NAME VALUE SOURCE", # starts a comment.  SOURCE is a key
 * of the list of sources in docs/flushsim.md, or [E] for an estimate; it is
 * for the reader and for the sweep (bench.py).  Every cost is named once.
 */
#include "fs.h"

struct fs_costs fs_cost;

static const struct {
    const char *name;
    uint64_t *value;
} costs[] = {
#define FS_ENTRY(name) { #name, &fs_cost.name },
    FS_COSTS(FS_ENTRY)
#undef FS_ENTRY
};

static const struct {
    const char *name;
    unsigned int *value;
} shape[] = {
    { "sockets", &fs_topo.sockets }, { "cores", &fs_topo.cores },
    { "threads", &fs_topo.threads }, { "ccx_cores", &fs_topo.ccx_cores },
};

static bool percent(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && !strcmp(name + n - 4, "_pct");
}

static bool set_cost(bool *seen, const char *name, double value)
{
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(costs); i++ )
        if ( !strcmp(costs[i].name, name) )
        {
            if ( seen[i] )
                fs_fail("%s is there twice", name);
            seen[i] = true;
            *costs[i].value = percent(name) ? value : value * 1000;
            return true;
        }
    return false;
}

static bool set_shape(const char *name, double value)
{
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(shape); i++ )
        if ( !strcmp(shape[i].name, name) )
        {
            *shape[i].value = value;
            return true;
        }
    return false;
}

static void read_line(const char *line, bool *seen)
{
    char name[32], source[32];
    double value;
    int n = sscanf(line, "%31s %lf %31s", name, &value, source);

    if ( n <= 0 || name[0] == '#' )
        return;
    if ( n != 3 )
        fs_fail("not NAME VALUE SOURCE: %s", line);
    if ( !set_shape(name, value) && !set_cost(seen, name, value) )
        fs_fail("no such cost: %s", name);
}

void fs_cost_read(const char *path)
{
    FILE *file = fopen(path, "r");
    bool seen[ARRAY_SIZE(costs)] = { false };
    char line[256];
    unsigned int i;

    if ( !file )
        fs_fail("cannot read %s", path);
    while ( fgets(line, sizeof(line), file) )
        read_line(line, seen);
    fclose(file);
    for ( i = 0; i < ARRAY_SIZE(costs); i++ )
        if ( !seen[i] )
            fs_fail("%s does not give %s", path, costs[i].name);
}

void fs_cost_scale(const char *setting)
{
    char name[32];
    unsigned int factor, i;

    if ( sscanf(setting, "%31[a-z_0-9]=%u", name, &factor) != 2 )
        fs_fail("not NAME=PERCENT: %s", setting);
    for ( i = 0; i < ARRAY_SIZE(costs); i++ )
        if ( !strcmp(costs[i].name, name) )
        {
            *costs[i].value = *costs[i].value * factor / 100;
            return;
        }
    fs_fail("no such cost: %s", name);
}
