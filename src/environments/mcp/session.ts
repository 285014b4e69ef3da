/** One rollout: its servers, its tools, and what its actions come to. */
import { RlError } from '../../errors.ts'
import type { ToolSpec } from '../../models/port.ts'
import { broken } from '../sessions/fault.ts'
import type { Rewards } from '../sessions/rewards.ts'
import type { Session, Shown } from '../sessions/session.ts'
import {
  type Asked,
  type CallResult,
  callsOf,
  choicesOf,
  cut,
  doCalls,
  problem,
} from '../sessions/tool-actions.ts'
import { wrongArguments } from '../sessions/tool-arguments.ts'
import { PROBLEM } from '../setting.ts'
import { withoutCalls } from '../tool-calls.ts'
import { judge, type MakeCall, type RunProgram } from './checker.ts'
import type { Recipe } from './recipe.ts'
import { textOf } from './results.ts'
import { runSealed } from './sealed-program.ts'
import { type Connecting, connectServer, type ToolServer } from './server.ts'
import { FINISH, FINISHING, namedTools } from './tools.ts'

export type McpOptions = Connecting & {
  readonly rewards: Rewards
  /** Whether actions are chosen from a list. */
  readonly listed: boolean
  readonly actions: readonly string[]
  /** Is told the tools that a model gets. */
  readonly onTools: (tools: readonly ToolSpec[]) => void
}

/** @throws RlError those of `connectServer`; `mcp.tools` if a tool is missing, or none can be chosen */
export async function openSession(recipe: Recipe, options: McpOptions): Promise<Session> {
  const started: ToolServer[] = []
  const endAll = async () => void (await Promise.all(started.map((server) => server.end())))
  const connecting = await Promise.allSettled(
    [...recipe.servers].map(async ([name, spec]) => {
      started.push(await connectServer(name, spec, options))
    }),
  )
  try {
    for (const one of connecting) if (one.status === 'rejected') throw one.reason
    const order = [...recipe.servers.keys()]
    const servers = started.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
    return sessionOf(servers, recipe, options, endAll)
  } catch (error) {
    await endAll()
    throw error
  }
}

function sessionOf(
  servers: readonly ToolServer[],
  recipe: Recipe,
  { rewards, listed, actions, onTools, timeoutMs }: McpOptions,
  endAll: () => Promise<void>,
): Session {
  const all = namedTools(servers)
  const offered = recipe.tools.length === 0 ? [...all.values()] : recipe.tools.map((name) => known(name))
  const given = new Map(offered.map((one) => [one.spec.name, one]))
  const specs = [...offered.map(({ spec }) => spec), FINISHING]
  const byName = new Map(specs.map((spec) => [spec.name, spec]))
  const chosen = actions.length > 0 ? [...actions, FINISH] : []
  const admissible = listed ? choicesOf(specs, chosen) : []
  if (listed && admissible.every((action) => action === FINISH))
    throw new RlError('no tool has few values to choose from', {
      code: 'mcp.tools',
      hint: 'list some as environment.mcp.actions, or let a model write calls: acting: texts',
    })
  onTools(specs)

  function known(name: string) {
    const found = all.get(name)
    if (found) return found
    throw new RlError(`there is no tool '${name}'`, {
      code: 'mcp.tools',
      hint: `there are ${[...all.keys()].join(', ').slice(0, 500)}`,
    })
  }

  /** A call of ours: for the start of a task, and for its checker. */
  const callOurs: MakeCall = async (name, values) => {
    const { server, tool } = known(name)
    const result = await server.call(tool, values)
    if ('refused' in result) throw broken(`tool '${name}' of the task: ${result.refused}`)
    if (result.isError) throw broken(`tool '${name}' of the task: ${textOf(result).slice(0, 500)}`)
    return result
  }

  const run: RunProgram = (command, answer) =>
    runSealed(command, JSON.stringify({ ...recipe.told, answer }), timeoutMs)
  const judged = (answer: string) => judge(recipe.checker, answer, rewards, { call: callOurs, run })

  const shown = (observation: string, more: Partial<Shown> = {}): Shown => ({
    observation,
    admissible: more.done ? [] : admissible,
    reward: 0,
    done: false,
    ...more,
  })

  async function finish(answer: string): Promise<Shown> {
    const reward = await judged(answer)
    return shown('The task was ended.', { reward, done: true })
  }

  /** Makes one call of a model. */
  async function perform({ name, arguments: values }: Asked): Promise<CallResult> {
    const { answer } = values
    if (name === FINISH)
      return { text: '', failed: false, ends: true, ...(typeof answer === 'string' ? { answer } : {}) }
    const found = given.get(name)
    if (!found) return problem(`there is no tool '${name.slice(0, 100)}'`)
    const wrong = wrongArguments(found.spec.parameters, values)
    if (wrong !== null) return problem(wrong)
    const result = await found.server.call(found.tool, values)
    if ('refused' in result) return { text: `error: ${result.refused}`, failed: true }
    const failed = result.isError === true
    const files: Uint8Array[] = []
    const text = textOf(result, files)
    return { text: failed ? `error: ${text}` : text, failed, files }
  }

  return {
    tools: specs,
    async begin() {
      for (const { tool, arguments: values } of recipe.start) await callOurs(tool, values)
      const told = servers.map(({ instructions }) => instructions.trim()).filter((text) => text !== '')
      return shown(cut([...told, 'Call tools, or end with an answer.'].join('\n')))
    },
    async act(action) {
      const calls = callsOf(action, byName)
      if (calls.length === 0)
        return action.trim() === '' || listed
          ? shown(`${PROBLEM}this is no action`, { void: true })
          : finish(action.trim())
      const { observation, results, ...more } = await doCalls(calls, perform)
      const last = results.find(({ ends }) => ends)
      if (!last) return shown(observation, more)
      return finish(last.answer ?? withoutCalls(action))
    },
    atLimit: () => judged(''),
    close: endAll,
  }
}
