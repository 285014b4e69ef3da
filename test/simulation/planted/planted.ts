/** Bugs of the spine, each as edits of the present code. The simulation must find them, or a test that is named. */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Planted = {
  readonly name: string
  readonly what: string
  readonly edits: readonly Edit[]
  /** Tests of which one must fail; absent if a seed of the simulation must. */
  readonly tests?: readonly string[]
}

/** `from` stands in the file once. */
export type Edit = { readonly file: string; readonly from: string; readonly to: string }

export const PLANTED: readonly Planted[] = [
  {
    name: 'too-stale',
    what: 'an iteration begins one version too early, so its rollouts are older than the run allows',
    edits: [
      {
        file: 'src/actors/head/iterations.ts',
        from: 'return next - 1 - run.maxStaleness <= trained &&',
        to: 'return next - 2 - run.maxStaleness <= trained &&',
      },
    ],
  },
  {
    name: 'acknowledged-in-hand',
    what: 'work that comes again while it is in hand is called done: it was the only copy',
    edits: [
      {
        file: 'src/actors/runtime/deliveries.ts',
        from: 'if (before) return before',
        to: 'if (before) return DONE',
      },
    ],
  },
  {
    name: 'swallowed-publish',
    what: 'work that the queue does not take is let fall, and nobody is told',
    edits: [
      {
        file: 'src/actors/runtime/queued-work.ts',
        from: `      trouble ??= { since: clock.now(), told: false, error: explain(error) }
      if (items.has(key)) waiting.add(key)
`,
        to: '',
      },
    ],
  },
  {
    name: 'two-heads',
    what: 'a second head on another machine is let in, and the first goes on',
    edits: [
      { file: 'src/actors/head/fence.ts', from: 'if (!isFree && ', to: 'if (false && ' },
      {
        file: 'src/actors/head/fence.ts',
        from: '      if (loss) return loss\n',
        to: '      if (!loss) return null\n',
      },
      { file: 'src/actors/head/fence.ts', from: '    tellLoss(loss)\n', to: '    loss = null\n' },
    ],
  },
  {
    name: 'garbage-for-ever',
    what: 'bytes in a queue that mean nothing come again and again',
    edits: [
      {
        file: 'src/actors/runtime/deliveries.ts',
        from: `    onFault({ subject, body, error })
    return DONE`,
        to: `    onFault({ subject, body, error })
    return { done: false, againMs: 1_000 }`,
      },
    ],
  },
  {
    name: 'hung-worker',
    what: 'a worker that hangs keeps its job for ever',
    edits: [
      {
        file: 'src/actors/runtime/performing.ts',
        from: 'clock.after(one.limitMs, () => {',
        to: 'clock.after(1e12, () => {',
      },
    ],
  },
  {
    name: 'two-deciders',
    what: 'two deciders of a role that start together are both let in, and both decide',
    edits: [
      {
        file: 'src/actors/head/leases.ts',
        from: 'if (!holder || holder.worker === envelope.data.worker || !isLive(holder)) {',
        to: 'if (holder || !holder) {',
      },
      { file: 'src/actors/head/leases.ts', from: '? fence(envelope.actor) : null', to: '? null : null' },
    ],
  },
  {
    name: 'lost-causes',
    what: 'what a shared job brings does not say which event asked for it',
    edits: [
      {
        file: 'src/actors/runtime/deliveries.ts',
        from: '    const { job, cause } = shared as ',
        to: '    const { job, cause } = { ...shared, cause: null } as ',
      },
    ],
  },
  {
    name: 'resume-one-too-late',
    what: 'a decider that resumes from a key frame leaves out the first event behind it',
    edits: [
      {
        file: 'src/actors/runtime/decider-host.ts',
        from: '      from: framed + 1,',
        to: '      from: framed + (framed > 0 ? 2 : 1),',
      },
    ],
  },
  {
    name: 'frame-without-unsent',
    what: 'a key frame forgets what its decider had decided and not sent',
    tests: ['actors/planted-lines'],
    edits: [
      {
        file: 'src/actors/runtime/decider-host.ts',
        from: '      unsent: [...noted, ...underWay.flat(), ...outbox.flat()],',
        to: '      unsent: [],',
      },
    ],
  },
  {
    name: 'hash-kept-after-a-failed-commit',
    what: 'a failed commit resets the position and not the hash: the chain breaks at the next event',
    edits: [
      {
        file: 'src/events/log.ts',
        from: '      position = before.position\n      hash = before.hash\n',
        to: '      position = before.position\n',
      },
    ],
  },
  {
    name: 'frame-without-jobs',
    what: 'a key frame forgets the jobs that were open',
    tests: ['actors/key-frames'],
    edits: [
      {
        file: 'src/actors/runtime/decider-host.ts',
        from: '      jobs: [...jobs.values()].map(({ job, event }) => ({ job, position: event.position })),',
        to: '      jobs: [],',
      },
    ],
  },
  {
    name: 'cause-not-checked',
    what: 'an event may name a cause that the log does not have',
    tests: ['events/service'],
    edits: [
      {
        file: 'src/actors/head/rollback.ts',
        from: "    if (cause === null || log.positionOf('id', cause) !== null) return null",
        to: "    if (cause !== '') return null",
      },
    ],
  },
  {
    name: 'lease-from-the-answer',
    what: 'a lease begins with the answer and not with the request: two heads may write',
    tests: ['actors/planted-lines'],
    edits: [
      {
        file: 'src/actors/head/fence.ts',
        from: '      renewedAt = askedAt\n',
        to: '      renewedAt = clock.monotonic()\n',
      },
    ],
  },
  {
    name: 'late-result-appended',
    what: 'what a worker brings after its limit is appended',
    tests: ['actors/planted-lines'],
    edits: [
      {
        file: 'src/actors/runtime/performing.ts',
        from: '      if (abort.signal.aborted) return\n',
        to: '',
      },
    ],
  },
  {
    name: 'sweep-by-number-alone',
    what: 'the sweep takes any message with the number of a job for that job',
    tests: ['actors/planted-lines'],
    edits: [
      {
        file: 'src/actors/runtime/queued-work.ts',
        from: '    return message !== null && Buffer.compare(message.body, item.load().body) === 0',
        to: '    return message !== null',
      },
    ],
  },
  {
    name: 'cursor-before-flush',
    what: 'the cursor of what was published moves before the broker has it',
    tests: ['actors/planted-lines'],
    edits: [
      {
        file: 'src/actors/head/publisher.ts',
        from: '        await bus.flush()\n        confirmed = reached\n',
        to: '        confirmed = reached\n        await bus.flush()\n',
      },
    ],
  },
  {
    name: 'answers-of-an-older-epoch',
    what: 'what a head answers that has lost the run is believed',
    tests: ['actors/planted-lines'],
    edits: [
      {
        file: 'src/events/log-client.ts',
        from: '    if (told < epoch)\n',
        to: '    if (told < 0)\n',
      },
    ],
  },
  {
    name: 'commits-not-synced',
    what: 'commits do not reach the disk before they are acknowledged',
    tests: ['events/durable'],
    edits: [
      {
        file: 'src/events/log.ts',
        from: "synchronous = 'FULL',",
        to: "synchronous = 'OFF' as 'FULL',",
      },
    ],
  },
  {
    name: 'blobs-not-synced',
    what: 'a blob does not reach the disk before the event that names it',
    tests: ['events/durable'],
    edits: [{ file: 'src/events/blobs.ts', from: '          fsyncSync(file)\n', to: '' }],
  },
  {
    name: 'seen-not-checked',
    what: 'a decider that has read another log is not told',
    tests: ['security/fence'],
    edits: [
      {
        file: 'src/actors/head/rollback.ts',
        from: '    const isSame = !seen || (seen.position <= position && log.hashAt(seen.position) === seen.hash)',
        to: '    const isSame = true',
      },
    ],
  },
  {
    name: 'dead-letters-dropped',
    what: 'what cannot be read is not kept',
    tests: ['events/service'],
    edits: [
      {
        file: 'src/actors/head/dead-letters.ts',
        from: '        letters.push({\n',
        to: '        void ({\n',
      },
    ],
  },
  {
    name: 'frame-of-another-log',
    what: 'a key frame of another log is taken',
    tests: ['actors/key-frames'],
    edits: [
      {
        file: 'src/actors/runtime/key-frame.ts',
        from: '      if ((await hashAt(frame.position)) !== stored.hash)',
        to: '      if ((await hashAt(frame.position)) === null)',
      },
    ],
  },
  {
    name: 'unasked-results-taken',
    what: 'the log takes a result that nothing asked for',
    tests: ['actors/head/admission'],
    edits: [
      {
        file: 'src/actors/head/admission.ts',
        from: '      const wrong = refusalOf(event, user, group)\n',
        to: '      const wrong = null\n',
      },
    ],
  },
  {
    name: 'ids-of-others-taken',
    what: 'a role may take an id that a decision of another role will have',
    tests: ['actors/head/admission'],
    edits: [
      {
        file: 'src/actors/head/admission.ts',
        from: '    if (!isDerived(id)) return false\n',
        to: '    if (isDerived(id)) return false\n',
      },
    ],
  },
  {
    name: 'gap-ignored',
    what: 'a reader goes on behind an event that it missed',
    edits: [
      {
        file: 'src/events/live-check.ts',
        from: 'if (event.position > expected) return { ready, next: expected, isBroken: true }',
        to: 'if (event.position > expected) expected = event.position',
      },
    ],
  },
  {
    name: 'failed-work-is-done',
    what: 'work that failed is called done',
    edits: [
      {
        file: 'src/actors/runtime/deliveries.ts',
        from: '        done: false,\n        againMs,\n',
        to: '        done: true,\n',
      },
    ],
  },
  {
    name: 'role-never-free',
    what: 'a role stays taken by a process that has ended',
    edits: [
      {
        file: 'src/actors/head/leases.ts',
        from: 'if (!holder || holder.worker === envelope.data.worker || !isLive(holder)) {',
        to: 'if (!holder || holder.worker === envelope.data.worker) {',
      },
    ],
  },
  {
    name: 'open-work-forgotten',
    what: 'a head that starts again does not know of work that was asked for before',
    edits: [
      {
        file: 'src/actors/head/publisher.ts',
        from: '      for (const position of asked.values()) return position\n',
        to: '',
      },
    ],
  },
  {
    name: 'answer-before-the-brokers',
    what: 'an append is answered before the brokers have its record',
    edits: [
      {
        file: 'src/actors/head/appender.ts',
        from: `    if (kept) kept().then(tell, (error) => refuse(batch, error))
    else tell()
`,
        to: '    tell()\n',
      },
    ],
  },
  {
    name: 'lost-record-unseen',
    what: 'a head goes on although another record stands in the place of its own',
    edits: [
      {
        file: 'src/actors/head/replica.ts',
        from: 'if (!(await append(together(jobs)))) throw await reasonOfLoss()',
        to: 'await append(together(jobs))',
      },
    ],
    // The lease covers for it in every world.
    tests: ['actors/standby'],
  },
  {
    name: 'standby-behind',
    what: 'a standby takes the run without reading the last records',
    edits: [
      {
        file: 'src/actors/head/standby.ts',
        from: `        await copy.readOn()
        if (isFree !== null)`,
        to: `        if (isFree === null) await copy.readOn()
        if (isFree !== null)`,
      },
      { file: 'src/actors/head/replica.ts', from: '      await patiently(copy.readOn)\n', to: '' },
    ],
  },
]

