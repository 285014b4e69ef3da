/**
 * The reward model's small vocabulary of causes: the critique that it writes before a verdict. Each is one word, so a
 * judgement costs two tokens; a complaint names the command, which is what task adaptation reads.
 */
import type { Label } from '../../learning/judge-quality.ts'

/** What each cause says of a good step. */
const PRAISES = {
  approach: 'goes towards what the task needs',
  advance: 'brings the task forward',
} as const

/** What each cause says of a bad one. */
const COMPLAINTS = {
  repeat: 'repeats what was done before',
  idle: 'has no effect',
  undo: 'undoes what was achieved',
  object: 'handles the wrong object',
  place: 'goes to the wrong place',
} as const

const CAUSES = { ...PRAISES, ...COMPLAINTS }

export type Cause = keyof typeof CAUSES

export const CAUSE_WORDS = Object.keys(CAUSES) as readonly Cause[]

/** The only verdict that can follow a cause. */
export function verdictBehind(cause: Cause): Label {
  return cause in PRAISES ? 1 : -1
}

/** The words of verdicts, good first. */
export const VERDICT_WORDS = ['good', 'bad'] as const

/** A critique for people and for task adaptation, e.g. `goes to the wrong place: open cabinet 4`. */
export function critiqueText(cause: Cause, action: string): string {
  return `${CAUSES[cause]}: ${action}`
}

/**
 * The cause that goes with a label, as far as it can be told from the texts: what a reward model is started on.
 * @param earlier actions before this one
 * @param progress true progress of the step; below 0 it lost ground
 */
export function causeOf({
  action,
  earlier,
  progress,
  label,
}: {
  readonly action: string
  readonly earlier: readonly string[]
  readonly progress: number
  readonly label: Label
}): Cause {
  const verb = action.split(' ')[0]
  const moves = verb === 'go' || verb === 'open'
  if (label === 1) return moves ? 'approach' : 'advance'
  if (IDLE.has(verb)) return 'idle'
  if (progress < 0 && !moves) return 'undo'
  if (earlier.includes(action)) return 'repeat'
  return moves || verb === 'close' ? 'place' : 'object'
}

const IDLE = new Set(['look', 'inventory', 'help', 'examine'])
