/**
 * CPython in WebAssembly, in a worker thread of pyodide_host.mjs: one for each program, since the interpreter's JavaScript half
 * cannot be shown to be as it was. Between the tests of a program the linear memory and the files are put back.
 *
 * What stands between a program and this machine: WebAssembly; no JavaScript objects in the interpreter's reach (its bridge
 * modules are removed), and for a program that finds one all the same: no code from strings, frozen built-ins, no sockets,
 * no child processes, and only pyodide's own files readable (flags of the process).
 */
import dgram from 'node:dgram'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import * as threads from 'node:worker_threads'

const { workerData } = threads
const parentPort = /** @type {import('node:worker_threads').MessagePort} */ (threads.parentPort)

const { loadPyodide } = await import(workerData.pyodide)

const PAGE = 65_536
/** Time zones, in the interpreter as on the machine. */
const ZONES = '/usr/share/zoneinfo'
const MOST_ZONE_BYTES = 65_536
const STDERR_TAIL = 4096
/** A memory as large as this is not kept for the next test. */
const MAX_KEPT_BYTES = 256 << 20

// pyodide's file system asks for constants by a way that the permission model closes.
Object.assign(process, {
  binding: () => ({ constants: undefined, fs: fs.constants, os: os.constants }),
})
const refuse = () => {
  throw new Error('there is no network')
}
net.Socket.prototype.connect = refuse
net.Server.prototype.listen = refuse
for (const method of ['bind', 'connect', 'send']) dgram.Socket.prototype[method] = refuse
// Storage's getters of newer Nodes throw where they are only looked at.
for (const name of ['fetch', 'WebSocket', 'EventSource', 'localStorage', 'sessionStorage'])
  delete globalThis[name]

let limitBytes = Number.POSITIVE_INFINITY
const grow = WebAssembly.Memory.prototype.grow
WebAssembly.Memory.prototype.grow = function growWithinLimit(pages) {
  if (this.buffer.byteLength + pages * PAGE > limitBytes) throw new RangeError('out of memory')
  return grow.call(this, pages)
}

const { instantiate } = WebAssembly
WebAssembly.instantiate = /** @type {any} */ (
  async (source, imports) =>
    source instanceof WebAssembly.Module
      ? instantiate(source, imports)
      : { module: workerData.compiled, instance: await instantiate(workerData.compiled, imports) }
)

const pyodide = await loadPyodide({
  jsglobals: Object.create(null),
  env: { HOME: '/tmp', LANG: 'C.UTF-8', PYTHONHASHSEED: '0', ONLINE_JUDGE: '1', PYTHONTZPATH: ZONES },
  // The state after start-up, taken once by a worker that ends with that: a fifth of the time of a start.
  ...(workerData.snapshot ? { _loadSnapshot: workerData.snapshot } : { _makeSnapshot: true }),
})
if (!workerData.snapshot) {
  parentPort.postMessage(pyodide.makeMemorySnapshot())
  process.exit(0)
}
WebAssembly.instantiate = instantiate
const { FS, _module: wasm } = pyodide

let stdin = Buffer.alloc(0)
let position = 0
let stdout = []
let stdoutBytes = 0
let stderr = Buffer.alloc(0)
let outputBytes = 0
let overflow = false

pyodide.setStdin({
  isatty: false,
  read(buffer) {
    const size = Math.min(buffer.length, stdin.length - position)
    buffer.set(stdin.subarray(position, position + size))
    position += size
    return size
  },
})
pyodide.setStdout({
  isatty: false,
  write(buffer) {
    const room = outputBytes - stdoutBytes
    stdoutBytes += buffer.length
    if (room > 0) stdout.push(Buffer.from(buffer.subarray(0, room)))
    if (stdoutBytes > outputBytes) {
      overflow = true
      workerData.interrupt[0] = 2
    }
    return buffer.length
  },
})
pyodide.setStderr({
  isatty: false,
  write(buffer) {
    stderr = Buffer.concat([stderr, buffer]).subarray(-STDERR_TAIL)
    return buffer.length
  },
})

