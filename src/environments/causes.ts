/**
 * The small vocabulary of a local reward model. A judgement is a cause, one word, and the verdict that
 * follows from it. So a judgement costs two tokens, and a complaint tells task adaptation what failed.
 */

export type Label = -1 | 1

/** A step whose true progress is known. */
export type LabelledStep = {
  /** Identifier of the step's task. */
  readonly task: string
  readonly action: string
  /** Actions before this one. */
  readonly earlier: readonly string[]
  /** True progress of the step. Below 0 the step lost ground. */
  readonly progress: number
  readonly label: Label
}

/** Each must be one word of the vocabulary, and no two may be alike. */
export type Causes = {
  /** Maps a word to its meaning for a good step. */
  readonly praises: Readonly<Record<string, string>>
  /** Maps a word to its meaning for a bad step. */
  readonly complaints: Readonly<Record<string, string>>
  /** Returns the best word for a labelled step. A reward model is first trained on these words. */
  readonly wordFor: (step: LabelledStep) => string
}

/** Vocabulary of settings that have none of their own. */
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

type JudgedSetting = {
  readonly judging?: { readonly by: 'steps'; readonly causes: Causes } | { readonly by: 'tests' }
}

/** Returns the vocabulary of a setting. */
export function causesOf({ judging }: JudgedSetting): Causes {
  return judging?.by === 'steps' ? judging.causes : PLAIN_CAUSES
}

/** Words of verdicts, good first. */
export const VERDICT_WORDS = ['good', 'bad'] as const

/** Word that asks for a judgement. */
export const ASK = '?'

/** Returns all words of a vocabulary, praises first. */
export function causeWords({ praises, complaints }: Causes): string[] {
  return [...Object.keys(praises), ...Object.keys(complaints)]
}

/** Returns the words that a tokenizer must hold for judging. */
export function judgeWords(causes: Causes): string[] {
  return [...causeWords(causes), ...VERDICT_WORDS, ASK]
}

/** Returns the only verdict that can follow a cause. */
export function verdictBehind(causes: Causes, word: string): Label {
  return Object.hasOwn(causes.praises, word) ? 1 : -1
}

/** Returns a critique for people and for task adaptation, e.g. `goes to the wrong place: open cabinet 4`. */
export function critiqueText({ praises, complaints }: Causes, word: string, action: string): string {
  return `${praises[word] ?? complaints[word]}: ${action}`
}
