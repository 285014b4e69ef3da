"""Runs one program against many tests inside a sandbox: one fork per test. Needs Linux 5.3 and Python 3.9.

It is process 1 of the sandbox's own process namespace, which is what makes it safe to be the program's parent: the
kernel drops every signal that a process of the namespace sends to process 1, and process 1 may kill all the others
in one atomic step. It is not dumpable, so a program of the same user can neither trace it nor open its memory or its
descriptors. Results leave on a descriptor that every child closes before the program's first instruction.

Input (descriptor 0), big endian:  u32 size, program text, u32 x 6 limits (CPU ms, wall ms, memory MB, output bytes,
processes, file MB), then for each test u32 index, u32 size, standard input.
Output (descriptor 1): one byte R when ready; for each test the struct RESULT, standard output, tail of standard error.
A test is read only when the one before is over, so no program finds a later test in its memory.
"""
import atexit
import builtins
import gc
import io
import os
import resource
import select
import struct
import sys
import time

import _ctypes
import _sitebuiltins

# index, how it started, why it was ended, exit code, signal, CPU us, wall us, peak KB, renew, stdout size, stderr size
RESULT = struct.Struct('>I2c2iQQQBII')
STDERR_TAIL = 4096
PR_SET_DUMPABLE = 4
TICK_MS = 20
CLOCK_TICKS = os.sysconf('SC_CLK_TCK')
PAGE_KB = os.sysconf('SC_PAGE_SIZE') // 1024
SCRATCH = ('/tmp', '/dev/shm')
# Modules worth importing once for all tests, if the program names them. None keeps state that a test could see.
COMMON = ('bisect', 'collections', 'copy', 'dataclasses', 'datetime', 'decimal', 'fractions', 'functools', 'heapq',
          'itertools', 'json', 'math', 'operator', 're', 'string', 'typing')

prctl_address = _ctypes.dlsym(_ctypes.dlopen(None, 0), 'prctl')


def set_dumpable(value):
    if _ctypes.call_function(prctl_address, (PR_SET_DUMPABLE, value, 0, 0, 0)) != 0:
        raise OSError('prctl(PR_SET_DUMPABLE) failed')


def read_exactly(fd, size):
    """`size` bytes, or None at the end of the input."""
    parts = []
    while size > 0:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b''.join(parts)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def processes():
    """Ids of all processes of the sandbox but this one."""
    return [name for name in os.listdir('/proc') if name.isdigit() and name != '1']


def usage(pids):
    """CPU ticks (with children already waited for) and resident KB of the processes."""
    ticks = resident = 0
    for pid in pids:
        try:
            with open('/proc/' + pid + '/stat', 'rb', 0) as file:
                fields = file.read(1024).rpartition(b')')[2].split()
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
            with open('/proc/' + pid + '/smaps_rollup', 'rb') as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith(b'Pss:'))
        except OSError:
            continue
    return total


def scratch_is_clean():
    """Removes what a test left behind; False if that is more than a few plain files."""
    for folder in SCRATCH:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= 64 or entry.is_dir(follow_symlinks=False):
                    return False
                os.unlink(entry.path)
    return True


