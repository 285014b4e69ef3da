"""Runs programs against tests inside a sandbox: one fork and one process namespace for each test. Needs Linux 5.10 and
Python 3.9.

No program runs in this process, and nothing that a program wrote enters this process's heap, which later tests inherit:
their inputs and outputs pass through one buffer that no child has. A test's processes see no /proc, live in a namespace
in which this process has no number, belong to another user where there are two, hold no capability, are filtered
(seccomp), and have a file system of their own for the time of the test. When the first of them is gone, the kernel has
ended all the others.

Input (descriptor 0), big endian. Once: u32 size, filter (BPF); u32 program's user; u32 further paths, a u16 size and text each.
Then frames:
  P  u32 x 8 (CPU ms, wall ms, memory MB, output bytes, processes, file MB, address space MB or 0, argument count),
     arguments as u16 size and text each, u32 size, program. Without arguments the program is Python, run in the fork
     itself; else the first is the path of the file that it is put in, and the others are what is executed.
  Q  the same of the program's partner in conversations.
  T  u32 index, u32 size, standard input.
  C  u32 index, u32 size, text: a conversation. What each writes is what the other reads; the partner reads the text first.
Output (descriptor 1): one byte R when ready; for each test the struct RESULT, standard output, tail of standard error; for
a conversation two of them, the program's and its partner's, without standard output.
"""
import atexit
import builtins
import ctypes
import fcntl
import gc
import mmap
import os
import resource
import select
import struct
import sys
import time

import _sitebuiltins
import _thread

# The room for a stack is given when a program is executed: as much as there may be, for the tests' own limits (become_program).
_, most_stack = resource.getrlimit(resource.RLIMIT_STACK)
if resource.getrlimit(resource.RLIMIT_STACK) != (most_stack, most_stack):
    resource.setrlimit(resource.RLIMIT_STACK, (most_stack, most_stack))
    with open('/proc/self/cmdline', 'rb') as file:
        words = file.read().split(b'\0')[:-1]
    os.execv(words[0], words)
# Of threads, as it would have been.
_thread.stack_size(8 << 20)

# index, how it started, why it was ended, exit code, signal, CPU us, wall us, peak KB, stdout size, stderr size
RESULT = struct.Struct('>I2c2iQQQII')
STDERR_TAIL = 4096
TICK_S = 0.02
CLOCK_TICKS = os.sysconf('SC_CLK_TCK')
PAGE_KB = os.sysconf('SC_PAGE_SIZE') // 1024
CHUNK = 1 << 16
# Modules worth importing once for all tests. None keeps state that a test could see.
COMMON = ('bisect', 'collections', 'copy', 'dataclasses', 'datetime', 'decimal', 'fractions', 'functools', 'heapq',
          'itertools', 'json', 'math', 'operator', 're', 'string', 'typing')

CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET = 0x20000000, 0x20000, 0x8000000, 0x40000000
F_SETPIPE_SZ, SIGPIPE, LEAST_PIPE = 1031, 13, 4096
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MNT_DETACH = 1, 2, 4, 8, 32, 4096, 2
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAP_AMBIENT = 38, 22, 47
KEYCTL = {'x86_64': 250, 'aarch64': 219}

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)


def read_into(view):
    """Fills the view from the input; False at the end of the input."""
    while view:
        got = os.readv(source_fd, [view])
        if got == 0:
            return False
        view = view[got:]
    return True


def read_number(size=4):
    if not read_into(arena[:size]):
        os._exit(0)
    return int.from_bytes(arena[:size], 'big')


def read_text(size_bytes):
    """A short text of the host's own, never of a program."""
    size = read_number(size_bytes)
    read_into(arena[:size])
    return bytes(arena[:size])


def write_all(fd, view):
    while view:
        view = view[os.write(fd, view):]


