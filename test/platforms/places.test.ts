/**
 * Where people run it: a copy of this checkout, installed and otherwise cold, in a folder whose name has spaces and letters
 * beyond ASCII, under what a place takes away. A place that cannot be made here is skipped and says why.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { copyInto } from '../../src/broker/fetch.ts'
import { findNatsServer } from '../../src/broker/find.ts'
import { digestOf } from '../../src/events/digest.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { ALL_PARTS } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const SIMULATED = [
  ...['environment.name=simulated', 'policy.provider=simulated', 'rewardModel.provider=simulated'],
  ...['environment.tasksPerIteration=4', 'environment.rolloutsPerTask=4', 'evaluation.tasks=4'],
  'run.iterations=2',
]
const LOCAL = [
  ...['run.iterations=1', 'evaluation.splits=[]', 'environment.tasks=4', 'environment.tasksPerIteration=2'],
  ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'environment.maxSteps=3'],
  ...['learning.mixedOutcomes=false', 'policy.coldStart.demonstrations=12', 'policy.coldStart.updates=4'],
  ...['policy.training.updates=2', 'rewardModel.coldStart.rollouts=8', 'rewardModel.coldStart.updates=2'],
]
/** A number without a line in /etc/passwd, so without a home. */
const NOBODY = 54_321

const copies = new Set<string>()
// Each holds thousands of files: to remove all of them at the end takes longer than a test may take to end.
test.after.each(() => {
  for (const folder of copies) rmSync(folder, { recursive: true, force: true })
  copies.clear()
})

function copyOfCheckout(): string {
  const folder = join(temporaryFolder(), 'ein Ordner für ☃')
  mkdirSync(folder)
  copies.add(folder)
  for (const name of ['bin', 'src', 'config', 'data', 'package.json', 'asyncapi.yaml'])
    cpSync(name, join(folder, name), { recursive: true })
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  return folder
}

type Ended = { readonly status: number | null; readonly output: string }
type Place = {
  /** Words before `node`: what takes something away. */
  readonly within?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly onStart?: (child: ChildProcess) => void
}

const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

function start(
  folder: string,
  words: readonly string[],
  { within = [], env, onStart }: Place = {},
): Promise<Ended> {
  const [program, ...rest] = [...within, process.execPath, 'bin/launch.mjs', ...words]
  const child = spawn(program, rest, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, FORCE_COLOR: '0', ...env },
  })
  alive.add(child)
  onStart?.(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  return new Promise((done) =>
    child.once('close', (status) => {
      alive.delete(child)
      done({ status, output })
    }),
  )
}

function startHead(folder: string, run: string, settings: readonly string[], place?: Place): Promise<Ended> {
  const words = [...ALL_PARTS, ...settings.flatMap((setting) => ['--set', setting])]
  return start(folder, ['src/main.ts', '--role', 'head', '--run', run, ...words], place)
}

function digest(folder: string, run: string): string {
  const log = openLogReader(join(folder, 'runs', run, 'events.db'))
  try {
    return digestOf(log.events({}))
  } finally {
    log.close()
  }
}

/** Whether a place can be made here: its words run `true`. */
function can(what: string, within: readonly string[]): boolean {
  const [program, ...rest] = [...within, 'true']
  try {
    execFileSync(program, rest, { stdio: 'ignore' })
    return true
  } catch {
    process.stdout.write(`SKIP ${what}: ${program} cannot do that here\n`)
    return false
  }
}

const root = process.getuid?.() === 0
const OFFLINE = [
  ...(root ? ['unshare', '-n'] : ['unshare', '-Urn']),
  'sh',
  '-c',
  'ip link set lo up && exec "$@"',
  'sh',
]
let usual: string

test('a folder with spaces and letters beyond ASCII; two runs at once on a cold cache have the same events', async () => {
  const folder = copyOfCheckout()
  const both = await Promise.all(['one', 'two'].map((run) => startHead(folder, run, LOCAL)))
  for (const { status, output } of both) assert.is(status, 0, output)
  assert.is(digest(folder, 'one'), digest(folder, 'two'))
  usual = digest(folder, 'one')
})

test('one core and 2 GB of memory', async () => {
  if (!can('one core', ['taskset', '-c', '0'])) return
  const group = memoryGroup(2 * 2 ** 30)
  if (!group) process.stdout.write('SKIP 2 GB of memory: no control group can be made here\n')
  const folder = copyOfCheckout()
  const { status, output } = await startHead(folder, 'small', LOCAL, {
    within: ['taskset', '-c', '0'],
    onStart: (child) => group?.enter(child),
  })
  await group?.remove()
  assert.is(status, 0, output)
  assert.is(digest(folder, 'small'), usual, `one core of ${availableParallelism()}`)
})

test('no network after the first start, which got the server into the cache', async () => {
  if (!can('no network', OFFLINE)) return
  const folder = copyOfCheckout()
  copyInto((await findNatsServer()).path, join(folder, '.cache/bin/nats-server'), 0o755)
  const { status, output } = await startHead(folder, 'offline', SIMULATED, { within: OFFLINE })
  assert.is(status, 0, output)
})

