"""Runs programs against tests inside a sandbox: one fork and one process namespace for each test. Needs Linux 5.10 and
Python 3.9.

No program runs in this process, and nothing that a program wrote enters this process's heap, which later tests inherit:
their inputs and outputs pass through one buffer that no child has. A test's processes see no /proc, live in a namespace
in which this process has no number, belong to another user where there are two, hold no capability, are filtered
(seccomp), and have a file system of their own for the time of the test. When the first of them is gone, the kernel has
ended all the others.

Input (descriptor 0), big endian. Once: u32 size, filter (BPF); u32 program's user; u32 further paths, a u16 size and text each.
Then frames:
  P  u32 x 7 (CPU ms, wall ms, memory MB, output bytes, processes, file MB, argument count), arguments as u16 size and
     text each, u32 size, program. Without arguments the program is Python, run in the fork itself; else the first is the
     path of the file that it is put in, and the others are what is executed.
  T  u32 index, u32 size, standard input.
Output (descriptor 1): one byte R when ready; for each test the struct RESULT, standard output, tail of standard error.
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

CLONE_NEWPID = 0x20000000
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
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


def files_kb():
    """What the files of the test occupy, which no process's resident memory need show."""
    volume = os.statvfs('/box')
    return (volume.f_blocks - volume.f_bfree) * volume.f_frsize // 1024


def become_program(started):
    """In the child: descriptors 0, 1, 2 are the test's, 3 tells how far we are, 4 is the program, no other is open."""
    cpu_ms, _, memory_mb, _, process_limit, file_mb = limits
    preference = os.open('self/oom_score_adj', os.O_WRONLY, dir_fd=proc_fd)
    os.write(preference, b'1000')
    os.chdir('/tmp')
    os.umask(0o022)
    stdin = os.open('/box/stdin', os.O_RDONLY)
    # Low numbers may be taken by what is still needed: first away from them.
    sources = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in (stdin, out_w, err_w, started, program_fd)]
    for target, fd in enumerate(sources):
        os.dup2(fd, target, inheritable=target < 3)
    os.closerange(5, 1 << 16)
    if arguments:
        copy_program(arguments[0])
    os.setresgid(program_user, program_user, program_user)
    os.setresuid(program_user, program_user, program_user)
    check(libc.prctl(PR_CAP_AMBIENT, 4, 0, 0, 0), 'clearing ambient capabilities')
    check(libc.capset(CAP_HEADER, CAP_NONE), 'dropping capabilities')
    # Threads of a program count as processes; the address space of an interpreter that is executed is its own affair.
    for name, limit in ((resource.RLIMIT_CPU, cpu_ms // 1000 + 2), (resource.RLIMIT_CORE, 0),
                        (resource.RLIMIT_NPROC, process_limit), (resource.RLIMIT_FSIZE, file_mb << 20),
                        (resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_MEMLOCK, 0), (resource.RLIMIT_MSGQUEUE, 0)):
        resource.setrlimit(name, (limit, limit))
    if not arguments:
        memory = (memory_mb + 1024) << 20
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 'no new privileges')
    check(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(filter_program), 0, 0), 'the system call filter')


def copy_program(path):
    """What is executed and not interpreted here stands in a file of the test's own."""
    os.lseek(4, 0, os.SEEK_SET)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
    while os.sendfile(fd, 4, None, 1 << 24) > 0:
        pass
    os.close(fd)


