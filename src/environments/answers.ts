/** Reads the admissible command that an answer in words names. */

/** Most punctuation marks after a command. More marks do not belong to one. */
const MOST_MARKS = 8

/** A command that was read out of an answer. */
export type ParsedAnswer = {
  /** Command for the game. If the answer names no admissible command, it is a fallback. */
  readonly command: string
  /** Reason why the answer named no command, so that fallbacks are counted. Null if it named one. */
  readonly problem: string | null
}

/**
 * Returns the action of an answer: the first whole number in the last box. As in the reference, a missing
 * number means option 0, and a number beyond the last option means the nearest one. Unlike the reference,
 * `problem` reports both.
 */
export function parseNumbered(answer: string, admissible: readonly string[]): ParsedAnswer {
  const last = admissible.length - 1
  const boxes = [...answer.matchAll(/\\boxed\{([^{}]*)\}/g)]
  const box = boxes.at(-1)?.[1]
  if (box === undefined) {
    const problem = answer.includes('\\boxed{') ? 'the box is not closed' : 'there is no box'
    return { command: admissible[0] ?? '', problem }
  }
  const number = /-?\d+/.exec(box)?.[0]
  if (number === undefined) return { command: admissible[0] ?? '', problem: 'the box holds no number' }
  const index = Number(number)
  const clamped = Math.min(Math.max(index, 0), Math.max(0, last))
  const problem = index === clamped ? null : `option ${number} does not exist, the last is ${last}`
  return { command: admissible[clamped] ?? '', problem }
}

/**
 * Returns the last line of the answer that is an admissible command, with or without marks around it. If
 * there is none, returns the first admissible command with the problem.
 */
export function parsePlain(answer: string, admissible: readonly string[]): ParsedAnswer {
  const known = new Set(admissible)
  const lines = answer.split('\n').map((line) => line.trim())
  for (const line of lines.toReversed()) {
    const command = readings(line).find((one) => known.has(one))
    if (command !== undefined) return { command, problem: null }
  }
  const said = lines.findLast((line) => line !== '')
  const problem = said === undefined ? 'the answer is empty' : `'${said.slice(0, 80)}' is not admissible`
  return { command: admissible[0] ?? '', problem }
}

/** Returns a line as it is and with ever fewer marks. A quote may end a command, or be a mark around it. */
function readings(line: string): string[] {
  const bare = line.replace(/^[>*`\-\s]+/, '')
  const marks = /[.`*"'\s]*$/.exec(bare.slice(-MOST_MARKS))![0].length
  return [line, ...Array.from({ length: marks + 1 }, (_, k) => bare.slice(0, bare.length - k))]
}
