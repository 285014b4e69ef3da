/** Runs the cases of known faults: `npm run -s cases -- --help`. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ANEW } from './cases/anew.ts'
import { lendSystemBlas } from './cases/system-blas.ts'

const HELP = `npm run -s cases -- [options] [NAME...]

Runs small programs that each show one fault. A case ends with status 0 if the fault is mended, and with 1 if it is there.

  NAME...         only these: an id (E11), or a letter for a whole group (M); all without a name
  --folder PATH   where the cases lie                                        (../shared/data/cases)
  --seconds N     deadline of one case                                       (600)
  --verbose       print the output of right cases as well
  --json          one JSON object a case, and one at the end

The last line is cases=N right=N. A case that lacks something here says SKIP and is not counted. Without the folder, the
command says SKIP. Exit status 0 if every case is right.`

/** Status of a case that lacks something on this machine. */
const SKIPPED = 77

type Verdict = 'RIGHT' | 'WRONG' | 'SKIP' | 'FAILED'
type Result = {
  readonly name: string
  readonly verdict: Verdict
  readonly seconds: number
  readonly output: string
}

const { values: flags, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    folder: { type: 'string', default: '../shared/data/cases' },
    seconds: { type: 'string', default: '600' },
    verbose: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

let interrupted = false
let stopCase = () => {}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    stopCase()
  })

function idOf(name: string): string {
  return name.split('-')[0]
}

/** Folders of cases, by group and number. */
function caseNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'case.ts')))
    .filter(
      (name) =>
        wanted.length === 0 || wanted.some((one) => one === idOf(name) || one === idOf(name).slice(0, 1)),
    )
    .sort((a, b) => a[0].localeCompare(b[0]) || Number(idOf(a).slice(1)) - Number(idOf(b).slice(1)))
}

/** Runs a case. Looks anew at a wrong one that was written for older code. */
async function resultOf(folder: string, name: string, deadlineMs: number): Promise<Result> {
  const takeBack = idOf(name) === 'U12' ? lendSystemBlas() : () => {}
  try {
    const result = await runCase(folder, name, deadlineMs)
    const why = result.verdict === 'WRONG' ? ANEW[idOf(name)]?.(join(folder, name), result.output) : null
    return why ? { ...result, verdict: 'RIGHT', output: why } : result
  } finally {
    takeBack()
  }
}

/** Runs one case in its own process group, so that nothing of it is left. */
function runCase(folder: string, name: string, deadlineMs: number): Promise<Result> {
  return new Promise((resolveResult) => {
    const began = performance.now()
    const child = spawn(process.execPath, ['bin/launch.mjs', join(folder, name, 'case.ts')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let output = ''
    const endGroup = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // Nothing of the group is left.
      }
    }
    stopCase = endGroup
    const deadline = setTimeout(() => {
      output += `\nended by force after ${deadlineMs / 1000} s\n`
      endGroup()
    }, deadlineMs)
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
    })
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk
    })
    child.on('exit', endGroup)
    child.on('close', (status) => {
      clearTimeout(deadline)
      const verdict = status === 0 ? 'RIGHT' : status === 1 ? 'WRONG' : status === SKIPPED ? 'SKIP' : 'FAILED'
      resolveResult({ name, verdict, seconds: Math.round((performance.now() - began) / 1000), output })
    })
  })
}

function tell({ name, verdict, seconds, output }: Result): void {
  if (flags.json) return void process.stdout.write(`${JSON.stringify({ name, verdict, seconds, output })}\n`)
  process.stdout.write(`${verdict.padEnd(6)} ${name}  ${seconds} s\n`)
  if (verdict !== 'RIGHT' || flags.verbose)
    process.stdout.write(`${output.trimEnd().replace(/^/gm, '       ')}\n`)
}

async function main(): Promise<number> {
  const folder = resolve(flags.folder)
  const deadlineMs = Number(flags.seconds) * 1000
  if (!(deadlineMs > 0)) {
    process.stderr.write(`--seconds ${flags.seconds} is not above 0: see npm run -s cases -- --help\n`)
    return 2
  }
  if (!existsSync(folder)) {
    process.stdout.write(`SKIP the folder of cases ${flags.folder} is not here\n`)
    return 0
  }
  const names = caseNames(folder)
  if (names.length === 0) {
    process.stderr.write(`no case is named ${wanted.join(', ')}: ${flags.folder} lists them\n`)
    return 2
  }
  let counted = 0
  let right = 0
  for (const name of names) {
    if (interrupted) break
    const result = await resultOf(folder, name, deadlineMs)
    if (interrupted) break
    tell(result)
    if (result.verdict === 'SKIP') continue
    counted++
    if (result.verdict === 'RIGHT') right++
  }
  process.stdout.write(
    flags.json ? `${JSON.stringify({ cases: counted, right })}\n` : `cases=${counted} right=${right}\n`,
  )
  return interrupted ? 130 : right === counted ? 0 : 1
}

if (flags.help) process.stdout.write(`${HELP}\n`)
else process.exitCode = await main()