const PROGRAM = '/tmp/main.py'
FS.chdir('/tmp')
pyodide.runPython(`
import asyncio, builtins, gc, io, os, signal, sys, time, types
import _sitebuiltins

# A loop of its own, without sockets: the one of JavaScript would run when the program has ended.
class _Loop(asyncio.base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = self
    def select(self, timeout):
        if timeout is None:
            raise RuntimeError('nothing is left that could end the wait')
        if timeout > 0:
            time.sleep(timeout)
        return ()
    def _process_events(self, events):
        pass
    def _write_to_self(self):
        pass

_Base = getattr(asyncio.events, '_BaseDefaultEventLoopPolicy', None) or asyncio.events.BaseDefaultEventLoopPolicy
class _Policy(_Base):
    _loop_factory = _Loop
(getattr(asyncio.events, '_set_event_loop_policy', None) or asyncio.set_event_loop_policy)(_Policy())
asyncio._set_running_loop(None)

def _rl_run_loop(main, *, debug=None, loop_factory=None):
    with asyncio.Runner(debug=debug, loop_factory=loop_factory) as runner:
        return runner.run(main)

_rl_run_loop.__name__ = _rl_run_loop.__qualname__ = 'run'
asyncio.run = asyncio.runners.run = _rl_run_loop

# Limits that nobody sets here, and an alarm that never rings: programs that ask for either run on.
def _rl_resource():
    module = types.ModuleType('resource')
    module.error = OSError
    module.RLIM_INFINITY = -1
    limits = {}
    names = ('CPU', 'FSIZE', 'DATA', 'STACK', 'CORE', 'RSS', 'NPROC', 'NOFILE', 'MEMLOCK', 'AS')
    for number, name in enumerate(names):
        setattr(module, 'RLIMIT_' + name, number)
        limits[number] = (-1, -1)
    def setrlimit(which, pair):
        soft, hard = pair
        if which not in limits:
            raise ValueError('invalid resource specified')
        limits[which] = (soft, hard)
    module.getrlimit = lambda which: limits[which]
    module.setrlimit = setrlimit
    module.RUSAGE_SELF, module.RUSAGE_CHILDREN = 0, -1
    fields = ('utime', 'stime', 'maxrss', 'ixrss', 'idrss', 'isrss', 'minflt', 'majflt', 'nswap', 'inblock', 'oublock',
              'msgsnd', 'msgrcv', 'nsignals', 'nvcsw', 'nivcsw')
    def getrusage(who):
        return types.SimpleNamespace(**{'ru_' + name: 0 for name in fields} | {'ru_utime': time.process_time()})
    module.getrusage = getrusage
    module.getpagesize = lambda: 65536
    return module

sys.modules['resource'] = _rl_resource()
for _name in ('SIGALRM', 'SIGVTALRM', 'SIGPROF'):
    if not hasattr(signal, _name):
        setattr(signal, _name, {'SIGALRM': 14, 'SIGVTALRM': 26, 'SIGPROF': 27}[_name])
signal.alarm = lambda seconds: 0
signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF = 0, 1, 2
signal.setitimer = lambda which, seconds, interval=0.0: (0.0, 0.0)
signal.getitimer = lambda which: (0.0, 0.0)

def _rl_run(path='${PROGRAM}'):
    with open(path, 'rb') as file:
        source = file.read()
    main = types.ModuleType('__main__')
    main.__file__ = path
    main.__builtins__ = builtins
    main.__annotations__ = {}
    sys.modules['__main__'] = main
    sys.argv = [path]
    sys.stdin = sys.__stdin__ = open(0, encoding='utf-8', closefd=False)
    sys.stdout = sys.__stdout__ = open(1, 'w', encoding='utf-8', closefd=False)
    sys.stderr = sys.__stderr__ = open(2, 'w', buffering=1, encoding='utf-8', errors='backslashreplace', closefd=False)
    try:
        code = compile(source, path, 'exec', dont_inherit=True)
    except BaseException as error:
        sys.excepthook(type(error), error, None)
        return -1
    try:
        try:
            exec(code, main.__dict__)
            status = 0
        except SystemExit as error:
            status = error.code
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            sys.excepthook(type(error), error, error.__traceback__)
            status = 1
        import atexit
        atexit._run_exitfuncs()
        if status is None:
            status = 0
        elif not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
        sys.stdout.flush()
        return status & 255
    except BaseException:
        return 120

builtins.exit = _sitebuiltins.Quitter('exit', 'Ctrl-D (i.e. EOF)')
builtins.quit = _sitebuiltins.Quitter('quit', 'Ctrl-D (i.e. EOF)')
sys.setrecursionlimit(1002)
sys.path.insert(0, '/tmp')
`)
for (const name of ['js', 'pyodide_js']) pyodide.unregisterJsModule(name)
const runProgram = pyodide.globals.get('_rl_run')
pyodide.runPython(`
for name in list(sys.modules):
    if name.split('.')[0] in ('js', 'pyodide_js', 'pyodide', '_pyodide', '_pyodide_core'):
        del sys.modules[name]
sys.meta_path[:] = [finder for finder in sys.meta_path if 'pyodide' not in type(finder).__module__]
gc.collect()
`)
pyodide.setInterruptBuffer(workerData.interrupt)