def copy_to_file(fd, size):
    """Moves the next bytes of the input to a file without keeping them."""
    while size > 0:
        part = arena[:min(size, CHUNK)]
        if not read_into(part):
            os._exit(0)
        write_all(fd, part)
        size -= len(part)


def processes():
    """Ids, in this process's own namespace, of all processes of the sandbox but this one."""
    return [name for name in os.listdir(proc_fd) if name.isdigit() and name != '1']


def read_proc(pid, name, size):
    fd = os.open(pid + '/' + name, os.O_RDONLY, dir_fd=proc_fd)
    try:
        return os.read(fd, size)
    finally:
        os.close(fd)


def members(party):
    """Those of them in the party's process namespace."""
    try:
        own = os.stat('%d/ns/pid' % party.pid, dir_fd=proc_fd).st_ino
    except OSError:
        return []
    found = []
    for pid in processes():
        try:
            if os.stat(pid + '/ns/pid', dir_fd=proc_fd).st_ino == own:
                found.append(pid)
        except OSError:
            pass
    return found


def usage(pids):
    """CPU ticks (with children already waited for) and resident KB of the processes."""
    ticks = resident = 0
    for pid in pids:
        try:
            fields = read_proc(pid, 'stat', 1024).rpartition(b')')[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
        resident += int(fields[21]) * PAGE_KB
    return ticks, resident


def proportional_kb(pids):
    """Memory with shared pages divided among their sharers: forks of one program do not count it many times."""
    total = 0
    for pid in pids:
        try:
            lines = read_proc(pid, 'smaps_rollup', 4096).splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(b'Pss:'))
    return total


def stacks_kb(pids):
    """What the stacks of the processes' main threads have grown to."""
    total = 0
    for pid in pids:
        try:
            lines = read_proc(pid, 'status', 4096).splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(b'VmStk:'))
    return total


def files_kb():
    """What the files of the test occupy, which no process's resident memory need show."""
    volume = os.statvfs('/box')
    return (volume.f_blocks - volume.f_bfree) * volume.f_frsize // 1024


class Program:
    """A text, how it is executed, and its limits. `compiles` is False once it was seen not to."""
    __slots__ = ('fd', 'size', 'limits', 'arguments', 'compiles')


class Party:
    """A program that is being watched, and what is known of it so far."""
    __slots__ = ('limits', 'pid', 'pidfd', 'stdout', 'stderr', 'started', 'errors', 'size', 'err_size', 'err_total', 'why',
                 'ended', 'given_kb', 'peak_kb', 'seen_us', 'wall_us', 'status')


def become_program(program, stdin, stdout, stderr, started, apart):
    """In the child: descriptors 0, 1, 2 are the test's, 3 tells how far we are, 4 is the program, no other is open."""
    global arguments
    arguments = program.arguments
    cpu_ms, _, _, _, process_limit, file_mb, address_mb = program.limits
    preference = os.open('self/oom_score_adj', os.O_WRONLY, dir_fd=proc_fd)
    os.write(preference, b'1000')
    if apart:
        check(libc.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET), 'namespaces of its own')
        mount_box(file_mb << 20)
    os.chdir('/tmp')
    os.umask(0o022)
    # Low numbers may be taken by what is still needed: first away from them.
    sources = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in (stdin, stdout, stderr, started, program.fd)]
    for target, fd in enumerate(sources):
        os.dup2(fd, target, inheritable=target < 3)
    os.closerange(5, 1 << 16)
    copy_program(arguments[0] if arguments else b'/tmp/main.py')
    # A group of its own: a signal to the group must not reach the runner or the partner.
    os.setpgid(0, 0)
    os.setresgid(program_user, program_user, program_user)
    os.setresuid(program_user, program_user, program_user)
    check(libc.prctl(PR_CAP_AMBIENT, 4, 0, 0, 0), 'clearing ambient capabilities')
    check(libc.capset(CAP_HEADER, CAP_NONE), 'dropping capabilities')
    # Threads of a program count as processes. A limit of 1 keeps the host's program for core dumps from being started; 0
    # would not.
    for name, limit in ((resource.RLIMIT_CPU, cpu_ms // 1000 + 2), (resource.RLIMIT_CORE, 1),
                        (resource.RLIMIT_NPROC, process_limit), (resource.RLIMIT_FSIZE, file_mb << 20),
                        (resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_MEMLOCK, 0), (resource.RLIMIT_MSGQUEUE, 0),
                        (resource.RLIMIT_SIGPENDING, 1024)):
        resource.setrlimit(name, (limit, limit))
    if address_mb:
        resource.setrlimit(resource.RLIMIT_AS, (address_mb << 20, address_mb << 20))
    # As deep as its memory allows: judges bound the memory of programs, and not their stack. What is executed keeps its threads' stacks
    # small if there is no limit.
    if not arguments:
        stack = program.limits[2] << 20
        if most_stack != resource.RLIM_INFINITY:
            stack = min(stack, most_stack)
        resource.setrlimit(resource.RLIMIT_STACK, (stack, most_stack))
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 'no new privileges')
    check(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(filter_program), 0, 0), 'the system call filter')