test('no network and no nats-server: the error says what to install', async () => {
  const hide = ['unshare', '-nm', 'sh', '-c']
  const script =
    'for p in $(command -v nats-server); do mount --bind /dev/null "$p"; done; ip link set lo up; exec "$@"'
  if (!root || !can('no nats-server', [...hide, script, 'sh'])) return
  const folder = copyOfCheckout()
  const { status, output } = await startHead(folder, 'none', SIMULATED, { within: [...hide, script, 'sh'] })
  assert.is(status, 1, output)
  assert.match(output, /nats-server is missing, and set-up could not get it .*install/s)
})

test('another user than root, without a home, beside folders of a cache that are not his', async () => {
  if (!root) {
    process.stdout.write('SKIP another user: this user is none but itself\n')
    return
  }
  const folder = copyOfCheckout()
  rmSync(join(folder, 'node_modules'))
  for (const name of ['node_modules', 'node', '.cache']) mkdirSync(join(folder, name))
  // The user may not be able to reach this checkout or this Node: both are seen within the copy.
  const script = `
    mount --bind "$0" node_modules && mount --bind "$1" node && shift 2 &&
    exec setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups -- node/node "$@"`
  execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, resolve(folder, '..')])
  const within = [
    'unshare',
    '-m',
    'sh',
    '-c',
    script,
    resolve('node_modules'),
    resolve(process.execPath, '..'),
  ]
  mkdirSync(join(folder, '.cache', 'openblas'), { mode: 0o700 })
  const own = { HOME: undefined, XDG_CACHE_HOME: undefined, TMPDIR: folder, RL_RUNS: undefined }
  const { status, output } = await startHead(folder, 'user', SIMULATED, { within, env: own })
  if (/mount: |setpriv: /.test(output)) {
    process.stdout.write(`SKIP another user: ${output.split('\n')[0]}\n`)
    return
  }
  assert.is(status, 0, output)
  for (const words of ['--help', 'alfworld play --help', 'runs']) {
    const told = await start(folder, ['src/rl.ts', ...words.split(' ')], { within, env: own })
    assert.is(told.status, 0, told.output)
  }
  const doctor = await start(folder, ['src/rl.ts', 'doctor'], { within, env: own })
  assert.not.match(doctor.output, /EACCES|permission/)
})

test('without user namespaces programs run in Pyodide, and the doctor says why', async () => {
  const script =
    'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --no-new-privs -- "$@"'
  const within = ['unshare', '-Ur', 'sh', '-c', script, 'sh']
  if (!can('no user namespaces', within)) return
  const { status, output } = await start(copyOfCheckout(), ['src/rl.ts', 'doctor', '--json'], { within })
  const findings = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  const sandbox = findings.find(({ check }) => check === 'sandbox')
  const detail = String(sandbox?.detail ?? output)
  assert.match(detail, /^pyodide, passed its self-test .*no bwrap: /, detail)
  assert.is(status, 0, output)
})

test('a folder that cannot be written is named', async () => {
  const folder = copyOfCheckout()
  writeFileSync(join(folder, 'runs'), '')
  const { status, output } = await startHead(folder, 'nowhere', SIMULATED)
  assert.is(status, 1)
  assert.match(output, /^rlanything: .*runs/m)
})

test('runs of an older version stay readable beside new ones', async () => {
  const folder = copyOfCheckout()
  unpackFixture(join(folder, 'runs'))
  for (const words of [
    ['runs'],
    ['log', 'run', 'verify'],
    ['replay', 'run'],
    ['status', 'run'],
    ['projections', 'run', 'show'],
  ]) {
    const { status, output } = await start(folder, ['src/rl.ts', ...words])
    assert.is(status, 0, `${words.join(' ')}: ${output}`)
  }
  const { status, output } = await startHead(folder, 'new', SIMULATED)
  assert.is(status, 0, output)
})

/** A control group with a memory limit, of the first or the second version; null where this user may make none. */
function memoryGroup(bytes: number) {
  for (const [parent, limit] of [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max'],
  ]) {
    const folder = join(parent, `rl-test-${process.pid}`)
    try {
      mkdirSync(folder)
      if (existsSync(join(folder, limit))) {
        writeFileSync(join(folder, limit), String(bytes))
        return {
          enter: (child: ChildProcess) => writeFileSync(join(folder, 'cgroup.procs'), String(child.pid)),
          async remove(): Promise<void> {
            const peak = ['memory.max_usage_in_bytes', 'memory.peak'].find((name) =>
              existsSync(join(folder, name)),
            )
            if (peak) {
              const mebibytes = Number(readFileSync(join(folder, peak), 'utf8')) / 2 ** 20
              process.stdout.write(`at most ${mebibytes.toFixed(0)} MiB were used\n`)
            }
            await until('the end of its processes', () => isRemoved(folder))
          },
        }
      }
      rmdirSync(folder)
    } catch {}
  }
  return null
}

/** A group cannot be removed as long as a process of it ends. */
function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false
    throw error
  }
}

test.run()