/** Anything that a program could leave to run later makes this interpreter unfit for the next one. */
let dirty = false
for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'])
  globalThis[name] = () => {
    dirty = true
  }
freezeBuiltins()

/** Files live in JavaScript's memory, beside the program's: they have a bound of their own. */
const MOST_FILES = 4096
const ENOSPC = 51
let fileBytes = Number.POSITIVE_INFINITY
let nodes = 0
/** The node of the test's input. */
let input = null
const { MEMFS } = FS.filesystems
const { createNode, resizeFileStorage } = MEMFS
const fileOperations = MEMFS.ops_table.file.stream
const { write, allocate } = fileOperations
const grown = (node, size) => {
  if (size > (node.contents?.length ?? 0) && size + heldBytes(node) > fileBytes)
    throw new FS.ErrnoError(ENOSPC)
}
fileOperations.write = (stream, buffer, offset, length, position, canOwn) => {
  grown(stream.node, position + length)
  return write(stream, buffer, offset, length, position, canOwn)
}
if (allocate)
  fileOperations.allocate = (stream, offset, length) => {
    grown(stream.node, offset + length)
    return allocate(stream, offset, length)
  }
MEMFS.resizeFileStorage = (node, size) => {
  grown(node, size)
  resizeFileStorage(node, size)
}
MEMFS.createNode = (...args) => {
  if (++nodes > MOST_FILES && Number.isFinite(fileBytes)) throw new FS.ErrnoError(ENOSPC)
  return createNode(...args)
}

/** Bytes of all files that a program can have written, but for one of them; open ones count whether they have a name or not. */
function heldBytes(but) {
  const held = new Set()
  const collect = (node) => {
    if (FS.isDir(node.mode)) for (const child of Object.values(node.contents)) collect(child)
    else held.add(node)
  }
  collect(FS.lookupPath('/tmp').node)
  for (const stream of FS.streams) if (stream) held.add(stream.node)
  held.delete(but)
  held.delete(input)
  let bytes = 0
  for (const node of held) bytes += node.contents?.length ?? 0
  return bytes
}

const standardStreams = FS.streams.slice(0, 3)
const files = listFiles()
/** Mode and times of every node, by which a test could leave a note for the next. */
const attributes = new Map(
  [...files.keys(), '/tmp', '/dev', '/dev/shm'].filter(exists).map((path) => {
    const { node } = FS.lookupPath(path)
    const { mode, atime, mtime, ctime } = node
    return [node, { mode, atime, mtime, ctime }]
  }),
)
/** Names below /dev, whose nodes are devices and not compared. */
const devices = new Set(pathsBelow('/dev'))
const sbrkPointer = wasm._emscripten_get_sbrk_ptr() >>> 2
const memory = wasm.HEAPU8.slice(0, wasm.HEAPU32[sbrkPointer])

/** Lays the machine's time zones into the interpreter's files, for a program that asks for them. They stay as they are laid. */
let hasZones = false
function layZones() {
  if (hasZones) return
  hasZones = true
  copyZones('')
  for (const [path, node] of listFiles()) files.set(path, node)
  for (const path of ['/usr', '/usr/share', ZONES, ...pathsBelow(ZONES)].filter(exists)) {
    const { node } = FS.lookupPath(path)
    const { mode, atime, mtime, ctime } = node
    attributes.set(node, { mode, atime, mtime, ctime })
  }
}

function copyZones(folder) {
  let entries = []
  try {
    entries = fs.readdirSync(`${ZONES}${folder}`, { withFileTypes: true })
  } catch {
    return
  }
  FS.mkdirTree(`${ZONES}${folder}`)
  for (const entry of entries) {
    const path = `${folder}/${entry.name}`
    // These hold all zones once more.
    if (entry.isDirectory() && !['/posix', '/right'].includes(path)) copyZones(path)
    if (entry.isDirectory()) continue
    try {
      const bytes = fs.readFileSync(`${ZONES}${path}`)
      if (bytes.length <= MOST_ZONE_BYTES) FS.writeFile(`${ZONES}${path}`, bytes)
    } catch {
      // A link that leads out of the folder.
    }
  }
}

