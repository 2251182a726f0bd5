# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Common parts of the shell scripts. Source it after setting `set -eu`:
#
#     . "$(dirname "$0")/lib.sh"
#
# Sets:    TOP        the repository
#          BUILD      $TOP/build, where everything generated goes
#          CACHE_DIR  downloads and compiler cache, shared by clones
#                     (environment; default under the user's cache folder)
# Reads:   BASE_PIN   another pin file than config/base.pin (environment)
# Needs nothing but a shell and the essential packages of Debian.

PROG=${0##*/}

die() {
    echo "$PROG: $*" >&2
    exit 1
}

note() {
    echo "$PROG: $*" >&2
}

# Set TOP and BUILD. A path with a blank in it breaks make's rules.
find_top() {
    TOP=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
    case $TOP in
    *[[:space:]]*)
        die "the path '$TOP' has a blank in it; move the repository" ;;
    esac
    BUILD=$TOP/build
}

find_cache() {
    if [ -z "${CACHE_DIR:-}" ]; then
        if [ -z "${HOME:-}" ]; then
            HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
            export HOME
        fi
        CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/xen-numa
    fi
    case $CACHE_DIR in
    /*) ;;
    *) CACHE_DIR=$PWD/$CACHE_DIR ;;
    esac
    mkdir -p "$CACHE_DIR" 2>/dev/null ||
        die "cannot create CACHE_DIR=$CACHE_DIR; set another CACHE_DIR"
    export CACHE_DIR
}

# pin KEY: the value of KEY in the pin file; empty if it has none.
pin() {
    _file=${BASE_PIN:-$TOP/config/base.pin}
    [ -r "$_file" ] || die "no pin file $_file"
    sed -n "s/^$1=//p" "$_file" | head -n 1
}

# need COMMAND PACKAGE: stop with the install line if COMMAND is missing.
need() {
    command -v "$1" >/dev/null 2>&1 ||
        die "$1 is missing; run automation/scripts/deps" \
            "or: apt-get install --no-install-recommends $2"
}

# progress MESSAGE COMMAND...: run a command of more than a few seconds, with
# a sign of life now and then; on a failure, show the end of what it printed.
progress() {
    _what=$1
    shift
    _log=$(mktemp)
    note "$_what"
    (
        _s=0
        while sleep 15 >/dev/null 2>&1; do
            _s=$((_s + 15))
            note "... $_s s"
        done
    ) &
    _life=$!
    _rc=0
    "$@" >"$_log" 2>&1 || _rc=$?
    kill "$_life" 2>/dev/null || true
    wait "$_life" 2>/dev/null || true
    [ "$_rc" -eq 0 ] || tail -n 15 "$_log" >&2
    rm -f "$_log"
    return "$_rc"
}

# with_lock FILE COMMAND...: one at a time; says so if it has to wait.
with_lock() {
    _lock=$1
    shift
    (
        flock -n 9 || {
            note "waiting for another run (lock $_lock)"
            flock 9
        }
        "$@" 9>&-
    ) 9>"$_lock"
}

find_top
find_cache
