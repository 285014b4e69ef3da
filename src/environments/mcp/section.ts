/** The keys of the section `environment.mcp`. */
import type { z } from 'zod'
import { sessionShape } from '../sessions/section.ts'

/** A server: a program on this machine, or an address. */
export const serverShape = (zod: typeof z) =>
  zod.strictObject({
    command: zod
      .array(zod.string().min(1))
      .default([])
      .describe('Program and words of a server that speaks by its standard streams, one for each rollout.'),
    url: zod
      .url({ protocol: /^https?$/ })
      .nullable()
      .default(null)
      .describe('Address of a server that speaks by HTTP, e.g. `http://127.0.0.1:3001/mcp`.'),
    env: zod
      .array(zod.string().min(1))
      .default([])
      .describe('Names of variables that the program gets, besides those that say where things are.'),
    tokenEnv: zod
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Name of the variable with the token for the address. Tokens never stand in a config.'),
  })

const callShape = (zod: typeof z) => ({
  tool: zod.string().min(1).describe('Name of the tool, as the model sees it.'),
  arguments: zod.record(zod.string(), zod.unknown()).default({}).describe('Arguments of the call.'),
})

/** A call that is made for a task. */
export const startShape = (zod: typeof z) => zod.strictObject(callShape(zod))

/** How an episode is judged at its end: a call, a program or the answer itself, and how the text is compared. */
export const checkerShape = (zod: typeof z) =>
  zod.strictObject({
    tool: callShape(zod).tool.optional(),
    arguments: callShape(zod).arguments.describe(
      'Arguments of the call. The value `{answer}` stands for the answer.',
    ),
    command: zod
      .array(zod.string().min(1))
      .min(1)
      .optional()
      .describe(
        'A program in a sandbox. It reads the task and the answer as JSON, and its output is the result.',
      ),
    equals: zod.unknown().optional().describe('The result that is right: a text, or JSON.'),
    contains: zod.string().min(1).optional().describe('A text that a right result has in it.'),
    number: zod
      .union([zod.boolean(), zod.string().min(1)])
      .optional()
      .describe('The result is the reward: `true`, or the name of its field.'),
  })

export const shape = (zod: typeof z) => ({
  servers: zod
    .record(zod.string().regex(/^[a-zA-Z0-9-]{1,32}$/), serverShape(zod))
    .default({})
    .describe('Servers by their names. A task has all of them, or names some.'),
  tools: zod.array(zod.string().min(1)).default([]).describe('Tools that a model gets. Empty: all of them.'),
  start: zod
    .array(startShape(zod))
    .default([])
    .describe('Calls that bring a server to the state in which a task begins.'),
  checker: checkerShape(zod)
    .nullable()
    .default(null)
    .describe('How an episode is judged at its end, for tasks that say nothing else.'),
  taskServers: zod
    .boolean()
    .default(false)
    .describe(
      'Whether tasks may bring servers and checkers with programs of their own. Those of servers run as you.',
    ),
  ...sessionShape(zod),
  acting: sessionShape(zod).acting.default('texts'),
  deterministic: sessionShape(zod).deterministic.default(false),
})

export type McpSection = z.output<z.ZodObject<ReturnType<typeof shape>>>
export type ServerSpec = z.output<ReturnType<typeof serverShape>>
export type StartCall = z.output<ReturnType<typeof startShape>>
export type Checker = z.output<ReturnType<typeof checkerShape>>

/** Returns what is wrong with a server, or null. */
export function wrongServer({ command, url }: ServerSpec): string | null {
  if (command.length === 0 && url === null) return 'it has no command and no url'
  return command.length > 0 && url !== null ? 'it has a command and a url' : null
}

/** Returns what is wrong with a checker, or null. */
export function wrongChecker({ tool, command, equals, contains, number }: Checker): string | null {
  if (tool !== undefined && command !== undefined) return 'it has a tool and a command'
  const ways = [equals, contains, number === false ? undefined : number].filter((way) => way !== undefined)
  return ways.length === 1 ? null : 'it needs one of equals, contains and number'
}