def copy_program(path):
    """The program stands in a file of the test's own: it is executed there, or a traceback shows its lines."""
    os.lseek(4, 0, os.SEEK_SET)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
    while os.sendfile(fd, 4, None, 1 << 24) > 0:
        pass
    os.close(fd)


def start(program, stdin, stdout, place, captured=None, apart=False):
    """Forks a program into a process namespace of its own; None in the child. `captured`: where its output can be read."""
    err_r, err_w = os.pipe()
    started_r, started_w = os.pipe()
    # Its input and its own text are no memory of the program's.
    given_kb = files_kb() + program.size // 1024
    check(libc.unshare(CLONE_NEWPID), 'a process namespace')
    pid = os.fork()
    if pid == 0:
        become_program(program, stdin, stdout, err_w, started_w, apart)
        return None
    check(libc.setns(own_namespace, CLONE_NEWPID), 'the own process namespace')
    for fd in (stdin, stdout, err_w, started_w):
        os.close(fd)
    party = Party()
    party.limits, party.pid, party.pidfd = program.limits, pid, os.pidfd_open(pid)
    party.stdout, party.stderr, party.started, party.errors = captured, err_r, started_r, errors[place]
    party.size = party.err_size = party.err_total = party.peak_kb = party.seen_us = 0
    party.why, party.ended, party.given_kb = b'-', False, given_kb
    return party


def drain(party, fd):
    """Takes what there is to read; 0 at the end."""
    output_bytes = party.limits[3]
    if fd == party.stdout:
        got = os.readv(fd, [arena[party.size:party.size + CHUNK]])
        party.size += got
        if party.size > output_bytes:
            party.size, party.why = output_bytes, b'o'
    else:
        tail = party.errors
        got = os.readv(fd, [tail[party.err_size:party.err_size + CHUNK]])
        party.err_size += got
        party.err_total += got
        if party.err_size > STDERR_TAIL:
            tail[:STDERR_TAIL] = tail[party.err_size - STDERR_TAIL:party.err_size]
            party.err_size = STDERR_TAIL
        if party.err_total > 8 * output_bytes:
            party.why = b'o'
    return got


