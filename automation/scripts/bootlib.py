# SPDX-License-Identifier: GPL-2.0-only
"""Boot Xen with Linux as dom0 in QEMU; used by boot, storm and tests/boot.

Machine   one boot of a Topology: starts QEMU, hands out the serial console's
          lines, knows when dom0 is up and how its command ended, and always
          cleans up.

Environment: BUILD, XEN (hypervisor), QEMU (program), QEMU_THREAD (single or
multi, instead of what the topology says).  Everything generated is below
BUILD.
"""

import codecs
import ctypes
import json
import os
import re
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import newc
from topology import TOP, BootError, Topology, topology_names  # noqa: F401

BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(TOP, "build"))

DOM0_MB = 512          # Linux, the tools, and the load program
DOM0_MB_PER_CPU = 4
POWER_OFF_SECONDS = 90


# --- one boot ---------------------------------------------------------------

def die_with_parent():
    """In the child: even kill -9 of the script leaves no QEMU behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def exit_on_signals():
    """Turn the usual signals into SystemExit, so that clean-up runs."""
    def leave(number, _frame):
        raise SystemExit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


def hypervisor():
    path = os.environ.get("XEN") or os.path.join(BUILD, "xen-debug", "xen")
    if not os.path.isfile(path):
        raise BootError("no hypervisor at %s: run make, or set XEN="
                        % os.path.relpath(path))
    return os.path.abspath(path)


def dom0_file(name):
    path = os.path.join(BUILD, "dom0", name)
    if not os.path.isfile(path):
        raise BootError("no %s: run automation/scripts/make-dom0"
                        % os.path.relpath(path))
    return path


class Machine:
    """One QEMU.  Use it in a with statement.

    command   what dom0 runs (sh); None: an interactive shell
    files     further files for dom0, {path: bytes}
    log       where the serial console is kept
    qemu      further arguments for QEMU
    reboots   a reset boots again; else QEMU ends
    """

    def __init__(self, topology, log, command=None, xen_args="",
                 dom0_args="", files=None, qemu=(), reboots=False):
        self.topology, self.log, self.command = topology, log, command
        self.xen_args, self.dom0_args = xen_args, dom0_args
        self.files = files or {}
        self.qemu, self.reboots = list(qemu), reboots
        self.token = secrets.token_hex(4)
        self.up = False
        self.powered_off = False   # by itself, in time, after the command
        self.status = None       # dom0's command's exit status
        self.started = self.ended = None
        self.process = self.folder = None

    # What QEMU gets

    def write_initramfs(self, path):
        """dom0's image, and behind it a small one with this boot's files."""
        extra = newc.Archive()
        extra.add_file("dom0-token", self.token.encode() + b"\n")
        if self.command is not None:
            extra.add_file("dom0-cmd", self.command.encode() + b"\n")
        for name, data in self.files.items():
            extra.add_file(name.lstrip("/"), data, 0o755)
        with open(path, "wb") as out:
            with open(dom0_file("initramfs.gz"), "rb") as file:
                shutil.copyfileobj(file, out)
            out.write(b"\0" * (-out.tell() % 4))
            out.write(extra.finish())

    def xen_command_line(self):
        # Programs in PV domains crashed now and then on these machines: static
        # busybox, always at the same instruction, with upstream's Xen as well
        # as with ours. None was seen since the FPU is switched eagerly, which
        # the console tells by "Support for PV VMs: EAGER_FPU". Lazy switching
        # under TCG is the suspect, not the proven cause.
        dom0 = DOM0_MB + DOM0_MB_PER_CPU * sum(self.topology.cpus)
        common = ("console=com1 com1=115200 loglvl=all guest_loglvl=all "
                  "conring_size=4M spec-ctrl=eager-fpu "
                  "dom0_mem=%dM,max:%dM" % (dom0, dom0))
        return " ".join(filter(None, (common, self.topology.xen,
                                      self.xen_args)))

    def qemu_command(self, chardev):
        thread = os.environ.get("QEMU_THREAD") or self.topology.thread
        if thread not in ("single", "multi"):
            raise BootError("QEMU_THREAD must be single or multi", 2)
        linux = "vmlinuz console=hvc0 panic=1 " + self.dom0_args
        return [os.environ.get("QEMU") or "qemu-system-x86_64",
                "-accel", "tcg,thread=" + thread,
                "-machine", "q35",
                *self.topology.qemu_args(),
                "-nodefaults", "-display", "none",
                *([] if self.reboots else ["-no-reboot"]),
                *self.qemu,
                "-qmp", "unix:qmp,server=on,wait=off",
                "-chardev", chardev, "-serial", "chardev:console",
                "-kernel", "xen", "-append", self.xen_command_line(),
                "-initrd", linux.strip().replace(",", ",,")
                + ",initramfs"]

    # Life

    def __enter__(self):
        os.makedirs(os.path.dirname(self.log), exist_ok=True)
        scratch = os.path.join(BUILD, "boot")
        os.makedirs(scratch, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix=".run-", dir=scratch)
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, chardev, **kw):
        os.symlink(hypervisor(), os.path.join(self.folder, "xen"))
        os.symlink(dom0_file("vmlinuz"), os.path.join(self.folder, "vmlinuz"))
        self.write_initramfs(os.path.join(self.folder, "initramfs"))
        self.started = time.monotonic()
        try:
            self.process = subprocess.Popen(
                self.qemu_command(chardev), cwd=self.folder,
                preexec_fn=die_with_parent, **kw)
        except FileNotFoundError:
            raise BootError("qemu-system-x86_64 is missing: run "
                            "automation/scripts/deps boot") from None

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.started and self.ended is None:
            self.ended = time.monotonic()

    def qmp(self, *commands):
        """Run commands of QEMU's monitor protocol; their return values."""
        # By way of /proc, as a socket's path may have no more than 107 bytes.
        folder = os.open(self.folder, os.O_PATH)
        try:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(30)
                sock.connect("/proc/self/fd/%d/qmp" % folder)
                with sock.makefile("rw") as stream:
                    json.loads(stream.readline())
                    return [self.qmp_command(stream, command) for command
                            in ("qmp_capabilities",) + commands][1:]
        except (OSError, ValueError) as error:
            raise BootError("QEMU's monitor: %s" % error) from None
        finally:
            os.close(folder)

    @staticmethod
    def qmp_command(stream, command):
        stream.write(json.dumps({"execute": command}) + "\n")
        stream.flush()
        while True:
            answer = json.loads(stream.readline())
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise BootError("QEMU's monitor: %s: %s"
                                % (command, answer["error"].get("desc")))

    def elapsed(self):
        return (self.ended or time.monotonic()) - self.started

    def interactive(self):
        """The console on this terminal; Ctrl-A x ends it."""
        self.start("stdio,id=console,mux=on,signal=off,logfile=" +
                   os.path.abspath(self.log).replace(",", ",,"))
        self.process.wait()

    def read_chunks(self, timeout):
        """Bytes from the console as they come; b"" each second without."""
        deadline = self.started + timeout
        pipe = self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                if now > deadline:
                    raise BootError(
                        "%s within %d s: see %s" %
                        ("dom0's command did not end" if self.up else
                         "dom0 did not come up", timeout,
                         os.path.relpath(self.log)), 124)
                if not selector.select(min(1, deadline - now + 0.01)):
                    yield b""
                    continue
                data = os.read(pipe.fileno(), 65536)
                if not data:
                    return
                yield data
                if self.status is not None:
                    deadline = min(deadline,
                                   time.monotonic() + POWER_OFF_SECONDS)

    def note_marker(self, line):
        found = re.search(r"dom0: %s (up|exit (\d+))" % self.token, line)
        if found and found.group(2):
            self.status = int(found.group(2))
        elif found:
            self.up = True

    def run(self, timeout, on_line=None, on_data=None):
        """Run to the end; the command's status.  BootError if none came.

        on_line(text) gets each line of the console, None once a second.
        """
        self.start("stdio,id=console,signal=off", stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        with open(self.log, "wb") as log:
            try:
                for data in self.read_chunks(timeout):
                    log.write(data)
                    log.flush()
                    if on_data:
                        on_data(data)
                    *lines, rest = (rest + decoder.decode(data)).split("\n")
                    for line in map(str.rstrip, lines):
                        self.note_marker(line)
                        if on_line:
                            on_line(line)
                    if on_line and not data:
                        on_line(None)
                self.powered_off = self.process.wait() == 0
            except BootError:
                # Everything was said, only the power stayed on.
                if self.status is None:
                    raise
        self.stop()
        self.ended = time.monotonic()
        if self.status is None:
            raise BootError("the machine stopped before dom0's command had "
                            "ended: see %s" % os.path.relpath(self.log))
        return self.status
