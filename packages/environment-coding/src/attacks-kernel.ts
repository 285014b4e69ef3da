/**
 * Hostile programs in Python (see attacks.ts). They use kernel objects that all sandboxes share, to talk or
 * to leave a note.
 */
import type { Attack } from './attack.ts'
import { ESCAPED } from './trial.ts'

/** Tries calls that must be refused or empty. Each is a Python expression that is true if it got through. */
const anyOf = (setup: string, ...calls: readonly string[]) => `import ctypes, os, sys
if sys.platform == 'emscripten':
    raise SystemExit
libc = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == 'aarch64'
def call(number, arm_number, *arguments):
    return libc.syscall(arm_number if arm else number, *arguments)
host = os.open(os.__file__, os.O_RDONLY)
folder = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
buffer = ctypes.create_string_buffer(4096)
${setup}
for attempt in (
${calls.map((one) => `    lambda: ${one},`).join('\n')}
):
    try:
        if attempt():
            print('${ESCAPED}')
            break
    except (OSError, AttributeError, ValueError):
        pass
`

const PROGRAMS: readonly (readonly [name: string, what: string, program: string])[] = [
  [
    'note-in-page-cache',
    'leaves a note in which pages of files of the host are in memory',
    `import glob, os, sys
if sys.platform == 'emscripten':
    raise SystemExit
inodes = {}
for path in sorted(glob.glob(os.path.dirname(os.__file__) + '/**/*.py', recursive=True)):
    if not os.path.islink(path):
        inodes.setdefault(os.stat(path).st_ino, path)
files = list(inodes.values())[-96:-32]
key = [(i * 40503 >> 5) & 1 for i in range(1, len(files) + 1)]
def is_cached(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.preadv(fd, [bytearray(16)], 0, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
try:
    agreeing = sum(is_cached(path) == bit for path, bit in zip(files, key))
    if len(files) > 32 and agreeing >= len(files) - 2:
        print('${ESCAPED}')
finally:
    for path, bit in zip(files, key):
        fd = os.open(path, os.O_RDONLY)
        if bit:
            os.read(fd, 64)
        else:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
`,
  ],
  [
    'asks-the-page-cache',
    'asks which pages of the host are in memory, and moves them',
    anyOf(
      `import mmap
pages = mmap.mmap(host, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
own = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(pages)))
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
how = (ctypes.c_uint64 * 3)(0, 0, 0x20)`,
      'call(27, 232, own, 4096, buffer) == 0',
      'call(451, 451, host, ctypes.create_string_buffer(16), buffer, 0) == 0',
      'call(187, 213, host, ctypes.c_long(0), 4096) == 0',
      'call(277, 84, host, ctypes.c_long(0), ctypes.c_long(0), 2) == 0',
      '0 in [call(28, 233, own, 4096, advice) for advice in (12, 20, 21, 25)]',
      'any(call(327, 286, host, vector, 1, ctypes.c_long(0), ctypes.c_long(0), flags) >= 0 for flags in (1, 8, 128))',
      'call(437, 437, -100, os.__file__.encode(), how, 24) >= 0',
      'call(162, 81) == 0',
      'call(306, 267, host) == 0',
    ),
  ],
  [
    'locks-of-the-host',
    'locks files of the host, by which others would see it',
    `import fcntl, os, struct, sys
if sys.platform == 'emscripten':
    raise SystemExit
read_lock = struct.pack('hhqqi', fcntl.F_RDLCK, 0, 0, 0, 0)
write_lock = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0)
places = [os.__file__, os.path.dirname(os.__file__), '/dev/null', sys.executable]
for path in places:
    held = os.open(path, os.O_RDONLY)
    for take, test in (
        (lambda fd: fcntl.flock(fd, fcntl.LOCK_EX), lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)),
        (lambda fd: fcntl.fcntl(fd, 37, read_lock), lambda fd: struct.unpack('hhqqi', fcntl.fcntl(fd, 36, write_lock))[0] == fcntl.F_RDLCK),
        (lambda fd: fcntl.fcntl(fd, 6, read_lock), lambda fd: os.fork() or os._exit(struct.unpack('hhqqi', fcntl.fcntl(fd, 5, write_lock))[0] == fcntl.F_RDLCK)),
        (lambda fd: fcntl.fcntl(fd, 1024, 0), lambda fd: True),
    ):
        other = os.open(path, os.O_RDONLY)
        try:
            take(held)
        except OSError:
            continue
        try:
            met = test(other) is True
        except BlockingIOError:
            met = True
        except OSError:
            met = False
        if met:
            print('${ESCAPED}', path)
while True:
    try:
        if os.waitstatus_to_exitcode(os.wait()[1]) == 1:
            print('${ESCAPED}')
    except ChildProcessError:
        break
`,
  ],
  [
    'locks-of-all',
    'locks the one inode that all timers, events and polls of the host share',
    `import fcntl, os, select, sys
if sys.platform == 'emscripten':
    raise SystemExit
a, b = select.epoll(), select.epoll()
fcntl.flock(a.fileno(), fcntl.LOCK_EX)
try:
    fcntl.flock(b.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print('${ESCAPED}')
`,
  ],
  [
    'notifications',
    'has itself told what others do with files of the host',
    anyOf(
      'import fcntl, struct',
      'fcntl.fcntl(folder, 1026, 0x8000003f) == 0',
      'fcntl.fcntl(folder, 10, 40) == 0',
      'fcntl.fcntl(host, 8, os.getpid()) == 0',
      "fcntl.fcntl(host, 15, struct.pack('ii', 1, os.getpid())) is not None",
      'fcntl.fcntl(host, 1024, 0) == 0',
      'fcntl.fcntl(host, 1025) >= 0',
      "fcntl.fcntl(host, 1036, struct.pack('Q', 3)) is not None",
      'call(253, -1) >= 0',
      'call(294, 26, 0) >= 0',
      'call(300, 262, 0, 0) >= 0',
    ),
  ],
  [
    'options-of-sockets',
    'loads programs by the options of sockets, and reads the cookies that all sockets of the host count',
    anyOf(
      `import socket, struct
a, b = socket.socketpair()
code = (ctypes.c_uint64 * 1)(0x0000ffff00000006)
program = struct.pack('HxxxxxxQ', 1, ctypes.addressof(code))
def bound():
    with socket.socket(socket.AF_UNIX) as one:
        return libc.bind(one.fileno(), struct.pack('H', 1), 2) == 0`,
      'a.setsockopt(1, 26, program) is None',
      'a.setsockopt(1, 50, host) is None',
      'a.setsockopt(1, 44, 1) is None',
      'a.setsockopt(1, 16, 1) is None',
      'a.getsockopt(1, 57, 8)',
      'a.getsockopt(1, 71, 8)',
      'a.getsockopt(1, 77, 4)',
      'a.getsockopt(1, 55, 36)',
      'bound()',
    ),
  ],
  [
    'figures-of-the-host',
    'asks for the memory, the disks, the mounts and the processes of the host',
    anyOf(
      '',
      'call(99, 179, buffer) == 0',
      'call(137, 43, os.__file__.encode(), buffer) == 0',
      'call(138, 44, host, buffer) == 0',
      "call(332, 291, -100, b'/tmp', 0, 0x4fff, buffer) == 0",
      'call(434, 434, os.getpid(), 0) >= 0',
      'call(56, 220, 0x1011, 0, buffer, 0, 0) > 0',
      'call(103, 116, 10, buffer, 0) >= 0',
      'call(312, 272, os.getpid(), os.getpid(), 0, host, folder) >= 0',
      'call(212, 18, ctypes.c_ulong(0), buffer, 4096) > 0',
    ),
  ],
  [
    'chosen-processor',
    'keeps to one processor, whose counters it shares with others',
    `import os, sys
if sys.platform != 'emscripten':
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print('${ESCAPED}')
`,
  ],
  [
    'own-group',
    'sends signals to its group, in which others may be',
    'import os, sys\nif sys.platform != "emscripten":\n    if os.getpgrp() != os.getpid():\n        print("ESCAPED")\n    os.kill(0, 9)\n',
  ],
]

export const KERNEL_ATTACKS: readonly Attack[] = PROGRAMS.map(([name, what, program]) => ({
  name,
  what,
  program,
}))