def look(party, pids, files, elapsed):
    """Compares what the party uses with its limits."""
    cpu_ms, wall_ms, memory_mb = party.limits[:3]
    ticks, resident = usage(pids)
    party.seen_us = max(party.seen_us, ticks * 1000000 // CLOCK_TICKS)
    if resident > memory_mb * 1024 and len(pids) > 1:
        resident = proportional_kb(pids) or resident
    resident += files
    party.peak_kb = max(party.peak_kb, resident)
    # A stack may be as large as the memory, beside it.
    if resident > memory_mb * 1024 and resident > memory_mb * 1024 + min(stacks_kb(pids), memory_mb * 1024):
        party.why = b'm'
    elif party.seen_us >= cpu_ms * 1000:
        party.why = b'c'
    elif elapsed * 1000 >= wall_ms:
        party.why = b'w'


def finish(party, begun):
    """Ends the party's processes where they have not ended, and takes what they left."""
    party.wall_us = int((time.monotonic() - begun) * 1e6)
    if not party.ended:
        os.kill(party.pid, 9)
    # The first process of a namespace is not gone before all the others are.
    _, party.status, used = os.wait4(party.pid, 0)
    for fd in (party.stdout, party.stderr):
        if fd is None:
            continue
        os.set_blocking(fd, False)
        try:
            while party.why == b'-' and drain(party, fd):
                pass
        except BlockingIOError:
            pass
    party.seen_us = max(int((used.ru_utime + used.ru_stime) * 1e6), party.seen_us)
    party.peak_kb = max(party.peak_kb, used.ru_maxrss)
    if party.why == b'-' and party.seen_us >= party.limits[0] * 1000:
        party.why = b'c'


def watch(parties, unread=None):
    """Collects what the programs write and ends each at its limits; returns when all are gone. `unread`: what is written to
    the first of them, taken from its partner when it is gone."""
    begun = time.monotonic()
    poll = select.poll()
    owners = {}
    for party in parties:
        for fd in (party.pidfd, party.stdout, party.stderr):
            if fd is not None:
                poll.register(fd, select.POLLIN)
                owners[fd] = party
    running = list(parties)
    next_tick = TICK_S
    while running:
        elapsed = time.monotonic() - begun
        for fd, _ in poll.poll(int(max(0, next_tick - elapsed) * 1000) + 1):
            party = owners[fd]
            if party is None:
                if os.readv(fd, [arena[:CHUNK]]) == 0:
                    poll.unregister(fd)
                    del owners[fd]
            elif fd == party.pidfd:
                party.ended = True
            elif party.why == b'-' and drain(party, fd) == 0:
                poll.unregister(fd)
                del owners[fd]
        elapsed = time.monotonic() - begun
        if elapsed >= next_tick:
            next_tick = elapsed + TICK_S
            for party in running:
                if not party.ended and party.why == b'-':
                    pids = processes() if len(parties) == 1 else members(party)
                    files = max(0, files_kb() - party.given_kb) if party is parties[0] else 0
                    look(party, pids, files, elapsed)
        for party in tuple(running):
            if party.ended or party.why != b'-':
                running.remove(party)
                for fd in (party.pidfd, party.stdout, party.stderr) if running else ():
                    if fd in owners:
                        poll.unregister(fd)
                        del owners[fd]
                finish(party, begun)
                if unread is not None and party is parties[0]:
                    poll.register(unread, select.POLLIN)
                    owners[unread] = None


def report(index, party):
    start = os.read(party.started, 1) or b'-'
    for fd in (party.pidfd, party.stdout, party.stderr, party.started):
        if fd is not None:
            os.close(fd)
    write_report(index, start, party.why, party.status, party.seen_us, party.wall_us, party.peak_kb, party.size,
                 party.errors[:party.err_size])
    return start


def write_report(index, start, why, status, cpu_us, wall_us, peak_kb, size, tail):
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    head = RESULT.pack(index, start, why, code, signal, cpu_us, wall_us, peak_kb, size, len(tail))
    write_all(result_fd, memoryview(head))
    write_all(result_fd, arena[:size])
    write_all(result_fd, tail)


def take_program(before):
    """Reads a program and its limits; the text goes into a file in memory that each test reads again."""
    global arena
    if before is not None:
        os.close(before.fd)
    program = Program()
    *numbers, count = (read_number() for _ in range(8))
    program.limits = tuple(numbers)
    program.arguments = tuple(read_text(2) for _ in range(count))
    program.size = read_number()
    writable = os.memfd_create('program', 0)
    copy_to_file(writable, program.size)
    os.fchmod(writable, 0o555)
    program.fd = os.open('self/fd/%d' % writable, os.O_RDONLY, dir_fd=proc_fd)
    os.close(writable)
    program.compiles = True
    needed = program.limits[3] + 2 * CHUNK
    if len(arena) < needed:
        arena = private_buffer(needed)
    return program


def private_buffer(size):
    """Memory that no child has."""
    buffer = mmap.mmap(-1, (size + 4095) & ~4095, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer.madvise(mmap.MADV_DONTFORK)
    return memoryview(buffer)


def mount_box(size):
    check(libc.mount(b'tmpfs', b'/box', b'tmpfs', MS_NOSUID | MS_NODEV, b'mode=0755,nr_inodes=4096,size=%d' % (size + (1 << 16))),
          'mounting /box')
    os.mkdir('/box/tmp', 0o777)


def next_child():
    """Serves frames until the input ends (then the process does) or it is the child of a fork."""
    program = partner = None
    while True:
        if not read_into(arena[:1]):
            os._exit(0)
        frame = arena[0]
        if frame == 80:
            program = take_program(program)
            continue
        if frame == 81:
            partner = take_program(partner)
            continue
        index, size = read_number(), read_number()
        mount_box((program.limits[5] << 20) + program.size + (0 if frame == 67 else size))
        if not (converse(program, partner, index, size) if frame == 67 else test(program, index, size)):
            return
        check(libc.umount2(b'/box', MNT_DETACH), 'unmounting /box')


def test(program, index, size):
    """One run with an input; False in its child."""
    stdin = os.open('/box/stdin', os.O_WRONLY | os.O_CREAT, 0o444)
    copy_to_file(stdin, size)
    os.close(stdin)
    if not program.compiles:
        write_report(index, b'C', b'-', 256, 0, 0, 0, 0, arena[:0])
        return True
    out_r, out_w = os.pipe()
    party = start(program, os.open('/box/stdin', os.O_RDONLY), out_w, 0, out_r)
    if party is None:
        return False
    watch((party,))
    program.compiles = report(index, party) != b'C' or party.why != b'-'
    return True


def converse(program, partner, index, size):
    """A run of both, each reading what the other writes; False in a child. Whoever is alone reads the end of its input."""
    # This one has a name, /dev/stdin. The other has none: it holds what the program must not read.
    os.mkfifo('/box/stdin', 0o666)
    program_in, partner_out = os.open('/box/stdin', os.O_RDONLY | os.O_NONBLOCK), os.open('/box/stdin', os.O_WRONLY)
    os.set_blocking(program_in, True)
    os.chmod('/box/stdin', 0o444)
    partner_in, program_out = os.pipe()
    # A user whose programs hold many pages in pipes gets small pipes, and no larger ones: most texts fit all the same.
    if size > LEAST_PIPE:
        fcntl.fcntl(program_out, F_SETPIPE_SZ, 1 << 20)
    copy_to_file(program_out, size)
    # Children hold no end of a pipe but their own: become_program closes the others.
    # The runner keeps an end of one: what the partner has to say to a program that is gone is no error of the partner's.
    kept = os.dup(program_in)
    second = start(partner, partner_in, partner_out, 1, apart=True)
    first = second and start(program, program_in, program_out, 0)
    if first is None:
        return False
    watch((first, second), kept)
    os.close(kept)
    report(index, first)
    report(index, second)
    return True


def end(status):
    """Ends the process as the interpreter does: threads are joined, exit handlers run, buffers are flushed."""
    try:
        if 'threading' in sys.modules:
            sys.modules['threading']._shutdown()
        atexit._run_exitfuncs()
        if status is None:
            status = 0
        elif not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except BaseException:
        status = 120
    os._exit(status & 255)


class Filter(ctypes.Structure):
    _fields_ = [('size', ctypes.c_ushort), ('instructions', ctypes.c_char_p)]


os.umask(0)
source_fd, result_fd = os.dup(0), os.dup(1)
null = os.open('/dev/null', os.O_RDWR)
for standard in (0, 1):
    os.dup2(null, standard)
os.close(null)
arena = private_buffer(1 << 20)
errors = tuple(private_buffer(STDERR_TAIL + 2 * CHUNK) for _ in range(2))
CAP_HEADER = struct.pack('Ii', 0x20080522, 0)
CAP_NONE = bytes(24)
arguments = ()
# A new session keyring of its own: the login's would be inherited.
libc.syscall(KEYCTL.get(os.uname().machine, -1), 1, None, 0, 0, 0)
proc_fd = os.open('/proc', os.O_RDONLY | os.O_DIRECTORY)
own_namespace = os.open('/proc/self/ns/pid', os.O_RDONLY)
with open('/proc/sys/user/max_user_namespaces', 'w') as file:
    file.write('0')
check(libc.umount2(b'/proc', MNT_DETACH), 'unmounting /proc')
# The devices are the host's own files: read only, nobody sets their times. Writing to them needs no right to write to their files.
for device in (b'/dev/null', b'/dev/full', b'/dev/random', b'/dev/urandom'):
    kept = os.statvfs(device).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    check(libc.mount(None, device, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept, None), 'a device')
instructions = read_text(4)
filter_program = Filter(len(instructions) // 8, instructions)
program_user = read_number()
further_paths = [os.fsdecode(read_text(2)) for _ in range(read_number())]
for name in COMMON:
    __import__(name)
builtins.exit = _sitebuiltins.Quitter('exit', 'Ctrl-D (i.e. EOF)')
builtins.quit = _sitebuiltins.Quitter('quit', 'Ctrl-D (i.e. EOF)')
builtins.help = _sitebuiltins._Helper()
sys.argv = ['/tmp/main.py']
sys.orig_argv[:] = ['python3', '/tmp/main.py']
sys.path[0] = '/tmp'
sys.path += further_paths
main = type(sys)('__main__')
main.__file__ = '/tmp/main.py'
main.__builtins__ = builtins
main.__annotations__ = {}
gc.collect()
gc.freeze()
write_all(result_fd, memoryview(b'R'))

next_child()
# From here on this is a test's process. The program runs in this frame and not in a function, so that it has all but one
# level of the recursion limit.
if arguments:
    os.write(3, b'S')
    libc.signal(SIGPIPE, 0)
    os.execve(arguments[1], arguments[1:], {b'PATH': b'/usr/bin:/bin', b'HOME': b'/tmp', b'LANG': b'C.UTF-8', b'ONLINE_JUDGE': b'1'})
sys.stdin = sys.__stdin__ = open(0, encoding='utf-8', closefd=False)
sys.stdout = sys.__stdout__ = open(1, 'w', encoding='utf-8', closefd=False)
sys.stderr = sys.__stderr__ = open(2, 'w', buffering=1, encoding='utf-8', errors='backslashreplace', closefd=False)
with open(4, 'rb') as file:
    file.seek(0)
    program = file.read()
sys.modules['__main__'] = main
# Taking the interpreter down object by object is most of the time of a short test. Only a program with destructors can
# tell that it was not done.
full_ending = b'__del__' in program or b'weakref' in program
try:
    program = compile(program, '/tmp/main.py', 'exec', dont_inherit=True)
except BaseException as error:
    os.write(3, b'C')
    sys.excepthook(type(error), error.with_traceback(None), None)
    sys.exit(1)
os.write(3, b'S')
os.close(3)
sys.setrecursionlimit(sys.getrecursionlimit() + 1)
status = 0
try:
    exec(program, main.__dict__)
except SystemExit as error:
    status = error.code
except BaseException as error:
    error.__traceback__ = error.__traceback__.tb_next
    sys.excepthook(type(error), error, error.__traceback__)
    status = 1
if full_ending:
    sys.exit(status)
end(status)
