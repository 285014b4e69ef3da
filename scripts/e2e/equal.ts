/** One run with local models on one host, and the same run on four: the events must be equal. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFolder } from '../../src/broker/connection.ts'
import { pause } from '../../src/clock.ts'
import { openDigest } from '../../src/events/digest.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { itemAt } from '../../src/item-at.ts'
import { ALL_PARTS } from '../../test/support/processes.ts'
import { type Host, openNetwork, type Started } from './network.ts'
import { SMALL_RUN } from './small-run.ts'

export type Comparison = { readonly hosts: number; readonly isEqual: boolean; readonly events: number }

const RUN = 'e2e'
const HEAD_MS = 60_000
const RUN_MS = 10 * 60_000
const REFUSED_MS = 120_000
/** Roles of each host but the head's. */
const ROLES = [['policy'], ['reward-model'], ['environment', 'adapter']] as const

export type CompareOptions = {
  /** If true, a file of the policy's first version is damaged on its way to the judge, until the judge has refused it. */
  readonly damaged: boolean
  readonly say: (line: string) => void
  readonly ending: AbortSignal
}

/** @throws Error if a run does not end well, with what it printed */
export async function compareHosts({ damaged, say, ending }: CompareOptions): Promise<Comparison> {
  const root = mkdtempSync(join(tmpdir(), 'rl-e2e-'))
  const network = openNetwork(ROLES.length + 2, root)
  ending.addEventListener('abort', network.close)
  try {
    const alone = itemAt(network.hosts, 0)
    const hosts = network.hosts.slice(1)
    say('one host')
    await finished([alone.start(BEGIN)], 'the run on one host')
    say(`${hosts.length} hosts`)
    await onHosts(hosts, root, { damaged, say })
    const [one, many] = [factsOf(alone), factsOf(itemAt(hosts, 0))]
    const isEqual = one.digest === many.digest && one.events === many.events
    return { hosts: hosts.length, isEqual, events: many.events }
  } finally {
    network.close()
    rmSync(root, { recursive: true, force: true })
  }
}

const HEAD = ['src/main.ts', '--role', 'head', '--run', RUN, '--no-ui']
const BEGIN = [...HEAD, ...ALL_PARTS, ...SMALL_RUN]

/** Starts the head, lets each host join with the files of its roles, and waits for the end. */
async function onHosts(
  [first, ...others]: readonly Host[],
  root: string,
  { damaged, say }: Pick<CompareOptions, 'damaged' | 'say'>,
): Promise<void> {
  if (first === undefined) throw new Error('there is no host')
  let head = await startedHead(first, BEGIN)
  const joined: Started[] = []
  for (const [i, roles] of ROLES.entries())
    for (const role of roles) {
      const file = join(root, `${role}.join`)
      const made = first.start(['src/rl.ts', 'join', RUN, '--role', role, '-o', file])
      await finished([made], `rl join --role ${role}`, [head, ...joined])
      const host = itemAt(others, i)
      const start = () => host.start(['src/main.ts', '--join', file])
      say(`${role} at ${host.address}`)
      if (damaged && role === 'reward-model') head = await startDamaged(first, host, head, start)
      joined.push(start())
    }
  await finished([head], 'the run on several hosts', joined)
  await finished(joined, 'a role whose run is over')
}

/** Resolves when other hosts can join. */
async function startedHead(host: Host, words: readonly string[]): Promise<Started> {
  const head = host.start([...words, '--cluster', host.address, '--roles', 'none'])
  const until = performance.now() + HEAD_MS
  while (!existsSync(runFolder(RUN, host.runs).connection)) {
    if (performance.now() > until) throw new Error(`the head does not start: ${head.output()}`)
    await pause(100)
  }
  return head
}

/**
 * Lets the judge read a damaged file of the policy's first version. It must refuse the file, and the run must pause. Then the file is
 * whole again. Resolves to the head, which was started again.
 */
async function startDamaged(first: Host, host: Host, head: Started, start: () => Started): Promise<Started> {
  const restore = await damageShared(first, head)
  const judge = start()
  let isOver = false
  void Promise.all([head.status, judge.status]).then(() => {
    isOver = true
  })
  const until = performance.now() + REFUSED_MS
  while (!isOver) {
    if (existsSync(copyOf(host))) throw new Error('the judge keeps a damaged file')
    if (performance.now() > until) throw new Error(`nobody refuses a damaged file: ${head.output()}`)
    await pause(20)
  }
  if (!head.output().includes('damaged')) throw new Error(`nobody tells of a damaged file: ${head.output()}`)
  restore()
  return startedHead(first, HEAD)
}

const copyOf = ({ runs }: Host) => join(runFolder(RUN, runs).folder, 'checkpoints', 'policy', '00000')

/** Changes the largest file that the policy has put into the log. Returns how it is given back. */
async function damageShared(head: Host, { output }: Started): Promise<() => void> {
  const folder = runFolder(RUN, head.runs)
  const log = openLogReader(folder.log)
  try {
    const until = performance.now() + RUN_MS
    while (log.newest(['CheckpointShared']) === null) {
      if (performance.now() > until) throw new Error(`the policy shares no checkpoint: ${output()}`)
      await pause(100)
    }
    const shared = log.newest(['CheckpointShared'])
    if (shared?.type !== 'CheckpointShared') throw new Error('there is no shared checkpoint')
    const parts = shared.data.files.flatMap(({ parts }) => parts)
    const { sha256, bytes } = itemAt(
      parts.toSorted((a, b) => b.bytes - a.bytes),
      0,
    )
    const path = join(folder.blobs, sha256.slice(0, 2), sha256)
    const content = readFileSync(path)
    const changed = Buffer.from(content)
    // Every sixteenth weight is four times as large, or a quarter.
    for (let at = bytes - 1; at > bytes / 2; at -= 64) changed[at] = (changed[at] ?? 0) ^ 0x01
    writeFileSync(path, changed)
    return () => writeFileSync(path, content)
  } finally {
    log.close()
  }
}

/** Waits for the ends of commands. One that fails, or that does not end, is an error with what it and others printed. */
async function finished(
  started: readonly Started[],
  what: string,
  others: readonly Started[] = [],
): Promise<void> {
  const late = new AbortController()
  const early = others.map(({ status }) =>
    status.then((end) => (end === 0 ? new Promise<never>(() => {}) : [`another that ended with ${end}`])),
  )
  const ends = await Promise.race([
    Promise.all(started.map(({ status }) => status)),
    pause(RUN_MS, late.signal).then(() => ['late']),
    ...early,
  ])
  late.abort()
  if (ends.every((status) => status === 0)) return
  const printed = [...started, ...others].map(({ output }) => output().slice(-2_000)).join('\n---\n')
  throw new Error(`${what} ended with ${ends.join(', ')}:\n${printed}`)
}

function factsOf({ runs }: Host): { readonly digest: string; readonly events: number } {
  const log = openLogReader(runFolder(RUN, runs).log)
  try {
    const { ok } = verifyLog(log)
    if (!ok) throw new Error(`the log in ${runs} is damaged`)
    const digest = openDigest()
    for (const event of log.events()) digest.add(event)
    return { digest: digest.value(), events: digest.count() }
  } finally {
    log.close()
  }
}
