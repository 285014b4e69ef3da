/** Hostile inputs for every reader of the project: `npm run -s fuzz -- --help`. */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Task, Told } from '../test/fuzz/child.ts'
import { TARGETS } from '../test/fuzz/targets.ts'

const HELP = `npm run -s fuzz -- [options] [TARGET...]

Changes real inputs a little and gives them to the code that reads them. Each input must be read right, or be refused by
an error with a code. No turn of the event loop may hold it for more than 50 ms of processor time.

  --minutes N      for all targets together                    (1)
  --seed N         another seed makes other inputs             (the day)
  --input N        with one target: this input alone
  --processes N    targets at a time                           (one a core)
  --keep FOLDER    where inputs that fail are kept             (.cache/fuzz)
  --json           one JSON object for each failure, and one at the end

The last line is inputs=N crashes=0 hangs=0 silent=0. Exit status 0 if nothing was found.

Targets: ${TARGETS.map(({ name, what }) => `\n  ${name.padEnd(16)} ${what}`).join('')}`

/** An input that takes longer was never finished. */
const STUCK_MS = 60_000
/** Most failures of one target that are shown. */
const SHOWN = 5

const { values: flags, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 86_400_000)) },
    input: { type: 'string' },
    processes: { type: 'string', default: String(availableParallelism()) },
    keep: { type: 'string', default: '.cache/fuzz' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const count = { inputs: 0, crash: 0, hang: 0, silent: 0 }
const running = new Set<ChildProcess>()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    for (const child of running) child.kill('SIGKILL')
  })

type Found = {
  readonly target: string
  readonly input: number
  readonly kind: 'crash' | 'hang' | 'silent'
  readonly why: string
}

function tell(found: Found, shown: number, bytes?: string): void {
  count[found.kind]++
  if (bytes !== undefined) {
    mkdirSync(flags.keep, { recursive: true })
    writeFileSync(
      join(flags.keep, `${found.target}-${flags.seed}-${found.input}`),
      Buffer.from(bytes, 'base64'),
    )
  }
  if (flags.json) return void process.stdout.write(`${JSON.stringify(found)}\n`)
  if (shown > SHOWN) return
  const { target, input, kind, why } = found
  process.stdout.write(
    `${kind} ${target} ${input}: ${why.slice(0, 600)}\n  again: npm run -s fuzz -- ${target} --seed ${flags.seed} --input ${input}\n`,
  )
}

/** Runs one process to its end. Returns the number of the next input, or null if the target is over. */
function runChild(task: Task): Promise<number | null> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(new URL('../test/fuzz/child.ts', import.meta.url)), {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: ['--max-old-space-size=1024'],
    })
    running.add(child)
    let last = task.from
    let shown = 0
    let isOver = false
    let hasBegun = false
    let errors = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      errors = (errors + chunk).slice(-2_000)
    })
    let isStuck = false
    const stuck = () => {
      isStuck = true
      child.kill('SIGKILL')
    }
    let timer = setTimeout(stuck, STUCK_MS)
    child.on('message', (told: Told) => {
      clearTimeout(timer)
      timer = setTimeout(stuck, STUCK_MS)
      hasBegun = true
      if (told.kind === 'began') last = told.input
      else if (told.kind === 'found') {
        const { kind, why } = told.verdict as { kind: Found['kind']; why: string }
        tell({ target: task.target, input: told.input, kind, why }, ++shown, told.bytes)
      } else {
        isOver = true
        count.inputs += told.inputs
        for (const name of told.left)
          tell({ target: task.target, input: -1, kind: 'silent', why: `it left ${name} behind` }, ++shown)
      }
    })
    child.on('close', (status) => {
      clearTimeout(timer)
      running.delete(child)
      if ((isOver && status === 0) || interrupted) return resolve(null)
      count.inputs += last - task.from
      const why = isStuck
        ? `no answer within ${STUCK_MS / 1000} s`
        : `the process ended with ${status}: ${errors}`
      tell(
        {
          target: task.target,
          input: last,
          kind: isStuck ? 'hang' : 'crash',
          why: `from this input on: ${why}`,
        },
        0,
      )
      resolve(hasBegun ? last + 50 : null)
    })
    child.send(task)
  })
}

async function fuzzTarget(target: string, ms: number): Promise<void> {
  const untilMs = Date.now() + ms
  const only = flags.input === undefined ? null : Number(flags.input)
  for (let from: number | null = only ?? 0; from !== null && !interrupted && Date.now() < untilMs; ) {
    from = await runChild({
      target,
      seed: Number(flags.seed),
      from,
      untilMs,
      to: only ?? Number.MAX_SAFE_INTEGER,
    })
    if (only !== null) break
  }
}

function wrongUse(message: string): number {
  process.stderr.write(`${message}: see npm run -s fuzz -- --help\n`)
  return 2
}

async function main(): Promise<number> {
  const minutes = Number(flags.minutes)
  const processes = Number(flags.processes)
  if (!(minutes > 0)) return wrongUse(`--minutes ${flags.minutes} is not above 0`)
  if (!Number.isSafeInteger(Number(flags.seed))) return wrongUse(`--seed ${flags.seed} is no whole number`)
  if (!(Number.isSafeInteger(processes) && processes > 0))
    return wrongUse(`--processes ${flags.processes} is no number`)
  const unknown = wanted.find((name) => !TARGETS.some((target) => target.name === name))
  if (unknown !== undefined) return wrongUse(`there is no target ${unknown}`)
  if (flags.input !== undefined && wanted.length !== 1) return wrongUse('--input needs one target')
  const names = TARGETS.map(({ name }) => name).filter((name) => wanted.length === 0 || wanted.includes(name))
  const queue = [...names]
  const rounds = Math.ceil(names.length / processes)
  const ms = (minutes * 60_000) / rounds
  const work = async () => {
    for (let name = queue.shift(); name !== undefined && !interrupted; name = queue.shift()) {
      await fuzzTarget(name, ms)
      if (!flags.json) process.stderr.write(`${name}: ${count.inputs} inputs so far\n`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(processes, names.length) }, work))
  const { inputs, crash, hang, silent } = count
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ inputs, crashes: crash, hangs: hang, silent })}\n`
      : `inputs=${inputs} crashes=${crash} hangs=${hang} silent=${silent}\n`,
  )
  return interrupted ? 130 : inputs > 0 && crash + hang + silent === 0 ? 0 : 1
}

if (flags.help) process.stdout.write(`${HELP}\n`)
else process.exitCode = await main()
