/** One rollout at an ORS server: one session header. */
import { isRecord } from '../../is-record.ts'
import type { ToolSpec } from '../../models/port.ts'
import { broken, infra } from '../sessions/fault.ts'
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
import { type Asking, blocksText, jsonIn, type OrsCalls, orsCalls } from './calls.ts'

/** How often a session is kept alive, ms. A server ends it after 900 s without a question. */
const PING_MS = 60_000
/** Time in which a server may end a session, ms. */
const END_MS = 5_000
const MOST_CHARACTERS = 256 * 1024

export type OrsOptions = Asking & {
  readonly environment: string
  readonly secrets: Readonly<Record<string, string>>
  readonly rewards: Rewards
  readonly listed: boolean
  readonly actions: readonly string[]
  /** Is told the tools of a session. */
  readonly onTools: (tools: readonly ToolSpec[]) => void
}

/**
 * Opens a session for a task, and waits until it is set up.
 *
 * @param start the task as the server describes it
 * @throws RlError `rollout.infra` if the server cannot be reached or does not answer in time; `environment.answer` if it breaks the
 *   protocol; `ors.failed` and `ors.refused` with what it says
 */
export async function openSession(
  start: Readonly<Record<string, unknown>>,
  options: OrsOptions,
): Promise<Session> {
  const { environment, secrets } = options
  const { id } = await orsCalls(options, null).stream('/create_session', {})
  if (!/^[\x21-\x7e]{1,200}$/.test(id)) throw broken(`/create_session gives the id '${id.slice(0, 50)}'`)
  const calls = orsCalls(options, id)
  const place = `/${encodeURIComponent(environment)}`
  const ping = setInterval(() => {
    // The next question tells if the session is gone.
    calls.json('POST', '/ping').catch(() => {})
  }, PING_MS)
  ping.unref()

  let ending: Promise<void> | null = null
  async function end(): Promise<void> {
    clearInterval(ping)
    calls.stop()
    const last = orsCalls(options, id)
    for (const path of ['/delete', '/delete_session'])
      await last.json('POST', path, undefined, END_MS).catch(() => {}) // It is gone, or never hears of it.
  }
  const close = () => {
    ending ??= end()
    return ending
  }

  try {
    const given = Object.keys(secrets).length > 0 ? { secrets } : {}
    await calls.json('POST', '/create', { env_name: environment, task_spec: start, ...given })
    const tools = toolsIn(await calls.json('GET', `${place}/task_tools`))
    const files: Uint8Array[] = []
    const prompt = cut(blocksText(await calls.json('GET', `${place}/prompt`), `${place}/prompt`, files))
    options.onTools(tools)
    return sessionOf({ calls, place, tools, prompt, files, close }, options)
  } catch (error) {
    await close()
    throw error
  }
}

type Opened = {
  readonly calls: OrsCalls
  readonly place: string
  readonly tools: readonly ToolSpec[]
  readonly prompt: string
  /** Files that the prompt names. */
  readonly files: readonly Uint8Array[]
  readonly close: () => Promise<void>
}

function sessionOf(
  { calls, place, tools, prompt, files, close }: Opened,
  { rewards, listed, actions }: OrsOptions,
): Session {
  const known = new Map(tools.map((tool) => [tool.name, tool]))
  const choices = listed ? choicesOf(tools, actions) : []
  if (listed && choices.length === 0)
    throw broken('no tool has few values to choose from', 'list some as environment.ors.actions')
  /** The last reward that a tool paid. */
  let paid = 0

  const shown = (observation: string, more: Partial<Shown> = {}): Shown => ({
    ...{ observation, reward: 0, done: false },
    ...more,
    admissible: more.done ? [] : choices,
  })

  async function perform({ name, arguments: values }: Asked): Promise<CallResult> {
    const tool = known.get(name)
    if (!tool) return problem(`there is no tool '${name.slice(0, 100)}'`)
    const wrong = wrongArguments(tool.parameters, values)
    if (wrong !== null) return problem(wrong)
    const { text } = await calls.stream(`${place}/call`, { name, input: values })
    return resultIn(jsonIn(text, `the result of ${name}`), name)
  }

  return {
    tools,
    begin: async () => shown(prompt === '' ? 'Call tools.' : prompt, { files }),
    async act(action) {
      const asked = callsOf(action, known)
      if (asked.length === 0) return shown(`${PROBLEM}this is no call of a tool`, { void: true })
      const { observation, results, ...more } = await doCalls(asked, perform)
      const amounts = results.flatMap(({ reward }) => (reward === undefined ? [] : [reward]))
      paid = amounts.at(-1) ?? paid
      const sum = amounts.reduce((total, amount) => total + amount, 0)
      return shown(observation, {
        ...more,
        reward: rewards.from === 'summed' ? sum : paid,
        done: results.some(({ ends }) => ends),
      })
    },
    close,
  }
}

function resultIn(value: unknown, name: string): CallResult {
  if (!isRecord(value) || typeof value.ok !== 'boolean') throw broken(`the result of ${name} has no ok`)
  if (!value.ok) return { text: `error: ${String(value.error).slice(0, 2_000)}`, failed: true }
  const { output } = value
  if (!isRecord(output)) throw broken(`the result of ${name} has no output`)
  const { blocks, reward = null, finished = false } = output
  if (reward !== null && typeof reward !== 'number')
    throw broken(`the reward of ${name} is ${JSON.stringify(reward).slice(0, 100)}`)
  if (typeof finished !== 'boolean')
    throw broken(`finished of ${name} is ${JSON.stringify(finished).slice(0, 100)}`)
  const files: Uint8Array[] = []
  return {
    text: blocksText(blocks, `the result of ${name}`, files),
    files,
    failed: false,
    ends: finished,
    ...(reward === null ? {} : { reward }),
  }
}

function toolsIn(value: unknown): readonly ToolSpec[] {
  const tools = isRecord(value) ? value.tools : undefined
  if (!Array.isArray(tools)) throw broken('/task_tools gives no tools')
  if (JSON.stringify(tools).length > MOST_CHARACTERS)
    throw broken(`the tools have more than ${MOST_CHARACTERS} characters`)
  const specs = tools.map((tool: unknown): ToolSpec => {
    if (!isRecord(tool) || typeof tool.name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name))
      throw broken(`a tool has the name ${JSON.stringify(isRecord(tool) ? tool.name : tool)?.slice(0, 100)}`)
    const { name, description, input_schema } = tool
    return {
      name,
      description: typeof description === 'string' ? description.slice(0, 4_000) : '',
      parameters: isRecord(input_schema) ? input_schema : { type: 'object', properties: {} },
    }
  })
  const names = new Set(specs.map(({ name }) => name))
  if (names.size < specs.length) throw broken('/task_tools gives two tools of the same name')
  if (specs.length === 0) throw infra('the session has no tools')
  return specs
}
