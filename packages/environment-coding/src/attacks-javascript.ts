/** Hostile programs in JavaScript for Node (see attacks.ts). */
import type { Attack } from './attack.ts'

/** Tries something and tells whether it worked. */
const attempt = (statements: string) =>
  `try {\n${statements}\nconsole.log('ESCAPED')\n} catch (error) { console.log('refused', error.code ?? error.name) }\n`

const PROGRAMS: readonly (readonly [name: string, what: string, program: string])[] = [
  [
    'workers',
    'starts worker threads that spin',
    "const { Worker } = require('node:worker_threads')\nfor (;;) try { new Worker('for (;;);', { eval: true }) } catch {}",
  ],
  [
    'wasm-memory',
    'fills memories of WebAssembly',
    'const held = []\nfor (;;) { const memory = new WebAssembly.Memory({ initial: 1024, maximum: 16384 }); new Uint8Array(memory.buffer).fill(1); held.push(memory) }',
  ],
  [
    'shared-buffers',
    'fills shared buffers that worker threads hold as well',
    "const { Worker } = require('node:worker_threads')\nfor (;;) { const data = new SharedArrayBuffer(1 << 26); new Uint8Array(data).fill(1); new Worker('setInterval(() => {}, 1e6)', { eval: true, workerData: data }) }",
  ],
  [
    'waits-for-ever',
    'waits in the engine itself',
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
  ],
  [
    'inspector',
    'opens a debugger to its process',
    "require('node:inspector').open(0, '0.0.0.0')\nprocess.kill(process.pid, 'SIGUSR1')\nif (require('node:inspector').url()) console.log('ESCAPED')\nsetInterval(() => {}, 1000)",
  ],
  [
    'reports',
    'has the engine write reports and snapshots until the disk is full',
    "const v8 = require('node:v8')\nfor (let i = 0; ; i++) try { process.report.writeReport('/tmp/report' + i); v8.writeHeapSnapshot('/tmp/heap' + i) } catch {}",
  ],
  [
    'native-code',
    'loads its own executable, and files that it made, as native modules',
    "const fs = require('node:fs')\nfs.copyFileSync('/opt/node', '/tmp/big', fs.constants.COPYFILE_FICLONE)\nfor (const file of ['/opt/node', '/tmp/big', '/lib/x86_64-linux-gnu/libc.so.6']) try { process.dlopen({ exports: {} }, file) } catch {}",
  ],
  [
    'reads-the-host',
    'reads files of the host',
    attempt(
      "const fs = require('node:fs')\nconst found = ['/etc/passwd', 'HOST_HOME/.ssh/id_rsa', 'HOST_HOME/.bashrc', '/proc/1/environ', '/proc/self/environ', '/usr/src', '/usr/local', '/usr/lib/os-release', '/box/../etc/hosts', '/sys/kernel'].filter((path) => fs.existsSync(path))\nif (found.length === 0) throw new Error('none')\nconsole.log(found)",
    ),
  ],
  [
    'writes-outside',
    'writes to what it is shown',
    attempt(
      "const fs = require('node:fs')\nif (!['/opt/node', '/opt/x', '/x', '/box/x', '/dev/x', '/box/stdin'].some((path) => { try { fs.writeFileSync(path, 'x'); return true } catch { return false } })) throw new Error('all refused')",
    ),
  ],
  [
    'goes-out',
    'reaches the host by TCP, UDP, names and HTTP',
    "const say = () => console.log('ESCAPED')\nrequire('node:net').connect(PORT, '127.0.0.1', say).on('error', () => {})\nrequire('node:http').get('http://127.0.0.1:PORT/', say).on('error', () => {})\nrequire('node:dns').lookup('example.org', (error) => error || say())\ntry { const udp = require('node:dgram').createSocket('udp4'); udp.on('error', () => {}); udp.send('x', 53, '8.8.8.8', (error) => error || say()) } catch {}",
  ],
  [
    'listens',
    'leaves a server behind',
    "const net = require('node:net')\nfor (const place of ['/tmp/ear', '\\0ear', { port: 4222 }]) { const server = net.createServer(); server.on('error', () => {}); server.listen(place) }",
  ],
  [
    'ends-everything',
    'sends signals to all that it can name',
    'for (const pid of [-1, 0, 1, 2, 3, 4, 5, process.ppid, -process.ppid]) for (const signal of [9, 19, 15, 2]) try { if (pid !== process.pid) process.kill(pid, signal) } catch {}',
  ],
  [
    'becomes-another',
    'takes another user',
    attempt('process.setgroups([0])\nprocess.setgid(0)\nprocess.setuid(0)'),
  ],
  [
    'forks-node',
    'starts copies of itself',
    "const { spawn, fork } = require('node:child_process')\nfor (;;) try { spawn('/opt/node', ['-e', 'for (;;);'], { detached: true, stdio: 'inherit' }).on('error', () => {}) } catch {}",
  ],
  [
    'leaves-a-note',
    'looks for what an earlier test left, and leaves something',
    "const fs = require('node:fs')\nif (fs.existsSync('/tmp/note') || fs.existsSync('/dev/shm/note') || globalThis.note) console.log('ESCAPED')\nglobalThis.note = 1\nfs.writeFileSync('/tmp/note', 'x')\nfs.writeFileSync('/dev/shm/note', 'x')",
  ],
  [
    'output-in-pieces',
    'prints without end from several threads',
    "const { Worker } = require('node:worker_threads')\nfor (let i = 0; i < 3; i++) new Worker(\"const fs = require('node:fs'); for (;;) try { fs.writeSync(1, 'x'.repeat(65536)) } catch {}\", { eval: true })\nfor (;;) try { require('node:fs').writeSync(2, 'y'.repeat(65536)) } catch {}",
  ],
  [
    'ends-late',
    'holds its process by timers, promises and exit handlers',
    "process.on('exit', () => { for (;;); })\nprocess.on('beforeExit', () => setTimeout(() => {}, 1e6))\nfor (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => {})\nsetInterval(() => process.stdout.write('.'), 1)",
  ],
  ['regular-expression', 'backtracks for ever in the engine', "/^(a+)+$/.test('a'.repeat(64) + 'b')"],
]

export const JAVASCRIPT_ATTACKS: readonly Attack[] = PROGRAMS.map(([name, what, program]) => ({
  name: `javascript-${name}`,
  what,
  program,
  language: 'javascript',
}))
