# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Common parts of the tests of the tooling. Source it after `set -eu`:
#
#     . "$(dirname "$0")/lib.sh"
#
# Sets: NAME (the test's), TOP, WORK (a scratch folder, removed at the end).

NAME=${TEST:-${0##*/}}
TOP=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
WORK=$(mktemp -d)
# Another user may run a part of the test.
chmod 755 "$WORK"
trap 'rm -rf "$WORK"' EXIT
trap 'exit 1' INT TERM
# Nothing of the caller's decides what is tested.
unset XEN_TREE XEN_DSC BASE_PIN BUILD 2>/dev/null || true

fail() {
    echo "FAIL: $*"
    exit 1
}

pass() {
    echo "PASS: $NAME"
}

step() {
    echo "--- $*"
}

# must COMMAND...: it succeeds; all it prints is in $WORK/out.
must() {
    echo "+ $*"
    if ! "$@" >"$WORK/out" 2>&1; then
        cat "$WORK/out"
        fail "this must succeed: $*"
    fi
    cat "$WORK/out"
}

# must_fail COMMAND...: it does not succeed.
must_fail() {
    echo "+ $* (must fail)"
    if "$@" >"$WORK/out" 2>&1; then
        cat "$WORK/out"
        fail "this must fail: $*"
    fi
    cat "$WORK/out"
}

# says TEXT: the last command printed TEXT, on one line.
says() {
    grep -qF -- "$1" "$WORK/out" || fail "it does not say: $1"
}

says_not() {
    ! grep -qF -- "$1" "$WORK/out" || fail "it must not say: $1"
}

# lines N: the last command printed N lines, notes on left-out files aside.
lines() {
    _n=$(grep -vc ': ignored' "$WORK/out" || true)
    [ "$_n" -eq "$1" ] || fail "it must say $1 line(s), not $_n"
}

same_file() {
    cmp "$1" "$2" || fail "$1 is not $2"
}

# A small repository with our scripts at $REPO and its cache beside it.
new_repo() {
    REPO=$WORK/repo
    CACHE_DIR=$WORK/cache
    export CACHE_DIR
    mkdir -p "$REPO/automation" "$REPO/patches" "$REPO/xen"
    cp -R "$TOP/automation/scripts" "$REPO/automation/"
    cp -R "$TOP/config" "$REPO/"
    : >"$REPO/patches/series"
    SERIES=$REPO/automation/scripts/series
    FETCH=$REPO/automation/scripts/fetch-base
}

# A small base tree at $1.
new_base() {
    mkdir -p "$1/xen/common" "$1/tools/misc"
    echo 'all: ;' >"$1/xen/Makefile"
    seq 1 40 | sed 's/^/line /' >"$1/xen/common/numbers.c"
    printf 'one\ntwo\nthree\n' >"$1/xen/common/words.c"
    printf 'int old;\n' >"$1/tools/misc/tool.c"
    printf '#!/bin/sh\n' >"$1/xen/script"
    chmod 755 "$1/xen/script"
    ln -s script "$1/xen/link"
    # The base's own rules ignore files that it has.
    printf '*.c\n' >"$1/.gitignore"
}

# new_patch NAME FILE OLD NEW [SUBJECT]: a patch of the repository that turns
# line OLD of FILE in the base into NEW. With PREVIOUS set, FILE is as that
# tree has it.
new_patch() {
    _from=${PREVIOUS:-$REPO/build/base}
    rm -rf "$WORK/a" "$WORK/b"
    mkdir -p "$WORK/a/$(dirname "$2")" "$WORK/b/$(dirname "$2")"
    cp "$_from/$2" "$WORK/a/$2"
    sed "s/^$3\$/$4/" "$WORK/a/$2" >"$WORK/b/$2"
    {
        echo 'From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001'
        echo 'From: A Tester <tester@example.invalid>'
        echo 'Date: Mon, 2 Nov 2026 10:00:00 +0100'
        echo "Subject: [PATCH] ${5:-test: change $3}"
        echo
        echo "Because $3 is wrong."
        echo '---'
        echo
        echo "diff --git a/$2 b/$2"
        (cd "$WORK" && diff -U1 "a/$2" "b/$2") | sed 's/\t.*//'
        echo '-- '
        echo '2.39.2'
    } >"$REPO/patches/$1"
}
