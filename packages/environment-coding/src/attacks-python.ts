/** Hostile programs in Python (see attacks.ts). */
import type { Attack } from './attack.ts'
import { ESCAPED } from './trial.ts'

/** Python that tries something and tells whether it worked. */
const attempt = (statements: string) => `try:
${statements.replace(/^/gm, '    ')}
    print('${ESCAPED}')
except BaseException as error:
    print('refused', type(error).__name__)
`

export const PYTHON_ATTACKS: readonly Attack[] = [
  {
    name: 'pipe-buffers',
    what: 'parks data in enlarged pipes',
    program:
      "import fcntl, os\nfor _ in range(24):\n    try:\n        reader, writer = os.pipe()\n        fcntl.fcntl(writer, 1031, 1 << 20)\n        os.set_blocking(writer, False)\n        while True:\n            os.write(writer, b'x' * 65536)\n    except OSError:\n        pass\nfor fd in (0, 1, 2):\n    for size in (1 << 30, 4096):\n        try:\n            fcntl.fcntl(fd, 1031, size)\n        except OSError:\n            pass\nwhile True:\n    pass\n",
  },
  {
    name: 'signals-by-files',
    what: 'has the kernel send signals for files: owners, leases, notifications',
    program:
      "import fcntl, os, signal\nfor pid in list(range(1, 40)) + [-1, -2, -os.getppid()]:\n    for fd in (0, 1, 2):\n        for command, value in ((8, pid), (10, 9), (1024, 1), (1026, 31), (4, os.O_ASYNC | os.O_NONBLOCK)):\n            try:\n                fcntl.fcntl(fd, command, value)\n            except (OSError, ValueError, OverflowError):\n                pass\nos.write(1, b'x' * 100000)\n",
  },
  {
    name: 'output-after-death',
    what: 'leaves children that print when it has ended, and holds its output open',
    program:
      "import os, signal, time\nfor _ in range(4):\n    if os.fork() == 0:\n        os.setsid()\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        time.sleep(0.2)\n        while True:\n            os.write(1, b'ESCAPED\\n')\n            time.sleep(0.01)\nos._exit(0)\n",
  },
  {
    name: 'clocks',
    what: 'sets clocks and timers, and asks for processor time without end',
    program:
      "import ctypes, os, signal, time\nlibc = ctypes.CDLL(None, use_errno=True)\nspec = (ctypes.c_long * 2)(0, 0)\nworked = [clock for clock in range(12) if libc.clock_settime(clock, spec) == 0]\nworked += [name for name in ('settimeofday', 'adjtimex', 'stime') if getattr(libc, name, lambda *a: -1)(spec, None) == 0]\nif worked:\n    print('ESCAPED', worked)\nfor which in (0, 1, 2):\n    try:\n        signal.setitimer(which, 1e-6, 1e-6)\n    except (OSError, ValueError):\n        pass\nfor number in range(1, 65):\n    try:\n        signal.signal(number, lambda *a: None)\n    except (OSError, ValueError):\n        pass\nwhile True:\n    time.perf_counter()\n",
  },
  {
    name: 'note-in-devices',
    what: 'leaves a note in the times of devices, which are files of the host',
    program: attempt(
      "import os, sys\nassert sys.platform != 'emscripten'\nfor name in ('null', 'full', 'random', 'urandom'):\n    open('/dev/' + name, 'rb' if 'rand' in name else 'wb').close()\n    try:\n        os.utime('/dev/' + name)\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError('all refused')",
    ),
  },
  {
    name: 'core-dumps',
    what: 'has the host start its program for core dumps, which runs outside of every sandbox',
    program:
      "import os, resource, signal, sys\nif sys.platform != 'emscripten':\n    for limits in ((0, 0), (0, 1)):\n        try:\n            resource.setrlimit(resource.RLIMIT_CORE, limits)\n        except (OSError, ValueError):\n            pass\n    if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1):\n        print('ESCAPED')\nos.kill(os.getpid(), signal.SIGQUIT)\nos.abort()\n",
  },
  {
    name: 'talks-for-both',
    what: 'writes what an interactor would accept to every descriptor, and reads from its own output',
    program:
      'import os\nfor fd in range(64):\n    try:\n        os.set_blocking(fd, False)\n    except OSError:\n        continue\n    for flags in range(2):\n        try:\n            print(os.read(fd, 4096))\n        except OSError:\n            pass\n    try:\n        os.write(fd, b\'0\\n1\\nok\\nyes\\naccepted\\n{"accepted": true}\\n\')\n    except OSError:\n        pass\n',
  },
  {
    name: 'fork-bomb',
    what: 'forks for ever',
    program: 'import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n',
  },
  {
    name: 'thread-bomb',
    what: 'starts threads for ever',
    program:
      'import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,)).start()\n',
  },
  {
    name: 'memory-bomb',
    what: 'allocates for ever',
    program: "blocks = []\nwhile True:\n    blocks.append(b'x' * (1 << 20))\n",
  },
  {
    name: 'memory-in-children',
    what: 'shares a large allocation out to children',
    program:
      "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        block = b'x' * (40 << 20)\n        time.sleep(60)\ntime.sleep(60)\n",
  },
  { name: 'endless-loop', what: 'never ends', program: 'while True:\n    pass\n' },
  {
    name: 'unbreakable-loop',
    what: 'never ends and catches everything',
    program:
      'while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n',
  },
  {
    name: 'sleep',
    what: 'waits for ever without using the processor',
    program: 'import time\ntime.sleep(10000)\n',
  },
  {
    name: 'busy-children',
    what: 'spreads its work over children, each below the limit',
    program:
      'import os\nfor _ in range(6):\n    if os.fork() == 0:\n        while True:\n            pass\nos.wait()\n',
  },
  {
    name: 'orphans',
    what: 'leaves children behind in sessions of their own',
    program:
      "import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            time.sleep(600)\n        os._exit(0)\nprint('left')\n",
  },
  {
    name: 'network',
    what: 'opens a connection to the host',
    program: attempt("import socket\nsocket.create_connection(('127.0.0.1', PORT), 1).sendall(b'x')"),
  },
  {
    name: 'name-lookup',
    what: 'asks for a host name',
    program: attempt(
      // pyodide answers with an address of its own invention, in 172.29, and without asking anyone.
      "import socket\nassert not socket.getaddrinfo('example.org', 80)[0][4][0].startswith('172.29.')",
    ),
  },
  {
    name: 'write-system',
    what: 'writes outside of its folder',
    // pyodide has no system but its own memory.
    program: attempt(
      "import sys\nassert sys.platform != 'emscripten'\nfor path in ('/usr/rl-attack', '/etc/rl-attack', '/rl-attack', '/dev/rl-attack', 'HOST_HOME/rl-attack'):\n    try:\n        open(path, 'w').close()\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError('all refused')",
    ),
  },
  {
    name: 'read-host',
    what: 'reads files of the host',
    program: attempt(
      "for path in ('/etc/passwd', '/etc/shadow', 'HOST_HOME/.bashrc', 'HOST_HOME/.ssh/id_rsa', '/proc/1/root/etc/passwd', '/proc/kcore'):\n    try:\n        open(path, 'rb').read(1)\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError('all refused')",
    ),
  },
  {
    name: 'proc-environ',
    what: 'looks for secrets in the environments of all processes',
    program: attempt(
      "import os\nfound = [os.environ.get('SECRET_NAME')]\nfor pid in os.listdir('/proc'):\n    try:\n        found.append(b'SECRET_NAME' in open(f'/proc/{pid}/environ', 'rb').read() or None)\n    except OSError:\n        pass\nassert any(found)",
    ),
  },
  {
    name: 'runner-memory',
    what: "writes into its parent's memory and looks at its descriptors",
    program: attempt(
      "import os\nparent = os.getppid()\nassert parent > 0\ntry:\n    open(f'/proc/{parent}/mem', 'r+b').read(1)\nexcept OSError:\n    os.listdir(f'/proc/{parent}/fd')",
    ),
  },
  {
    name: 'kill-parent',
    what: 'kills its parent and everyone else, then goes on',
    program:
      "import os, signal\nfor pid in (os.getppid(), 1, -1):\n    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):\n        try:\n            os.kill(pid, number)\n        except OSError:\n            pass\nprint('still here')\n",
  },
  {
    name: 'kill-self',
    what: 'kills its own process group',
    program: 'import os\nos.killpg(0, 9)\nprint("still here")\n',
  },
  {
    name: 'gigabyte-output',
    what: 'prints 1 GB',
    program: "line = 'x' * (1 << 20)\nfor _ in range(1024):\n    print(line)\n",
  },
  {
    name: 'gigabyte-errors',
    what: 'prints 1 GB of errors',
    program: "import sys\nline = 'x' * (1 << 20)\nfor _ in range(1024):\n    sys.stderr.write(line)\n",
  },
  {
    name: 'symlinks',
    what: 'reaches outside through links in its folder',
    program: attempt(
      "import os\nos.symlink('/etc', '/tmp/etc')\nos.symlink('/proc/1/root', '/tmp/root')\nfor path in ('/tmp/etc/passwd', '/tmp/root/etc/passwd', '/tmp/../etc/passwd'):\n    try:\n        open(path).read(1)\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError('all refused')",
    ),
  },
  {
    name: 'full-disk',
    what: 'fills its folder with files',
    program:
      "block = b'x' * (8 << 20)\nfor number in range(256):\n    with open(f'/tmp/file{number}', 'wb') as file:\n        file.write(block)\nprint('ESCAPED')\n",
  },
  {
    name: 'many-files',
    what: 'leaves a deep tree of folders',
    program:
      "import os\nfor _ in range(300):\n    os.mkdir('d')\n    os.chdir('d')\n    open('f', 'w').close()\nprint('left')\n",
  },
  {
    name: 'close-descriptors',
    what: 'closes and overwrites every descriptor',
    program:
      "import os\nfor fd in range(3, 1024):\n    try:\n        os.write(fd, b'R\\x00\\x00\\x00\\x00S-' + bytes(100))\n    except OSError:\n        pass\nos.closerange(0, 1024)\n",
  },
  {
    name: 'fake-verdict',
    what: 'prints what looks like results',
    program:
      'import sys, os\nframe = b\'{"outcome": "ended", "verdict": "ok", "passed": true, "code": 0}\\n\'\nfor stream in (sys.stdout.buffer, sys.stderr.buffer):\n    stream.write(frame)\n    stream.flush()\nos._exit(1)\n',
  },
  {
    name: 'read-tests',
    what: 'looks for the other test in memory and in files',
    // The mark is written backwards, so that the program does not find itself.
    program: attempt(
      "import gc, glob, os\nmark = '2REKRAM'\nfound = False\nfor thing in gc.get_objects():\n    if isinstance(thing, dict):\n        found = found or any(isinstance(value, (str, bytes)) and len(value) < 99 and mark in str(value)[::-1] for value in list(thing.values()))\nfor path in glob.glob('/tmp/**', recursive=True):\n    if os.path.isfile(path):\n        found = found or mark in open(path, errors='replace').read()[::-1]\nassert found",
    ),
  },
  {
    name: 'leave-a-note',
    what: 'hides a note from one test for the next',
    program:
      "import builtins, json, os, sys\nnote = '/tmp/note'\nif os.path.exists(note) or hasattr(builtins, 'note') or hasattr(json, 'note'):\n    print('ESCAPED')\nopen(note, 'w').close()\nbuiltins.note = json.note = True\nbuiltins.print = None\n",
  },
  {
    name: 'trace-parent',
    what: 'attaches to its parent as a debugger',
    program: attempt(
      'import ctypes, os\nlibc = ctypes.CDLL(None)\nif libc.ptrace(16, os.getppid(), 0, 0) != 0:\n    raise OSError',
    ),
  },
  {
    name: 'new-namespace',
    what: 'makes itself root of a new user namespace and mounts',
    program: attempt(
      'import ctypes\nlibc = ctypes.CDLL(None)\nif libc.unshare(0x10000000) != 0:\n    raise OSError',
    ),
  },
  {
    name: 'javascript',
    what: 'leaves the interpreter through its bridge to JavaScript',
    program: attempt(
      "try:\n    from js import process\nexcept ImportError:\n    from pyodide.ffi import to_js\n    to_js([1]).constructor.constructor('return process')().version",
    ),
  },
  {
    name: 'compile-bomb',
    what: 'breaks the compiler',
    program: `${'('.repeat(5000)}1${')'.repeat(5000)}\n`,
  },
  {
    name: 'interrupt-first-process',
    what: 'sends SIGINT to process 1 and to its parent',
    program: "import os\nfor pid in (1, os.getppid() or 1):\n    os.kill(pid, 2)\nprint('sent')\n",
  },
  {
    name: 'lock-scratch',
    what: 'takes all rights from its folders',
    program:
      "import os\nfor path in ('/tmp', '/box', '/dev/shm', '.'):\n    try:\n        os.chmod(path, 0)\n    except OSError:\n        pass\n",
  },
  {
    name: 'limit-others',
    what: 'lowers the limits of other processes',
    program:
      "import os, resource\nfor pid in {1, os.getppid()} - {0, os.getpid()}:\n    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3))\n    print('ESCAPED')\n",
  },
  {
    name: 'oom-preference',
    what: 'makes itself the last to be ended, then fills files in memory',
    program:
      "import os\nfor pid in ('self', '1', str(os.getppid())):\n    try:\n        open(f'/proc/{pid}/oom_score_adj', 'w').write('0')\n    except OSError:\n        pass\nfd = os.memfd_create('x')\nos.ftruncate(fd, 1 << 34)\nwhile True:\n    os.write(fd, b'x' * (1 << 20))\n",
  },
  {
    name: 'idle-others',
    what: 'gives other processes the lowest scheduling class and spins',
    program:
      "import os\nfor pid in {1, os.getppid()} - {0, os.getpid()}:\n    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))\n    print('ESCAPED')\nfor _ in range(8):\n    if os.fork() == 0:\n        while True:\n            pass\n",
  },
  {
    name: 'pin-others',
    what: 'pins other processes to one processor',
    program: attempt('import os\nassert os.getpid() != 1\nos.sched_setaffinity(1, {0})'),
  },
  {
    name: 'unseen-children',
    what: "ignores SIGCHLD, so that the time of its children is nobody's",
    program:
      "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nbegun = time.monotonic()\nfor _ in range(400):\n    if os.fork() == 0:\n        end = time.process_time() + 0.015\n        while time.process_time() < end:\n            pass\n        os._exit(0)\n    time.sleep(0.012)\nprint('ESCAPED')\n",
  },
  {
    name: 'raw-sigchld',
    what: 'ignores SIGCHLD by the system call itself',
    program:
      "import ctypes, os, time\nlibc = ctypes.CDLL(None)\nblock = ctypes.create_string_buffer((1).to_bytes(8, 'little') + bytes(24))\nlibc.syscall(13, 17, block, 0, 8)\nfor _ in range(400):\n    if os.fork() == 0:\n        end = time.process_time() + 0.015\n        while time.process_time() < end:\n            pass\n        os._exit(0)\n    time.sleep(0.012)\nprint('ESCAPED')\n",
  },
  {
    name: 'memory-files',
    what: 'holds its data in memory files that no process maps',
    program:
      "import os\nfds = [os.memfd_create(str(i)) for i in range(16)]\nfor fd in fds:\n    for _ in range(16):\n        os.write(fd, b'x' * (1 << 20))\nprint('ESCAPED')\n",
  },
  {
    name: 'shared-mapping',
    what: 'fills shared memory and lets go of its pages',
    program:
      "import mmap\nheld = []\nfor _ in range(20):\n    block = mmap.mmap(-1, 16 << 20)\n    for at in range(0, 16 << 20, 4096):\n        block[at] = 1\n    block.madvise(mmap.MADV_DONTNEED)\n    held.append(block)\nprint('ESCAPED')\n",
  },
  {
    name: 'shared-zero-device',
    what: 'fills shared memory behind a device and lets go of its pages',
    program:
      "import mmap, os\nfd = os.open('/dev/zero', os.O_RDWR)\nheld = []\nfor _ in range(20):\n    block = mmap.mmap(fd, 16 << 20, flags=mmap.MAP_SHARED)\n    for at in range(0, 16 << 20, 4096):\n        block[at] = 1\n    block.madvise(mmap.MADV_DONTNEED)\n    held.append(block)\nprint('ESCAPED')\n",
  },
  {
    name: 'socket-buffers',
    what: 'parks data in the buffers of sockets',
    program:
      "import socket\nheld = []\nsize = 0\nwhile size < 256 << 20:\n    a, b = socket.socketpair()\n    a.setblocking(False)\n    try:\n        while True:\n            size += a.send(b'x' * 65536)\n    except OSError:\n        pass\n    held.append((a, b))\nprint('ESCAPED')\n",
  },
  {
    name: 'many-large-files',
    what: 'writes 1.2 GB of files',
    program:
      "for i in range(1200):\n    with open(f'/tmp/file{i}', 'wb') as file:\n        file.write(b'x' * (1 << 20))\nprint('ESCAPED')\n",
  },
  {
    name: 'sparse-file',
    what: 'makes a file of a terabyte and reads it',
    program: attempt(
      "with open('/tmp/sparse', 'wb') as file:\n    file.truncate(1 << 40)\nassert len(open('/tmp/sparse', 'rb').read(1 << 30)) == 1 << 30",
    ),
  },
  {
    name: 'many-names',
    what: 'makes a million empty files',
    program:
      "import os\nfor i in range(1000000):\n    os.close(os.open(f'/tmp/n{i}', os.O_CREAT))\nprint('ESCAPED')\n",
  },
  {
    name: 'output-in-sum',
    what: 'prints from sixteen processes at once',
    program:
      "import os\nfor _ in range(4):\n    os.fork()\nwhile True:\n    os.write(1, b'x' * 65536)\n    os.write(2, b'x' * 65536)\n",
  },
  {
    name: 'read-keyrings',
    what: 'reads the keys of its session and its user',
    program: attempt(
      'import ctypes\nlibc = ctypes.CDLL(None)\nbuffer = ctypes.create_string_buffer(4096)\nassert any(libc.syscall(250, 11, ring, buffer, 4096) > 0 for ring in (-3, -4, -5))',
    ),
  },
  {
    name: 'note-in-keyring',
    what: 'leaves a key for the next program',
    program: attempt(
      "import ctypes\nlibc = ctypes.CDLL(None)\nfound = any(libc.syscall(250, 10, ring, b'user', b'rl-note', 0) > 0 for ring in (-3, -4))\nfor ring in (-3, -4):\n    libc.syscall(248, b'user', b'rl-note', b'x', 1, ring)\nassert found",
    ),
  },
  {
    name: 'read-usr',
    what: 'reads what others keep under /usr',
    program: attempt(
      "import os, sys\nassert sys.platform != 'emscripten' and any(os.path.isdir(path) and os.listdir(path) for path in ('/usr/src', '/usr/local', '/usr/share/doc', '/usr/include', '/usr/sbin', '/etc', '/var', '/home', '/root', '/opt', '/mnt', '/srv', '/sys'))",
    ),
  },
  {
    name: 'note-in-scratch-mode',
    what: 'leaves a note in the mode and the times of its folder',
    program:
      "import os\ninfo = os.stat('/tmp')\nif info.st_mode & 0o1000 or int(info.st_mtime) == 86400:\n    print('ESCAPED')\nfor act in (lambda: os.chmod('/tmp', 0o1777), lambda: os.utime('/tmp', (86400, 86400))):\n    try:\n        act()\n    except OSError:\n        pass\n",
  },
  {
    name: 'note-in-attributes',
    what: 'leaves a note in extended attributes',
    program:
      "import os\nfor path in ('/tmp', '/box', '/'):\n    try:\n        if b'rl' in os.getxattr(path, 'user.rl'):\n            print('ESCAPED')\n    except (OSError, AttributeError):\n        pass\n    try:\n        os.setxattr(path, 'user.rl', b'rl')\n    except (OSError, AttributeError):\n        pass\n",
  },
  {
    name: 'note-in-shared-memory',
    what: 'leaves a note in System V and POSIX shared memory',
    program:
      "import ctypes, os, sys\nif sys.platform != 'emscripten':\n    libc = ctypes.CDLL(None)\n    if libc.syscall(29, 4711, 4096, 0o600) >= 0:\n        print('ESCAPED')\n    libc.syscall(29, 4711, 4096, 0o1600)\nif os.path.exists('/dev/shm/rl'):\n    print('ESCAPED')\nopen('/dev/shm/rl', 'w').close()\n",
  },
  {
    name: 'note-in-process-numbers',
    what: 'tells by its process number how many ran before',
    program:
      "import os\nif os.getpid() > 100:\n    print('ESCAPED')\nfor _ in range(300):\n    try:\n        pid = os.fork()\n    except OSError:\n        break\n    if pid == 0:\n        os._exit(0)\n    os.waitpid(pid, 0)\n",
  },
  {
    name: 'note-in-affinity',
    what: 'leaves a note in the processors that it may use',
    program:
      "import os\nif len(os.sched_getaffinity(0)) == 1 and os.cpu_count() != 1:\n    print('ESCAPED')\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n",
  },
  {
    name: 'note-in-ports',
    what: 'leaves a note in the ports that are in use',
    program:
      "import socket\ntry:\n    server = socket.socket()\n    server.bind(('127.0.0.1', 40404))\n    server.listen(1)\n    client = socket.create_connection(('127.0.0.1', 40404), 1)\n    server.accept()[0].close()\n    client.close()\nexcept OSError as error:\n    if error.errno == 98:\n        print('ESCAPED')\n",
  },
  {
    name: 'note-in-abstract-socket',
    what: 'leaves a listener in the abstract namespace',
    program:
      "import os, socket, sys\nserver = socket.socket(socket.AF_UNIX)\ntry:\n    server.bind('\\0rl-note')\nexcept OSError as error:\n    if error.errno == 98:\n        print('ESCAPED')\nif hasattr(os, 'fork') and sys.platform != 'emscripten' and os.fork() == 0:\n    os.setsid()\n    import time\n    time.sleep(100)\n",
  },
  {
    name: 'note-in-freed-memory',
    what: "looks for another test's text in memory that was freed",
    program:
      "import ctypes, os, re, sys\nown = input()\nprint('FREEDMEM' + ':' + own)\nsys.stdout.flush()\nother = re.compile(b'FREEDMEM' + b':MARKER[' + (b'2' if own.endswith('1') else b'1') + b']')\nlibc = ctypes.CDLL(None)\nlibc.sbrk.restype = ctypes.c_void_p\nreader, writer = os.pipe()\nfor centre in (id(object()), libc.sbrk(0)):\n    for page in range((centre & ~4095) - (16 << 20), (centre & ~4095) + (16 << 20), 32768):\n        size = libc.write(writer, ctypes.c_void_p(page), 32768)\n        if size > 0 and other.search(os.read(reader, size)):\n            print('ESCAPED')\n",
  },
  {
    name: 'io-uring',
    what: 'opens an io_uring, which no filter of system calls sees into',
    program: attempt(
      'import ctypes\nassert ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(256)) >= 0',
    ),
  },
  {
    name: 'other-sockets',
    what: 'opens sockets of families beyond the network',
    program: attempt(
      "import socket, sys\nassert sys.platform != 'emscripten'\nfor family, kind in ((40, 1), (16, 3), (38, 5), (17, 3), (31, 3), (29, 3)):\n    try:\n        socket.socket(family, kind)\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError",
    ),
  },
  {
    name: 'kernel-interfaces',
    what: 'tries bpf, perf, userfaultfd, kexec, modules, keys, clocks and the like',
    program: attempt(
      'import ctypes\nlibc = ctypes.CDLL(None)\nassert any(libc.syscall(number, 0, 0, 0, 0, 0) >= 0 for number in (321, 298, 323, 246, 175, 313, 248, 159, 227, 163, 165, 167, 169, 103, 310, 311, 438, 428, 442))',
    ),
  },
  {
    name: 'other-memory',
    what: "reads and writes other processes' memory and descriptors",
    program: attempt(
      'import ctypes, os\nlibc = ctypes.CDLL(None)\nbuffer = ctypes.create_string_buffer(64)\nvector = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)\nassert any(libc.syscall(310, pid, vector, 1, vector, 1, 0) > 0 for pid in (os.getppid() or -1,)) or libc.syscall(438, libc.syscall(434, 1, 0), 0, 0) >= 0',
    ),
  },
  {
    name: 'namespaces-by-clone',
    what: 'makes namespaces by clone, clone3, unshare and setns',
    program: attempt(
      'import ctypes, os\nlibc = ctypes.CDLL(None)\npid = libc.syscall(56, 0x10000011, 0, 0, 0, 0)\nif pid == 0:\n    os._exit(0)\nassert pid > 0 or any(libc.unshare(flag) == 0 for flag in (0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000, 0x2000000))',
    ),
  },
  {
    name: 'mounts',
    what: 'mounts, unmounts and changes its root',
    program: attempt(
      "import ctypes\nlibc = ctypes.CDLL(None)\nassert 0 in (libc.mount(b'none', b'/tmp', b'tmpfs', 0, None), libc.umount2(b'/box', 2), libc.umount2(b'/tmp', 2), libc.chroot(b'/tmp'))",
    ),
  },
  {
    name: 'become-root',
    what: 'takes another user, groups and capabilities',
    program: attempt(
      "import os, sys\nassert sys.platform != 'emscripten'\nfor act in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgroups([0]), lambda: os.setgid(0)):\n    try:\n        act()\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError\nassert os.getuid() == 0",
    ),
  },
  {
    name: 'control-groups',
    what: 'looks for control groups and writes to them',
    program: attempt(
      "import os\nfor root, folders, names in os.walk('/sys/fs/cgroup'):\n    for name in names:\n        try:\n            open(os.path.join(root, name), 'w').write('max')\n            break\n        except OSError:\n            pass\n    else:\n        continue\n    break\nelse:\n    raise OSError",
    ),
  },
  {
    name: 'process-files',
    what: 'looks at other processes through /proc',
    program: attempt(
      "import os\nothers = [pid for pid in os.listdir('/proc') if pid.isdigit() and pid != str(os.getpid())]\nassert others",
    ),
  },
  {
    name: 'raise-limits',
    what: 'raises its own limits',
    program: attempt(
      "import resource, sys\nassert sys.platform != 'emscripten'\nfor name in (resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_AS):\n    try:\n        resource.setrlimit(name, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n        break\n    except (OSError, ValueError):\n        pass\nelse:\n    raise OSError",
    ),
  },
  {
    name: 'daemon',
    what: 'leaves a process in a session of its own that works for ever',
    program:
      "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True:\n            open('/tmp/daemon', 'a').write('x')\n            time.sleep(0.01)\n    os._exit(0)\nos.wait()\nprint('left')\n",
  },
  {
    name: 'short-children',
    what: 'does its work in thousands of short children',
    program:
      'import os\nwhile True:\n    pid = os.fork()\n    if pid == 0:\n        sum(range(20000))\n        os._exit(0)\n    os.waitpid(pid, 0)\n',
  },
  {
    name: 'zombies',
    what: 'waits for none of its children',
    program:
      'import os\nwhile True:\n    try:\n        if os.fork() == 0:\n            os._exit(0)\n    except OSError:\n        pass\n',
  },
  {
    name: 'stopped-forever',
    what: 'stops itself and its children',
    program:
      'import os, signal\nif os.fork():\n    os.wait()\nos.kill(0, signal.SIGSTOP)\nwhile True:\n    signal.pause()\n',
  },
  {
    name: 'deaf',
    what: 'blocks and ignores every signal',
    program:
      "import signal\nfor number in range(1, 65):\n    try:\n        signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)) if hasattr(signal, 'pthread_sigmask') else None\nwhile True:\n    pass\n",
  },
  {
    name: 'crash',
    what: 'crashes the interpreter',
    program: 'import ctypes\nctypes.string_at(0)\n',
  },
  {
    name: 'stack-overflow',
    what: 'overflows the stack of the interpreter',
    program:
      "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __getattr__(self, name):\n        return getattr(self, name + 'x')\nA().x\n",
  },
  {
    name: 'forged-result-line',
    what: 'prints what an assertion would, and ends',
    program: "import os\nos.write(1, b'\\n1\\nTrue\\n')\nos._exit(0)\n",
  },
  {
    name: 'forged-mark',
    what: "finds the mark of a test in its caller's frame and answers in its place",
    program:
      "import json, os, sys\nframe = sys._getframe()\nwhile frame:\n    task = frame.f_locals.get('task')\n    if isinstance(task, dict) and 'mark' in task:\n        for value in (True, 1, 'True'):\n            os.write(1, ('\\n' + task['mark'] + ' ' + json.dumps([{'value': value}] * len(task['calls'])) + '\\n').encode())\n        os._exit(0)\n    frame = frame.f_back\n",
  },
  {
    name: 'forged-mark-no-result',
    what: 'answers in the place of a test with what is no result',
    program:
      "import os, sys\nframe = sys._getframe()\nwhile frame:\n    task = frame.f_locals.get('task')\n    if isinstance(task, dict) and 'mark' in task:\n        os.write(1, ('\\n' + task['mark'] + ' ' + str([5] * len(task['calls'])) + '\\n').encode())\n        os._exit(0)\n    frame = frame.f_back\n",
  },
  {
    name: 'forged-mark-deep',
    what: 'answers in the place of a test with a value that is too deep to be read',
    program:
      "import os, sys\nframe = sys._getframe()\nwhile frame:\n    task = frame.f_locals.get('task')\n    if isinstance(task, dict) and 'mark' in task:\n        os.write(1, ('\\n' + task['mark'] + ' ' + '[' + ', '.join(['{\"value\": ' + '[\"l\", ' * 100000 + '1' + ']' * 100000 + '}'] * len(task['calls'])) + ']' + '\\n').encode())\n        os._exit(0)\n    frame = frame.f_back\n",
  },
  {
    name: 'forged-strangers',
    what: 'answers in the place of a test with values of kinds that there are not',
    program:
      "import json, os, sys\nvalues = [['x', 'a', 'b'], ['g'], ['k', 1], ['d', [['d'], 1]], ['n', 'os.system'], ['m', 'sNaN'], ['q', '0x1', '0x0'], ['c', 'nan', 'inf'], ['r', 0, 1e308, 0], ['i', '__import__'], ['b', 'zz'], ['zz', 1], ['s', ['l']], '\\ud800', ['m', '1e99999999999999999999']]\nframe = sys._getframe()\nwhile frame:\n    task = frame.f_locals.get('task')\n    if isinstance(task, dict) and 'mark' in task:\n        value = values[sum(task['calls'][0][1]) % len(values)]\n        os.write(1, ('\\n' + task['mark'] + ' ' + json.dumps([{'value': value}] * len(task['calls'])) + '\\n').encode())\n        os._exit(0)\n    frame = frame.f_back\n",
  },
  {
    name: 'lying-classes',
    what: 'returns and raises objects whose classes lie about themselves',
    program:
      "class Kind(type):\n    __name__ = property(lambda self: ['x'])\n    __module__ = property(lambda self: 'numpy')\n    __eq__ = lambda self, other: True\n    __hash__ = lambda self: 1\n    __instancecheck__ = lambda self, other: True\n    def __getattr__(self, name):\n        return lambda *args: self\nclass Lie(Exception, metaclass=Kind):\n    __class__ = int\n    tolist = lambda self: self\n    __index__ = lambda self: 7\ndef solve(*args):\n    if args[0] % 2:\n        raise Lie()\n    return Lie()\n",
  },
  {
    name: 'descriptors-in-flight',
    what: 'hides filled pipes in sockets that hold nothing but one another',
    program:
      "import array, os, socket\nwhile True:\n    try:\n        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n        reader, writer = os.pipe()\n        os.set_blocking(writer, False)\n        try:\n            while True:\n                os.write(writer, b'x' * 65536)\n        except OSError:\n            pass\n        for one in (a, b):\n            one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [a.fileno(), b.fileno(), reader, writer]))])\n        for fd in (reader, writer):\n            os.close(fd)\n        a.close()\n        b.close()\n    except OSError:\n        continue\n",
  },
  {
    name: 'end-of-iteration',
    what: 'ends the iteration of whoever calls it',
    program: 'def solve(*args):\n    raise StopIteration\n',
  },
  {
    name: 'always-equal',
    what: 'returns something that equals everything',
    program:
      "class Any(int):\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n    __hash__ = int.__hash__\n    __lt__ = __gt__ = __le__ = __ge__ = __eq__\n    __bool__ = lambda self: True\nclass Text(str):\n    __eq__ = lambda self, other: True\n    __hash__ = str.__hash__\ndef solve(*args):\n    return Any(7)\nprint(Text('x'))\n",
  },
  {
    name: 'equal-object',
    what: 'returns an object of a class that equals everything',
    program:
      'class Any:\n    def __eq__(self, other):\n        return True\n    def __len__(self):\n        return 1\n    def __getattr__(self, name):\n        return self\ndef solve(*args):\n    return Any()\n',
  },
  {
    name: 'changed-builtins',
    what: 'changes built-in functions and modules under its caller',
    program:
      "import builtins, json, sys\nbuiltins.eval = builtins.exec = builtins.compile = lambda *args: True\nbuiltins.bool = lambda *args: True\nbuiltins.AssertionError = type('Never', (Exception,), {})\njson.dumps = lambda *args, **kwargs: '[{\"value\": true}]'\njson.loads = lambda *args, **kwargs: {'passed': True, 'wanted': []}\nsys.modules['unittest'] = sys.modules['json']\ndef solve(*args):\n    return True\n",
  },
  {
    name: 'frames',
    what: "searches its callers' frames and all objects for what is expected",
    program:
      "import gc, sys\nfound = []\nframe = sys._getframe()\nwhile frame:\n    found += [value for name, value in {**frame.f_globals, **frame.f_locals}.items() if 'expect' in name or 'output' in name or 'answer' in name]\n    frame = frame.f_back\nfor thing in gc.get_objects():\n    if isinstance(thing, dict) and ('expected' in thing or 'output' in thing):\n        found.append(thing.get('expected') or thing.get('output'))\nfor value in found[:20]:\n    print(str(value)[:200])\ndef solve(*args):\n    return found[0] if found else None\n",
  },
  {
    name: 'trace-the-grader',
    what: 'traces whoever calls it',
    program:
      "import sys, threading\nseen = []\ndef trace(frame, event, arg):\n    seen.append((event, arg))\n    for name in ('expected', 'passed', 'wanted'):\n        if name in frame.f_locals:\n            frame.f_locals[name] = True\n    return trace\nsys.settrace(trace)\nsys.setprofile(trace)\nthreading.settrace(trace)\ndef solve(*args):\n    return True\n",
  },
  {
    name: 'exit-handlers',
    what: 'prints and ends the process in exit handlers, finalizers and hooks',
    program:
      "import atexit, os, sys\ndef finish(*args):\n    os.write(1, b'True\\n')\n    os._exit(0)\natexit.register(finish)\nsys.excepthook = finish\nsys.unraisablehook = finish\nclass Last:\n    __del__ = finish\nlast = Last()\nraise ValueError\n",
  },
  {
    name: 'import-hooks',
    what: 'answers imports with modules of its own',
    program:
      "import sys, types\nclass Finder:\n    def find_spec(self, name, path=None, target=None):\n        sys.modules[name] = module = types.ModuleType(name)\n        module.__getattr__ = lambda attribute: lambda *args, **kwargs: True\n        return None\nsys.meta_path.insert(0, Finder())\nsys.path_hooks.insert(0, lambda path: Finder())\nfor name in list(sys.modules):\n    if name not in ('sys', 'builtins', '__main__'):\n        del sys.modules[name]\ndef solve(*args):\n    return True\n",
  },
  {
    name: 'poisoned-modules',
    what: 'puts modules that every later program would import into its folders',
    program:
      "import os, sys\nfor folder in ['/tmp', '.'] + sys.path:\n    for name in ('sitecustomize', 'usercustomize', 'json', 'heapq', 'collections', 'random'):\n        try:\n            open(os.path.join(folder, name + '.py'), 'w').write(\"print('ESCAPED')\")\n        except OSError:\n            pass\n",
  },
  {
    name: 'late-thread',
    what: 'prints from a thread after its main thread has ended',
    program:
      "import os, threading, time\ndef late():\n    time.sleep(0.3)\n    os.write(1, b'True\\n')\n    os._exit(0)\nthreading.Thread(target=late).start()\ndef solve(*args):\n    return True\n",
  },
  {
    name: 'environment-and-locale',
    what: 'changes environment, locale, encoding and time zone',
    program:
      "import locale, os, sys, time\nos.environ.update(LANG='xx', LC_ALL='tr_TR.UTF-8', PYTHONPATH='/tmp', PYTHONSTARTUP='/tmp/x', LD_PRELOAD='/tmp/x.so', TZ='x')\ntry:\n    locale.setlocale(locale.LC_ALL, 'tr_TR.UTF-8')\nexcept locale.Error:\n    pass\nif hasattr(time, 'tzset'):\n    time.tzset()\nsys.stdout.reconfigure(encoding='utf-16')\nprint('True')\n",
  },
  {
    name: 'broken-text',
    what: 'prints bytes that are no text, marks of direction and ends of files',
    program:
      "import os\nos.write(1, b'\\xff\\xfe\\x00\\x1a\\x04\\xed\\xa0\\x80' * 1000 + '\\u202e\\ufeff\\x1b[2J'.encode())\n",
  },
  {
    name: 'slow-comparison',
    what: 'prints what a naive comparison takes for ever to read',
    program: "print('1' * 400000 + 'x')\nprint(' ' * 300000 + 'x')\nprint('[' * 100000)\n",
  },
  {
    name: 'deep-value',
    what: 'returns values that cannot be read: deep, endless, huge',
    program:
      "def solve(*args):\n    value = []\n    for _ in range(100000):\n        value = [value]\n    return value\nprint('[' * 500000)\n",
  },
  {
    name: 'huge-number',
    what: 'returns numbers of a million digits',
    program:
      "import sys\nif hasattr(sys, 'set_int_max_str_digits'):\n    sys.set_int_max_str_digits(0)\ndef solve(*args):\n    return 7 ** 300000\nprint(solve())\n",
  },
  {
    name: 'reopen-input',
    what: 'writes to its input and to the files of its test',
    program:
      "import os\nfor path in ('/dev/stdin', '/box/stdin', '/proc/self/fd/0'):\n    for mode in ('w', 'r+', 'a'):\n        try:\n            open(path, mode).write('ESCAPED')\n        except OSError:\n            pass\ntry:\n    os.write(0, b'x' * (1 << 26))\nexcept OSError:\n    pass\nos.ftruncate(0, 1 << 40)\n",
  },
  {
    name: 'descriptors',
    what: 'looks for descriptors that it was not given',
    program: attempt(
      "import os, sys\nassert sys.platform != 'emscripten'\nfor fd in range(3, 4096):\n    try:\n        os.fstat(fd)\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError",
    ),
  },
  {
    name: 'javascript-by-garbage',
    what: 'finds the bridge to JavaScript among all objects',
    program:
      "import gc, sys\nfor thing in gc.get_objects():\n    kind = type(thing).__name__\n    if kind in ('JsFinder', 'JsLoader', 'JsProxy') or type(thing).__module__.startswith('pyodide'):\n        proxies = getattr(thing, 'jsproxies', {})\n        for proxy in list(proxies.values()) if isinstance(proxies, dict) else [thing]:\n            for name in dir(proxy):\n                try:\n                    setattr(proxy, name, lambda *args: 'ESCAPED')\n                except Exception:\n                    pass\n",
  },
  {
    name: 'javascript-later',
    what: 'leaves work for the event loop of its host',
    program:
      "import asyncio\nasync def later():\n    await asyncio.sleep(0.2)\n    print('ESCAPED')\ntry:\n    asyncio.ensure_future(later())\nexcept RuntimeError:\n    pass\ntry:\n    loop = asyncio.new_event_loop()\n    loop.call_later(0.1, print, 'ESCAPED')\nexcept Exception:\n    pass\n",
  },
]
