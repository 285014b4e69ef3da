/** How an answer in words names one of the admissible commands. */

/** Behind a command; more are no command's. */
const MOST_MARKS = 8

/** A command as it was read out of an answer. */
export type ParsedAnswer = {
  /** What to give to the game; where the answer names no admissible command, a fallback. */
  readonly command: string
  /** Why the answer itself named no command, so that fallbacks are counted and not hidden; null where it did. */
  readonly problem: string | null
}

/**
 * The action of an answer: the first whole number in the last box. As in the reference a missing number means option 0 and one beyond
 * the last means the nearest option; unlike there, `problem` says so.
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
 * The last line of the answer that is an admissible command, with or without marks around it; else the first admissible one, with the
 * problem.
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

/** A line as it is and with ever fewer marks: a quote may be the end of a command, and a mark around it. */
function readings(line: string): string[] {
  const bare = line.replace(/^[>*`\-\s]+/, '')
  const marks = /[.`*"'\s]*$/.exec(bare.slice(-MOST_MARKS))![0].length
  return [line, ...Array.from({ length: marks + 1 }, (_, k) => bare.slice(0, bare.length - k))]
}
