/** Hostile programs that a sandbox must contain. Each prints ESCAPED, and nothing else prints that, where it gets through. */
import {
  DEFAULT_LIMITS,
  type Executor,
  type Limits,
  type RunResult,
  runAll,
  type Verdict,
} from './executor.ts'

export type Attack = {
  readonly name: string
  readonly what: string
  readonly program: string
  /** The verdicts that containment allows; any where absent. */
  readonly verdicts?: readonly Verdict[]
  /** Whether what it leaves behind could show in a second test of the same program. */
  readonly twice?: boolean
}

export const ATTACK_LIMITS: Limits = { ...DEFAULT_LIMITS, cpuMs: 500, wallMs: 3000, memoryMB: 128 }

const FAILS: readonly Verdict[] = ['runtime_error', 'timeout', 'memory', 'output_limit', 'compile_error']

/** Python that tries something and tells whether it worked. */
const attempt = (statements: string) => `try:
${statements.replace(/^/gm, '    ')}
    print('ESCAPED')
except BaseException as error:
    print('refused', type(error).__name__)
`

export const ATTACKS: readonly Attack[] = [
  {
    name: 'fork-bomb',
    what: 'forks for ever',
    program: 'import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n',
    verdicts: FAILS,
  },
  {
    name: 'thread-bomb',
    what: 'starts threads for ever',
    program:
      'import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,)).start()\n',
    verdicts: FAILS,
  },
  {
    name: 'memory-bomb',
    what: 'allocates for ever',
    program: "blocks = []\nwhile True:\n    blocks.append(b'x' * (1 << 20))\n",
    verdicts: ['memory'],
  },
  {
    name: 'memory-in-children',
    what: 'shares a large allocation out to children',
    program:
      "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        block = b'x' * (40 << 20)\n        time.sleep(60)\ntime.sleep(60)\n",
    verdicts: FAILS,
  },
  { name: 'endless-loop', what: 'never ends', program: 'while True:\n    pass\n', verdicts: ['timeout'] },
  {
    name: 'unbreakable-loop',
    what: 'never ends and catches everything',
    program:
      'while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n',
    verdicts: ['timeout'],
  },
  {
    name: 'sleep',
    what: 'waits for ever without using the processor',
    program: 'import time\ntime.sleep(10000)\n',
    verdicts: ['timeout'],
  },
  {
    name: 'busy-children',
    what: 'spreads its work over children, each below the limit',
    program:
      'import os\nfor _ in range(6):\n    if os.fork() == 0:\n        while True:\n            pass\nos.wait()\n',
    verdicts: FAILS,
  },
  {
    name: 'orphans',
    what: 'leaves children behind in sessions of their own',
    program:
      "import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            time.sleep(600)\n        os._exit(0)\nprint('left')\n",
    twice: true,
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
      "import sys\nassert sys.platform != 'emscripten'\nfor path in ('/usr/rl-attack', '/etc/rl-attack', '/rl-attack', '/dev/rl-attack', '/root/rl-attack'):\n    try:\n        open(path, 'w').close()\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError('all refused')",
    ),
  },
  {
    name: 'read-host',
    what: 'reads files of the host',
    program: attempt(
      "for path in ('/etc/passwd', '/etc/shadow', '/root/.bashrc', '/root/.ssh/id_rsa', '/proc/1/root/etc/passwd', '/proc/kcore'):\n    try:\n        open(path, 'rb').read(1)\n        break\n    except OSError:\n        pass\nelse:\n    raise OSError('all refused')",
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
    twice: true,
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
    verdicts: ['output_limit'],
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
    verdicts: FAILS,
  },
  {
    name: 'many-files',
    what: 'leaves a deep tree of folders',
    program:
      "import os\nfor _ in range(300):\n    os.mkdir('d')\n    os.chdir('d')\n    open('f', 'w').close()\nprint('left')\n",
    twice: true,
  },
  {
    name: 'close-descriptors',
    what: 'closes and overwrites every descriptor',
    program:
      "import os\nfor fd in range(3, 1024):\n    try:\n        os.write(fd, b'R\\x00\\x00\\x00\\x00S-' + bytes(100))\n    except OSError:\n        pass\nos.closerange(0, 1024)\n",
    twice: true,
  },
  {
    name: 'fake-verdict',
    what: 'prints what looks like results',
    program:
      'import sys, os\nframe = b\'{"outcome": "ended", "verdict": "ok", "passed": true, "code": 0}\\n\'\nfor stream in (sys.stdout.buffer, sys.stderr.buffer):\n    stream.write(frame)\n    stream.flush()\nos._exit(1)\n',
    verdicts: ['runtime_error'],
  },
  {
    name: 'read-tests',
    what: 'looks for the other test in memory and in files',
    // The mark is written backwards, so that the program does not find itself.
    program: attempt(
      "import gc, glob, os\nmark = '2REKRAM'\nfound = False\nfor thing in gc.get_objects():\n    if isinstance(thing, dict):\n        found = found or any(isinstance(value, (str, bytes)) and len(value) < 99 and mark in str(value)[::-1] for value in list(thing.values()))\nfor path in glob.glob('/tmp/**', recursive=True):\n    if os.path.isfile(path):\n        found = found or mark in open(path, errors='replace').read()[::-1]\nassert found",
    ),
    twice: true,
  },
  {
    name: 'leave-a-note',
    what: 'hides a note from one test for the next',
    program:
      "import builtins, json, os, sys\nnote = '/tmp/note'\nif os.path.exists(note) or hasattr(builtins, 'note') or hasattr(json, 'note'):\n    print('ESCAPED')\nopen(note, 'w').close()\nbuiltins.note = json.note = True\nbuiltins.print = None\n",
    twice: true,
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
    verdicts: FAILS,
  },
]

export type AttackResult = {
  readonly attack: Attack
  readonly contained: boolean
  readonly result: RunResult
}

export const ATTACK_SECRET = 'RL_ATTACK_SECRET'

/** Runs each attack: it is contained where no run got through and the sandbox stood. */
export async function* runAttacks(executor: Executor, port = 9): AsyncIterable<AttackResult> {
  for (const attack of ATTACKS) {
    const program = attack.program.replaceAll('PORT', String(port)).replaceAll('SECRET_NAME', ATTACK_SECRET)
    const stdins = attack.twice ? ['MARKER1\n', 'MARKER2\n'] : ['MARKER1\n']
    const [results] = await runAll(executor, [{ program, stdins, limits: ATTACK_LIMITS }])
    const escaped = results.find((result) => !isContained(attack, result))
    yield { attack, contained: escaped === undefined, result: escaped ?? results[results.length - 1] }
  }
}

const isContained = ({ verdicts }: Attack, { verdict, stdout }: RunResult) =>
  verdict !== 'sandbox_error' && !stdout.includes('ESCAPED') && (verdicts?.includes(verdict) ?? true)
