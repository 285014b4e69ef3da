/** Bugs that the spine once had, each as edits of the present code: the simulation must find them. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Planted = {
  readonly name: string
  readonly what: string
  readonly edits: readonly Edit[]
}

/** `from` stands in the file once. */
export type Edit = { readonly file: string; readonly from: string; readonly to: string }

export const PLANTED: readonly Planted[] = [
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
        file: 'src/actors/head/watch.ts',
        from: 'if (!holder || holder.worker === envelope.data.worker || !isLive(holder)) {',
        to: 'if (holder || !holder) {',
      },
      { file: 'src/actors/head/watch.ts', from: '? fence(envelope.actor) : null', to: '? null : null' },
    ],
  },
  {
    name: 'lost-causes',
    what: 'what a shared job brings does not say which event asked for it',
    edits: [
      {
        file: 'src/actors/runtime/deliveries.ts',
        from: '    const { job, cause } = shared\n',
        to: '    const { job } = shared\n    const cause = null\n',
      },
    ],
  },
]

/** Makes a copy of the project's code with the bug in it. Returns its folder, and the end of it. */
export function plant(
  { edits }: Planted,
  root: string,
): { readonly root: string; readonly remove: () => void } {
  const copy = mkdtempSync(join(tmpdir(), 'rl-planted-'))
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true })
  mkdirSync(join(copy, 'test'))
  cpSync(join(root, 'test', 'simulation'), join(copy, 'test', 'simulation'), { recursive: true })
  for (const file of ['package.json', 'tsconfig.json']) cpSync(join(root, file), join(copy, file))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
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