def become_program(stdin, stdout, stderr, started, limits):
    """In the child: descriptors 0, 1, 2 are the test's, 3 tells the parent how far we are, no other is open."""
    cpu_ms, _, memory_mb, _, process_limit, file_mb = limits
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.dup2(started, 3)
    os.closerange(4, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    set_dumpable(1)
    preference = os.open('/proc/self/oom_score_adj', os.O_WRONLY)
    os.write(preference, b'1000')
    os.close(preference)
    cpu_seconds = cpu_ms // 1000 + 2
    memory = (memory_mb + 1024) << 20
    for name, limit in ((resource.RLIMIT_CPU, cpu_seconds), (resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0),
                        (resource.RLIMIT_NPROC, process_limit), (resource.RLIMIT_FSIZE, file_mb << 20),
                        (resource.RLIMIT_NOFILE, 256)):
        resource.setrlimit(name, (limit, limit))
    sys.stdin = sys.__stdin__ = open(0, encoding='utf-8', closefd=False)
    sys.stdout = sys.__stdout__ = open(1, 'w', encoding='utf-8', closefd=False)
    sys.stderr = sys.__stderr__ = open(2, 'w', buffering=1, encoding='utf-8', errors='backslashreplace', closefd=False)


def watch(pid, stdout, stderr, limits):
    """Collects the output of the test and ends it at a limit. Why it was ended, its output, its tail of errors, its
    exit status or None, CPU us, peak KB."""
    cpu_ms, wall_ms, memory_mb, output_bytes, _, _ = limits
    begun = time.monotonic()
    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    for fd in (pidfd, stdout, stderr):
        poll.register(fd, select.POLLIN)
    output, size, tail = [], 0, b''
    status, why = None, b'-'
    reaped_us = peak_kb = seen_ticks = 0
    next_tick = TICK_MS / 1000

    def reap(options):
        nonlocal status, reaped_us, peak_kb
        while True:
            try:
                child, child_status, used = os.wait4(-1, options)
            except ChildProcessError:
                return
            if child == 0:
                return
            reaped_us += int((used.ru_utime + used.ru_stime) * 1e6)
            peak_kb = max(peak_kb, used.ru_maxrss)
            if child == pid:
                status = child_status

    def drain(fd):
        nonlocal size, tail, why
        data = os.read(fd, 1 << 16)
        if not data:
            poll.unregister(fd)
        elif fd == stdout:
            size += len(data)
            if size <= output_bytes:
                output.append(data)
            else:
                if why == b'-':
                    output.append(data[:output_bytes - size])
                    why = b'o'
        else:
            tail = (tail + data)[-STDERR_TAIL:]
        return len(data)

    while status is None and why == b'-':
        elapsed = time.monotonic() - begun
        wait = max(0, min(next_tick - elapsed, wall_ms / 1000 - elapsed))
        for fd, _ in poll.poll(int(wait * 1000) + 1):
            if fd == pidfd:
                reap(os.WNOHANG)
            else:
                drain(fd)
        elapsed = time.monotonic() - begun
        if elapsed >= next_tick and status is None and why == b'-':
            next_tick = elapsed + TICK_MS / 1000
            reap(os.WNOHANG)
            pids = processes()
            ticks, resident = usage(pids)
            seen_ticks = max(seen_ticks, ticks + reaped_us * CLOCK_TICKS // 1000000)
            if resident > memory_mb * 1024 and len(pids) > 1:
                resident = proportional_kb(pids)
            peak_kb = max(peak_kb, resident)
            if status is not None:
                break
            if resident > memory_mb * 1024:
                why = b'm'
            elif seen_ticks * 1000 >= cpu_ms * CLOCK_TICKS:
                why = b'c'
            elif elapsed * 1000 >= wall_ms:
                why = b'w'
    wall_us = int((time.monotonic() - begun) * 1e6)
    try:
        os.kill(-1, 9)
    except ProcessLookupError:
        pass
    reap(0)
    for fd in (stdout, stderr):
        os.set_blocking(fd, False)
        try:
            while why == b'-' and drain(fd):
                pass
        except (BlockingIOError, KeyError):
            pass
    os.close(pidfd)
    cpu_us = max(reaped_us, seen_ticks * 1000000 // CLOCK_TICKS) if why != b'-' else reaped_us
    return why, b''.join(output), tail, status, cpu_us, wall_us, peak_kb


def next_child():
    """Serves tests until the input ends (then it returns False) or it is the child of a fork (True)."""
    limits = None
    while True:
        head = read_exactly(source_fd, 8)
        if head is None:
            return False
        index, size = struct.unpack('>II', head)
        stdin = os.memfd_create('stdin', 0)
        while size > 0:
            part = os.read(source_fd, min(size, 1 << 20))
            if not part:
                return False
            write_all(stdin, part)
            size -= len(part)
        os.lseek(stdin, 0, os.SEEK_SET)
        pipes = os.pipe() + os.pipe() + os.pipe()
        out_r, out_w, err_r, err_w, started_r, started_w = pipes
        pid = os.fork()
        if pid == 0:
            become_program(stdin, out_w, err_w, started_w, program_limits)
            return True
        for fd in (stdin, out_w, err_w, started_w):
            os.close(fd)
        why, output, tail, status, cpu_us, wall_us, peak_kb = watch(pid, out_r, err_r, program_limits)
        start = os.read(started_r, 1) or b'-'
        for fd in (out_r, err_r, started_r):
            os.close(fd)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
        signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        clean = scratch_is_clean()
        write_all(result_fd, RESULT.pack(index, start, why, code, signal, cpu_us, wall_us, peak_kb, not clean,
                                         len(output), len(tail)) + output + tail)
        if not clean:
            return False


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


set_dumpable(0)
source_fd, result_fd = os.dup(0), os.dup(1)
null = os.open('/dev/null', os.O_RDWR)
for standard in (0, 1):
    os.dup2(null, standard)
os.close(null)
write_all(result_fd, b'R')
program = read_exactly(source_fd, struct.unpack('>I', read_exactly(source_fd, 4))[0])
program_limits = struct.unpack('>6I', read_exactly(source_fd, 24))
for name in COMMON:
    if name.encode() in program:
        __import__(name)
builtins.exit = _sitebuiltins.Quitter('exit', 'Ctrl-D (i.e. EOF)')
builtins.quit = _sitebuiltins.Quitter('quit', 'Ctrl-D (i.e. EOF)')
builtins.help = _sitebuiltins._Helper()
sys.argv = ['/tmp/main.py']
sys.path[0] = '/tmp'
main = type(sys)('__main__')
main.__file__ = '/tmp/main.py'
main.__builtins__ = builtins
main.__annotations__ = {}
gc.collect()
gc.freeze()

# Taking the interpreter down object by object is most of the time of a short test. Only a program with destructors
# can tell that it was not done.
full_ending = b'__del__' in program or b'weakref' in program

# The program runs in this frame and not in a function, so that it has all but one level of the recursion limit.
if next_child():
    sys.modules['__main__'] = main
    try:
        program = compile(program, '/tmp/main.py', 'exec', dont_inherit=True)
    except BaseException as error:
        os.write(3, b'C')
        sys.excepthook(type(error), error, None)
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
