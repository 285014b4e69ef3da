/** One run with local models on one host, and the same run on four: the events must be equal. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFolder } from '../../src/broker/connection.ts'
import { pause } from '../../src/clock.ts'
import { openDigest } from '../../src/events/digest.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { itemAt } from '../../src/item-at.ts'
import { type Host, openNetwork, type Started } from './network.ts'
import { SMALL_RUN } from './small-run.ts'

export type Comparison = { readonly hosts: number; readonly isEqual: boolean; readonly events: number }

const RUN = 'e2e'
const HEAD_MS = 60_000
const RUN_MS = 10 * 60_000
const TRIED_MS = 120_000
/** Time in which the judge loads what it has kept. */
const KEPT_MS = 5_000
/** Roles of each host but the head's. */
const ROLES = [['policy'], ['reward-model'], ['environment', 'adapter']] as const

export type CompareOptions = {
  /** If true, a file of the policy's first version is damaged on its way to the judge, until the judge has tried to read it. */
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
    await finished([alone.start(headWords())], 'the run on one host')
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

function headWords(...more: readonly string[]): string[] {
  return ['src/main.ts', '--role', 'head', '--run', RUN, '--no-ui', ...SMALL_RUN, ...more]
}

/** Starts the head, lets each host join with the files of its roles, and waits for the end. */
async function onHosts(
  [first, ...others]: readonly Host[],
  root: string,
  { damaged, say }: Pick<CompareOptions, 'damaged' | 'say'>,
): Promise<void> {
  if (first === undefined) throw new Error('there is no host')
  const head = first.start(headWords('--cluster', first.address, '--roles', 'none'))
  const until = performance.now() + HEAD_MS
  while (!existsSync(runFolder(RUN, first.runs).connection)) {
    if (performance.now() > until) throw new Error(`the head does not start: ${head.output()}`)
    await pause(100)
  }
  const joined: Started[] = []
  for (const [i, roles] of ROLES.entries())
    for (const role of roles) {
      const file = join(root, `${role}.join`)
      const made = first.start(['src/rl.ts', 'join', RUN, '--role', role, '-o', file])
      await finished([made], `rl join --role ${role}`)
      const host = itemAt(others, i)
      const harm = damaged && role === 'reward-model' ? await damage(first, head) : null
      const started = host.start(['src/main.ts', '--join', file])
      joined.push(started)
      say(`${role} at ${host.address}`)
      await harm?.untilTried(host, started)
    }
  await finished([head], 'the run on several hosts', joined)
  await finished(joined, 'a role whose run is over')
}

/** Changes a byte of the largest file that the policy has put into the log. */
async function damage(head: Host, { output }: Started) {
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
    const damagedContent = Buffer.from(content)
    // An exponent of a weight: it is another number by far.
    for (let at = bytes - 1; at > bytes / 2; at -= 64) damagedContent[at] = (damagedContent[at] ?? 0) ^ 0x01
    writeFileSync(path, damagedContent)
    return {
      /** Gives the file back when a host has kept it, or has told that it is damaged. */
      async untilTried(host: Host, { output }: Started) {
        const copies = join(runFolder(RUN, host.runs).folder, 'checkpoints', 'policy')
        const late = performance.now() + TRIED_MS
        const isKept = () => existsSync(copies) && readdirSync(copies).some((name) => /^\d+$/.test(name))
        while (!isKept() && !/damaged|corrupt|not what/.test(output())) {
          if (performance.now() > late) throw new Error(`the judge does not read the file: ${output()}`)
          await pause(20)
        }
        if (isKept()) await pause(KEPT_MS)
        writeFileSync(path, content)
      },
    }
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
