/** Keys that every bridge has in its section. */
import type { z } from 'zod'
import type { Refuse } from '../setting.ts'

export const sessionShape = (zod: typeof z) => ({
  acting: zod
    .enum(['choices', 'texts'])
    .default('choices')
    .describe('How a model acts: it chooses an admissible action, or writes one.'),
  actions: zod
    .array(zod.string().min(1))
    .default([])
    .describe('The admissible actions, if the environment does not tell them. Empty: it tells them.'),
  goal: zod
    .string()
    .min(1)
    .max(10_000)
    .default('reach the goal')
    .describe('Goal that the agent is told, for tasks that name none.'),
  reward: zod
    .strictObject({
      from: zod.enum(['summed', 'last']).default('summed').describe('All rewards, or the last one alone.'),
      low: zod.number().default(0).describe('Reward that is outcome 0.'),
      high: zod.number().default(1).describe('Reward that is outcome 1.'),
    })
    .prefault({})
    .describe('How rewards become an outcome. A reward outside the bounds is a fault of the environment.'),
  sessions: zod.int().min(1).max(1024).default(4).describe('Most sessions at a time. Other rollouts wait.'),
  deterministic: zod
    .boolean()
    .default(true)
    .describe('False: no episode goes on from an older step, as `rl whatif` and `rl ask` would.'),
  timeoutSeconds: zod.number().positive().default(60).describe('Time limit of one answer.'),
})

export type SessionSection = z.output<z.ZodObject<ReturnType<typeof sessionShape>>>

/** Checks that a section says where its server is. */
export function checkServer(
  name: string,
  { command, url }: { readonly command: readonly string[]; readonly url: string | null },
  example: string,
  refuse: Refuse,
): void {
  if (url !== null || command.length > 0) return
  const hint = `add --set environment.${name}.url=${example}, or environment.${name}.command`
  refuse(`environment.${name}.url`, 'there is no server to play at', hint)
}

/** Checks the rules that no single key can say. */
export function checkSessions(name: string, { reward: { low, high } }: SessionSection, refuse: Refuse): void {
  if (low >= high)
    refuse(`environment.${name}.reward.low`, `${low} is not less than high (${high})`, 'e.g. 0 and 1')
}