/** What a copy needs for the simulation, and what it needs for the tests of the project. */
const SIMULATED = ['src', 'test/simulation', 'package.json', 'tsconfig.json']
const NOT_COPIED = new Set(['.git', '.cache', 'node_modules', 'runs', 'dist'])

/** Makes a copy of the project with the bug in it. Returns its folder, and how to remove it. */
export function plant(
  { edits, tests }: Planted,
  root: string,
): { readonly root: string; readonly remove: () => void } {
  const copy = mkdtempSync(join(tmpdir(), 'rl-planted-'))
  for (const name of tests ? readdirSync(root).filter((one) => !NOT_COPIED.has(one)) : SIMULATED)
    cpSync(join(root, name), join(copy, name), { recursive: true })
  for (const name of ['node_modules', '.cache'])
    if (existsSync(join(root, name))) symlinkSync(join(root, name), join(copy, name))
  for (const edit of edits) {
    const path = join(copy, edit.file)
    writeFileSync(path, edited(readFileSync(path, 'utf8'), edit))
  }
  return { root: copy, remove: () => rmSync(copy, { recursive: true, force: true }) }
}

/** Errors: where the text is not there once, the code has changed and the bug must be planted anew. */
export function edited(source: string, { file, from, to }: Edit): string {
  const parts = source.split(from)
  if (parts.length !== 2)
    throw new Error(
      `${file} holds ${parts.length - 1} times ${JSON.stringify(from)}, which a planted bug edits`,
    )
  return parts.join(to)
}
