# SPDX-License-Identifier: GPL-2.0-only
"""Archives in cpio's newc format, for an initramfs.

Owner, times and inode numbers are always the same, so equal contents give
equal archives, and nothing here needs to be root.
"""

import os
import stat


class Archive:
    def __init__(self):
        self.parts, self.inode = [], 0

    def add(self, name, mode, data=b"", device=(0, 0)):
        self.inode += 1
        raw = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device,
                  len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields)
        self.parts += [pad(head + raw), pad(data)]

    def add_file(self, name, data, mode=0o644):
        self.add(name, stat.S_IFREG | mode, data)

    def add_tree(self, root):
        for folder, folders, files in os.walk(root):
            folders.sort()
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                mode = os.lstat(path).st_mode
                data = b""
                if stat.S_ISLNK(mode):
                    data = os.readlink(path).encode()
                elif stat.S_ISREG(mode):
                    with open(path, "rb") as file:
                        data = file.read()
                self.add(os.path.relpath(path, root), mode, data)

    def finish(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def pad(data):
    return data + b"\0" * (-len(data) % 4)
