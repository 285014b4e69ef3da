/** Instructions for a model that nobody can train: what stands before each of its calls, and how one change makes another. */

export type Instructions = {
  /** System instructions. It is empty at the start. */
  readonly system: string
  /** Short lessons, in the order in which they were learned. */
  readonly lessons: readonly string[]
}

/** One change of instructions. Lessons are named by their words, so that a change fits other instructions too. */
export type Change =
  | { readonly kind: 'add'; readonly lesson: string }
  | { readonly kind: 'replace'; readonly lesson: string; readonly by: string }
  | { readonly kind: 'remove'; readonly lesson: string }
  | { readonly kind: 'instructions'; readonly system: string }

export const NO_INSTRUCTIONS: Instructions = { system: '', lessons: [] }

export const MOST_LESSONS = 20
/** Most characters of a lesson, and of the system instructions. */
export const MOST_LESSON = 400
export const MOST_SYSTEM = 4_000

/**
 * Returns the changed instructions, or why the change is none of these.
 * @example changed(NO_INSTRUCTIONS, { kind: 'add', lesson: 'Show each step.' }) // { system: '', lessons: ['Show each step.'] }
 */
export function changed({ system, lessons }: Instructions, change: Change): Instructions | string {
  switch (change.kind) {
    case 'add':
      if (lessons.includes(change.lesson)) return 'the lesson is there already'
      if (lessons.length >= MOST_LESSONS) return `there are ${MOST_LESSONS} lessons already`
      return { system, lessons: [...lessons, change.lesson] }
    case 'replace':
      if (!lessons.includes(change.lesson)) return 'there is no such lesson to replace'
      if (lessons.includes(change.by)) return 'the lesson is there already'
      return { system, lessons: lessons.map((lesson) => (lesson === change.lesson ? change.by : lesson)) }
    case 'remove':
      if (!lessons.includes(change.lesson)) return 'there is no such lesson to remove'
      return { system, lessons: lessons.filter((lesson) => lesson !== change.lesson) }
    case 'instructions':
      if (change.system === system) return 'the instructions are these already'
      return { system: change.system, lessons }
  }
}

/**
 * Returns the system message. It is empty if there are no instructions.
 * @example systemText({ system: 'Be brief.', lessons: ['Show each step.'] }) // 'Be brief.\n\n- Show each step.'
 */
export function systemText({ system, lessons }: Instructions): string {
  const list = lessons.map((lesson) => `- ${lesson}`).join('\n')
  return [system, list].filter((part) => part !== '').join('\n\n')
}
