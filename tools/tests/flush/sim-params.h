/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-params.h - what Xen's parse_params() needs beside custom parameters.
 *
 * Design: the code under test has custom parameters only; the other types get
 * just enough to compile.
 */
#ifndef FLUSH_TEST_SIM_PARAMS_H
#define FLUSH_TEST_SIM_PARAMS_H

static inline int assign_integer_param(const struct kernel_param *param,
                                       uint64_t val)
{
    BUG();
    return 0;
}

static inline long long simple_strtoll(const char *s, const char **end,
                                       unsigned int radix)
{
    return strtoll(s, (char **)end, radix);
}

static inline uint64_t parse_size_and_unit(const char *s, const char **end)
{
    return strtoull(s, (char **)end, 0);
}

static inline int parse_bool(const char *s, const char *e)
{
    return -1;
}

int xen_parse_params(const char *cmdline, const struct kernel_param *start,
                     const struct kernel_param *end);

#endif /* FLUSH_TEST_SIM_PARAMS_H */
