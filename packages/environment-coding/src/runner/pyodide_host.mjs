/**
 * The child process of the pyodide provider. Its main thread takes tests from its parent, keeps the limits, and reports; the
 * interpreter lives in a worker thread, which can be interrupted, and replaced when it does not heed that.
 *
 * From the parent: { run, id, program, stdin, cpuMs, wallMs, memoryMB, outputBytes, fileMB }; each run has its own interpreter.
 * To the parent:   { ready: version } once, then { id, outcome, code, stdout, stderrTail, cpuMs, wallMs, peakKB } for each test.
 */
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

const TICK_MS = 20
/** After an interrupt a program may tidy up for this long, and then the interpreter is replaced. */
const GRACE_MS = 300
const INTERRUPT = 2
/** Of the engine: recursion through C needs it. */
const STACK_MB = 256
/** What may be used beside a program's own memory: its files, its texts, garbage. */
const SPARE_BYTES = 384 << 20

// First of all: the parent may end while the interpreter is loaded.
process.on('disconnect', () => process.exit(0))
if (!process.connected) process.exit(0)

/** Folder of pyodide, as its parent found it. */
const PYODIDE = process.argv[2]
/** Compiled once for all workers. */
const compiled = await WebAssembly.compile(await readFile(new URL('pyodide.asm.wasm', PYODIDE)))
const snapshot = await makeSnapshot()
let worker = startWorker(snapshot)
let program = null

async function makeSnapshot() {
  const bytes = await startWorker(null).ready
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  return shared
}

function startWorker(snapshot) {
  const interrupt = new Uint8Array(new SharedArrayBuffer(1))
  const thread = new Worker(new URL('./pyodide_worker.mjs', import.meta.url), {
    workerData: { interrupt, compiled, snapshot, pyodide: new URL('pyodide.mjs', PYODIDE).href },
    env: {},
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 512, stackSizeMb: STACK_MB },
  })
  thread.stdout.resume()
  thread.stderr.resume()
  const ready = new Promise((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', (code) =>
      reject(new Error(`the interpreter ended with ${code} while it was loading`)),
    )
  })
  ready.catch(() => {})
  return { thread, interrupt, ready }
}

function replaceWorker() {
  void worker.thread.terminate()
  worker = startWorker(snapshot)
  program = null
}

const cpuMs = (since) => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

/** Runs one test to its end. */
async function runTest(job) {
  if (program !== null && program !== job.run) replaceWorker()
  program = job.run
  const { thread, interrupt, ready } = worker
  await ready
  Atomics.store(interrupt, 0, 0)
  const cpuBefore = process.cpuUsage()
  const begun = performance.now()
  const residentBefore = process.memoryUsage.rss()
  let ended = null
  let endedAt = 0
  const report = await new Promise((resolve) => {
    const finish = (message) => {
      clearInterval(ticker)
      thread.off('message', finish)
      thread.off('error', crash)
      thread.off('exit', crash)
      resolve(message)
    }
    const crash = () => finish({ outcome: 'crashed', dirty: true })
    const ticker = setInterval(() => {
      const now = performance.now()
      if (!ended && cpuMs(cpuBefore) >= job.cpuMs) ended = 'cpu'
      if (!ended && now - begun >= job.wallMs) ended = 'wall'
      const grown = process.memoryUsage.rss() - residentBefore
      if (!ended && grown > job.memoryMB * 2 ** 20 + SPARE_BYTES) ended = 'memory'
      if (!ended) return
      if (endedAt === 0) endedAt = now
      Atomics.store(interrupt, 0, INTERRUPT)
      if (now - endedAt > GRACE_MS) finish({ outcome: ended, dirty: true })
    }, TICK_MS)
    thread.on('message', finish)
    thread.once('error', crash)
    thread.once('exit', crash)
    thread.postMessage(job)
  })
  const spent = { cpuMs: cpuMs(cpuBefore), wallMs: performance.now() - begun }
  if (report.dirty) replaceWorker()
  return { ...report, outcome: ended ?? report.outcome, ...spent }
}

/** Its parent forked it, so it can be told. */
const tell = /** @type {(message: object) => void} */ (process.send?.bind(process))

let queue = Promise.resolve()
process.on('message', (/** @type {any} */ job) => {
  queue = queue.then(async () => {
    try {
      tell({ id: job.id, ...(await runTest(job)) })
    } catch (error) {
      tell({ id: job.id, outcome: 'failed', reason: String(error) })
      replaceWorker()
    }
  })
})
worker.ready.then(
  (version) => tell({ ready: version }),
  (error) => tell({ failed: String(error) }),
)