def watch(pid, stdout, stderr):
    """Collects the output of the test in the arena and ends it at a limit. Why it was ended, size of its output and of
    the tail of its errors, wait status, CPU us, wall us, peak KB."""
    cpu_ms, wall_ms, memory_mb, output_bytes, _, _ = limits
    begun = time.monotonic()
    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    for fd in (pidfd, stdout, stderr):
        poll.register(fd, select.POLLIN)
    size = err_size = err_total = 0
    why = b'-'
    ended = False
    peak_kb = seen_us = 0
    next_tick = TICK_S

    def drain(fd):
        nonlocal size, err_size, err_total, why
        if fd == stdout:
            got = os.readv(fd, [arena[size:size + CHUNK]])
            size += got
            if size > output_bytes:
                size, why = output_bytes, b'o'
        else:
            got = os.readv(fd, [errors[err_size:err_size + CHUNK]])
            err_size += got
            err_total += got
            if err_size > STDERR_TAIL:
                errors[:STDERR_TAIL] = errors[err_size - STDERR_TAIL:err_size]
                err_size = STDERR_TAIL
            if err_total > 8 * output_bytes:
                why = b'o'
        if got == 0:
            poll.unregister(fd)
        return got

    while not ended and why == b'-':
        elapsed = time.monotonic() - begun
        wait = max(0, min(next_tick - elapsed, wall_ms / 1000 - elapsed))
        for fd, _ in poll.poll(int(wait * 1000) + 1):
            if fd == pidfd:
                ended = True
            elif why == b'-':
                drain(fd)
        elapsed = time.monotonic() - begun
        if elapsed >= next_tick and not ended and why == b'-':
            next_tick = elapsed + TICK_S
            pids = processes()
            ticks, resident = usage(pids)
            seen_us = max(seen_us, ticks * 1000000 // CLOCK_TICKS)
            if resident > memory_mb * 1024 and len(pids) > 1:
                resident = proportional_kb(pids) or resident
            resident += files_kb()
            peak_kb = max(peak_kb, resident)
            if resident > memory_mb * 1024:
                why = b'm'
            elif seen_us >= cpu_ms * 1000:
                why = b'c'
            elif elapsed * 1000 >= wall_ms:
                why = b'w'
    wall_us = int((time.monotonic() - begun) * 1e6)
    if not ended:
        os.kill(pid, 9)
    # The first process of a namespace is not gone before all the others are.
    _, status, used = os.wait4(pid, 0)
    os.close(pidfd)
    for fd in (stdout, stderr):
        os.set_blocking(fd, False)
        try:
            while why == b'-' and drain(fd):
                pass
        except (BlockingIOError, KeyError):
            pass
    cpu_us = max(int((used.ru_utime + used.ru_stime) * 1e6), seen_us)
    peak_kb = max(peak_kb, used.ru_maxrss)
    if why == b'-' and cpu_us >= cpu_ms * 1000:
        why = b'c'
    return why, size, err_size, status, cpu_us, wall_us, peak_kb


def report(index, start, why, status, cpu_us, wall_us, peak_kb, size, err_size):
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    head = RESULT.pack(index, start, why, code, signal, cpu_us, wall_us, peak_kb, size, err_size)
    write_all(result_fd, memoryview(head))
    write_all(result_fd, arena[:size])
    write_all(result_fd, errors[:err_size])


def take_program():
    """Reads a program and its limits; the text goes into a file in memory that each test reads again."""
    global program_fd, program_size, limits, arguments, compiles, arena
    *numbers, count = (read_number() for _ in range(7))
    limits = tuple(numbers)
    arguments = tuple(read_text(2) for _ in range(count))
    program_size = read_number()
    if program_fd is not None:
        os.close(program_fd)
    writable = os.memfd_create('program', 0)
    copy_to_file(writable, program_size)
    os.fchmod(writable, 0o555)
    program_fd = os.open('self/fd/%d' % writable, os.O_RDONLY, dir_fd=proc_fd)
    os.close(writable)
    compiles = True
    needed = limits[3] + 2 * CHUNK
    if len(arena) < needed:
        arena = private_buffer(needed)


def private_buffer(size):
    """Memory that no child has."""
    buffer = mmap.mmap(-1, (size + 4095) & ~4095, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer.madvise(mmap.MADV_DONTFORK)
    return memoryview(buffer)


def next_child():
    """Serves frames until the input ends (then the process does) or it is the child of a fork."""
    global compiles, out_w, err_w
    while True:
        if not read_into(arena[:1]):
            os._exit(0)
        if arena[0] == 80:
            take_program()
            continue
        index, size = read_number(), read_number()
        check(libc.mount(b'tmpfs', b'/box', b'tmpfs', MS_NOSUID | MS_NODEV,
                         b'mode=0755,nr_inodes=4096,size=%d' % ((limits[5] << 20) + size + program_size + (1 << 16))), 'mounting /box')
        os.mkdir('/box/tmp', 0o777)
        stdin = os.open('/box/stdin', os.O_WRONLY | os.O_CREAT, 0o444)
        copy_to_file(stdin, size)
        os.close(stdin)
        if compiles:
            out_r, out_w = os.pipe()
            err_r, err_w = os.pipe()
            started_r, started_w = os.pipe()
            check(libc.unshare(CLONE_NEWPID), 'a process namespace')
            pid = os.fork()
            if pid == 0:
                become_program(started_w)
                return
            check(libc.setns(own_namespace, CLONE_NEWPID), 'the own process namespace')
            for fd in (out_w, err_w, started_w):
                os.close(fd)
            why, size, err_size, status, cpu_us, wall_us, peak_kb = watch(pid, out_r, err_r)
            start = os.read(started_r, 1) or b'-'
            for fd in (out_r, err_r, started_r):
                os.close(fd)
            compiles = start != b'C' or why != b'-'
        else:
            start, why, size, err_size, status, cpu_us, wall_us, peak_kb = b'C', b'-', 0, 0, 256, 0, 0, 0
        check(libc.umount2(b'/box', MNT_DETACH), 'unmounting /box')
        report(index, start, why, status, cpu_us, wall_us, peak_kb, size, err_size)


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
errors = private_buffer(STDERR_TAIL + 2 * CHUNK)
CAP_HEADER = struct.pack('Ii', 0x20080522, 0)
CAP_NONE = bytes(24)
program_fd = program_size = limits = arguments = compiles = out_w = err_w = None
# A new session keyring of its own: the login's would be inherited.
libc.syscall(KEYCTL.get(os.uname().machine, -1), 1, None, 0, 0, 0)
proc_fd = os.open('/proc', os.O_RDONLY | os.O_DIRECTORY)
own_namespace = os.open('/proc/self/ns/pid', os.O_RDONLY)
with open('/proc/sys/user/max_user_namespaces', 'w') as file:
    file.write('0')
check(libc.umount2(b'/proc', MNT_DETACH), 'unmounting /proc')
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
    os.execve(arguments[1], arguments[1:], {b'PATH': b'/usr/bin:/bin', b'HOME': b'/tmp', b'LANG': b'C.UTF-8'})
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
