/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report.h - printing.
 *
 * Design: see report.c.
 */
#ifndef FLUSHSIM_REPORT_H
#define FLUSHSIM_REPORT_H

#include "load.h"

/* @lines: how many of the lines that were waited for most. */
void fs_report(struct fs_result *r, uint64_t seed, unsigned int lines);

#endif /* FLUSHSIM_REPORT_H */
