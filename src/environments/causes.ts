/**
 * The small vocabulary in which a local reward model judges: a cause, one word, and the verdict that follows from it. So a
 * judgement costs two tokens, and a complaint says what task adaptation reads.
 */

export type Label = -1 | 1

type LabelledStep = {
  readonly action: string
  /** Actions before this one. */
  readonly earlier: readonly string[]
  /** True progress of the step; below 0 it lost ground. */
  readonly progress: number
  readonly label: Label
}

/** Each word must be one word of the vocabulary, and no two are alike. */
export type Causes = {
  /** Word to what it says of a good step. */
  readonly praises: Readonly<Record<string, string>>
  /** Word to what it says of a bad step. */
  readonly complaints: Readonly<Record<string, string>>
  /** The word that goes with a label, as far as it can be told: what a reward model is started on. */
  readonly wordFor: (step: LabelledStep) => string
}

/** For settings without a vocabulary of their own. */
export const PLAIN_CAUSES: Causes = {
  praises: { advance: 'brings the task forward' },
  complaints: {
    repeat: 'repeats what was done before',
    idle: 'brings nothing',
    undo: 'undoes what was achieved',
  },
  wordFor({ action, earlier, progress, label }) {
    if (label === 1) return 'advance'
    if (progress < 0) return 'undo'
    return earlier.includes(action) ? 'repeat' : 'idle'
  },
}

/** The words of verdicts, good first. */
export const VERDICT_WORDS = ['good', 'bad'] as const

/** Asks for a judgement. */
export const ASK = '?'

/** Praises first. */
export function causeWords({ praises, complaints }: Causes): string[] {
  return [...Object.keys(praises), ...Object.keys(complaints)]
}

/** Words that a tokenizer must hold for judging. */
export function judgeWords(causes: Causes): string[] {
  return [...causeWords(causes), ...VERDICT_WORDS, ASK]
}

/** The only verdict that can follow a cause. */
export function verdictBehind(causes: Causes, word: string): Label {
  return Object.hasOwn(causes.praises, word) ? 1 : -1
}

/** A critique for people and for task adaptation, e.g. `goes to the wrong place: open cabinet 4`. */
export function critiqueText({ praises, complaints }: Causes, word: string, action: string): string {
  return `${praises[word] ?? complaints[word]}: ${action}`
}