/** Makes the input a file without a name, as programs have it elsewhere: its size can be asked for. */
function openInput() {
  FS.writeFile('/dev/input', stdin)
  FS.streams[0] = null
  const stream = FS.open('/dev/input', 'r')
  input = stream.node
  FS.unlink('/dev/input')
}

/** Puts memory, descriptors and files back; false where that cannot be done. */
function restore() {
  if (dirty || wasm.HEAPU8.length > MAX_KEPT_BYTES) return false
  const top = wasm.HEAPU32[sbrkPointer]
  wasm.HEAPU8.set(memory)
  if (top > memory.length) wasm.HEAPU8.fill(0, memory.length, top)
  FS.streams.length = 3
  for (const [fd, stream] of standardStreams.entries()) FS.streams[fd] = Object.assign(stream, { fd })
  FS.chdir('/tmp')
  for (const name of FS.readdir('/tmp')) if (name !== '.' && name !== '..') removeTree(`/tmp/${name}`)
  for (const path of pathsBelow('/dev')) if (!devices.has(path) && exists(path)) removeTree(path)
  for (const [node, saved] of attributes) Object.assign(node, saved)
  const now = listFiles()
  return now.size === files.size && [...now].every(([path, node]) => isSame(files.get(path), node))
}

function exists(path) {
  return FS.analyzePath(path, true).exists
}

/** Paths of all that is below a folder, folders before what they hold. */
function pathsBelow(folder) {
  return FS.readdir(folder)
    .filter((name) => name !== '.' && name !== '..')
    .map((name) => `${folder}/${name}`)
    .flatMap((path) => (FS.isDir(FS.lstat(path).mode) ? [path, ...pathsBelow(path)] : [path]))
}

function removeTree(path) {
  const { mode } = FS.lstat(path)
  if (!FS.isDir(mode)) return FS.unlink(path)
  for (const name of FS.readdir(path)) if (name !== '.' && name !== '..') removeTree(`${path}/${name}`)
  FS.rmdir(path)
}

/** All files but devices and the process's own, with what shows a change. */
function listFiles(path = '/', found = new Map()) {
  const node = FS.lookupPath(path).node
  const { contents, usedBytes, mode } = node
  found.set(path, {
    contents: FS.isDir(mode) ? null : contents,
    usedBytes,
    mode,
    mtime: FS.isDir(mode) ? 0 : node.mtime,
  })
  if ((FS.isDir(mode) && !FS.isMountpoint(node)) || path === '/')
    for (const name of FS.readdir(path))
      if (name !== '.' && name !== '..' && !['dev', 'proc', 'tmp'].includes(path === '/' ? name : ''))
        listFiles(path === '/' ? `/${name}` : `${path}/${name}`, found)
  return found
}

const isSame = (a, b) => a !== undefined && Object.keys(a).every((key) => a[key] === b[key])

function freezeBuiltins() {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const value = globalThis[name]
    if (typeof value !== 'function' || name.startsWith('set') || !/^[A-Z]/.test(name)) continue
    if (value.prototype) Object.freeze(value.prototype)
    Object.freeze(value)
  }
}

parentPort.on('message', (job) => {
  stdin = Buffer.from(job.stdin)
  position = 0
  stdout = []
  stdoutBytes = 0
  stderr = Buffer.alloc(0)
  outputBytes = job.outputBytes
  overflow = false
  limitBytes = memory.length + job.memoryMB * 2 ** 20
  nodes = 0
  let outcome = 'ended'
  let code = null
  try {
    if (job.program.includes('zoneinfo')) layZones()
    openInput()
    FS.writeFile(PROGRAM, job.program)
    fileBytes = job.fileMB * 2 ** 20
    nodes = 0
    code = runProgram()
    if (code === -1) outcome = 'uncompiled'
  } catch (/** @type {any} */ error) {
    dirty = true
    outcome = 'ended'
    code = typeof error?.status === 'number' ? error.status : 134
    stderr = Buffer.concat([stderr, Buffer.from(`${error}`.slice(0, 1000))])
  }
  if (overflow) outcome = 'output'
  const peakKB = Math.max(0, wasm.HEAPU32[sbrkPointer] - memory.length) / 1024
  workerData.interrupt[0] = 0
  let clean = false
  fileBytes = Number.POSITIVE_INFINITY
  try {
    clean = restore()
  } catch {}
  parentPort.postMessage({
    outcome,
    code,
    stdout: Buffer.concat(stdout).toString(),
    stderrTail: stderr.toString(),
    peakKB,
    dirty: !clean,
  })
})

parentPort.postMessage(pyodide.version)
