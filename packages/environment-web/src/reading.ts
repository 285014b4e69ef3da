/** What a page gave to read, checked: pages are as hostile as anything that comes from outside. */
import type { Task } from 'rlanything/environments'
import { firstIssue, RlError, safeParse } from 'rlanything/kit'
import { z } from 'zod'

/** Role, ref (0: text that cannot be acted on), name or text, value, states. */
const line = z.tuple([
  z.string().max(60),
  z.int().nonnegative(),
  z.string().max(500),
  z.string().max(5_000),
  z.string().max(100),
])

/** Effects of texts on a page: programs, and elements by their names and the names of their attributes. */
const sinks = z.object({
  programs: z.array(z.string()).max(2_000),
  elements: z.array(z.string()).max(50_000),
  /** Whether there were more. */
  full: z.boolean(),
})

const reading = z.object({
  done: z.boolean(),
  reward: z.number(),
  lines: z.array(line).max(500),
  commands: z.array(z.string().max(6_000)).max(1_000),
  advice: z.string().max(6_000).nullable(),
  goal: z.string().max(5_000).optional(),
  problem: z.string().max(500).optional(),
  sinks: sinks.optional(),
})

export type Line = z.infer<typeof line>
export type Sinks = z.infer<typeof sinks>
export type Reading = z.infer<typeof reading> & {
  /** Reason why the last action does not count: the agent's text would have become a part of the page. */
  readonly refused?: string
}

const left = z.object({ left: z.int().nonnegative().nullable() })
const goals = z.array(z.string().max(5_000))

/** @throws RlError `web.page` */
function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = safeParse(schema, value)
  if (parsed.success) return parsed.data
  const { path, message } = firstIssue(parsed.error)
  throw new RlError(`the page failed: in its answer, ${path.join('.')}: ${message}`, { code: 'web.page' })
}

export const readReading = (value: unknown): Reading => checked(reading, value)
export const readLeft = (value: unknown): number | null => checked(left, value).left
export const readGoals = (value: unknown): string[] => checked(goals, value)

/** Writes `[5] textbox "name" = anna (focused)`. A text line stays as it is. */
export function lineText([role, ref, name, value, states]: Line): string {
  if (ref === 0) return name
  return `[${ref}] ${role} "${name}"${value === '' ? '' : ` = ${value}`}${states === '' ? '' : ` (${states})`}`
}

/** What the task says and what its page shows at the start. */
export const givenBy = ({ goal }: Task, { lines }: Reading): string =>
  [goal, ...lines.map(lineText)].join('\n')

/** Rewards are sums, e.g. of sixths, that do not make up exactly 1. */
const SUCCESS = 1 - 1e-6

/** Returns whether the page says that the task is done with full reward. */
export function isSolved({ done, reward }: Reading): boolean {
  return done && reward >= SUCCESS
}
