/**
 * A process that fuzzes one target. It says the number of an input before it takes it, so that whoever waits for it knows which
 * one it never came back from.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rng, seedOf } from '../../src/random.ts'
import { judge, type Verdict } from './measured.ts'
import type { OpenTarget } from './target.ts'
import { TARGETS } from './targets.ts'

/** Told in steps of so many inputs, and whenever something is wrong. */
const TOLD_EVERY = 50

export type Told =
  | { readonly kind: 'began'; readonly input: number }
  | { readonly kind: 'found'; readonly input: number; readonly bytes: string; readonly verdict: Verdict }
  | { readonly kind: 'over'; readonly inputs: number; readonly left: readonly string[] }

export type Task = {
  readonly target: string
  readonly seed: number
  /** Number of the first input. */
  readonly from: number
  /** Ends at this time (ms since 1970), or behind this input. */
  readonly untilMs: number
  readonly to: number
}

const say = (told: Told) =>
  new Promise<void>((resolve) => {
    process.send?.(told, undefined, undefined, () => resolve())
  })

/** Inputs are numbered: the same seed and number make the same input. */
export function inputOf(
  target: OpenTarget,
  { target: name, seed }: Pick<Task, 'target' | 'seed'>,
  input: number,
): Uint8Array {
  return target.make(rng(seedOf(seed, 'fuzz', name, input)))
}

async function fuzz(task: Task): Promise<void> {
  const target = TARGETS.find(({ name }) => name === task.target)
  if (!target) throw new Error(`there is no target ${task.target}`)
  const root = mkdtempSync(join(tmpdir(), 'rl-fuzz-'))
  // What a reader leaves in the system's folder lies here.
  process.env.TMPDIR = root
  const folder = mkdtempSync(join(root, 'own-'))
  const open = await target.open(folder)
  let input = task.from
  try {
    // The first inputs only make the code warm.
    for (let warm = 0; warm < 20; warm++)
      await judge(open, inputOf(open, { ...task, seed: -1 - task.seed }, warm))
    for (; input <= task.to && Date.now() < task.untilMs; input++) {
      if (input % TOLD_EVERY === 0 || task.from === task.to) void say({ kind: 'began', input })
      const bytes = inputOf(open, task, input)
      const verdict = await judge(open, bytes)
      if (verdict.kind !== 'right' && verdict.kind !== 'refused')
        void say({
          kind: 'found',
          input,
          bytes: Buffer.from(bytes.subarray(0, 65_536)).toString('base64'),
          verdict,
        })
    }
  } finally {
    await open.close?.()
    const left = readdirSync(root).filter((name) => join(root, name) !== folder)
    rmSync(root, { recursive: true, force: true })
    await say({ kind: 'over', inputs: input - task.from, left })
  }
}

process.on('unhandledRejection', (error) => {
  throw error
})
process.on('disconnect', () => process.exit(0))
process.once('message', async (task: Task) => {
  await fuzz(task)
  process.disconnect()
})
