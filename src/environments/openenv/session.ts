/** One rollout at an OpenEnv server: one connection. */
import { pause } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import { broken, infra } from '../sessions/fault.ts'
import type { Session, Shown } from '../sessions/session.ts'
import { PROBLEM } from '../setting.ts'
import type { ActionReader } from './actions.ts'
import { type Channel, openChannel, type Reply } from './channel.ts'

/** How often a full server is asked again, ms. */
const AGAIN_MS = 200
const MOST_SHOWN = 200_000

export type OpenEnvOptions = {
  readonly url: string
  readonly timeoutMs: number
  /** Time that is waited for a full server, ms. */
  readonly capacityMs: number
  readonly actions: ActionReader
  readonly listed: boolean
}

/**
 * Opens a session and resets it.
 *
 * @param start data of the reset
 * @throws RlError `rollout.infra` if the server cannot be reached, or stays full
 */
export async function openSession(
  start: Readonly<Record<string, unknown>>,
  { url, timeoutMs, capacityMs, actions, listed }: OpenEnvOptions,
): Promise<Session> {
  const end = Date.now() + capacityMs
  let first: Reply
  let channel: Channel
  for (;;) {
    channel = await openChannel(url, timeoutMs)
    try {
      first = await channel.ask({ type: 'reset', data: start })
    } catch (error) {
      channel.close()
      throw error
    }
    if (codeOf(first) !== 'CAPACITY_REACHED') break
    channel.close()
    if (Date.now() > end)
      throw infra(`${url} stayed full for ${capacityMs / 1000} s: ${textOf(first.data.message)}`)
    await pause(AGAIN_MS)
  }
  const open = channel
  let last: Shown | null = null

  function shown(reply: Reply, asked: string): Shown {
    if (reply.type === 'error') throw errorOf(reply, url, asked)
    if (reply.type !== 'observation')
      throw broken(`${url} answers ${asked} with '${reply.type.slice(0, 50)}'`)
    const { observation, reward, done } = reply.data
    if (typeof done !== 'boolean') throw broken(`${url}: done is ${textOf(done)}`)
    const amount = typeof reward === 'boolean' ? Number(reward) : (reward ?? 0)
    if (typeof amount !== 'number') throw broken(`${url}: the reward is ${textOf(reward)}`)
    last = {
      observation: observationText(observation),
      admissible: listed && !done ? actions.choices : [],
      reward: amount,
      done,
    }
    return last
  }

  /** Returns what an action without an effect came to. */
  function nothing(why: string): Shown {
    const { admissible = [] } = last ?? {}
    return {
      observation: `${PROBLEM}${why}`.slice(0, MOST_SHOWN),
      admissible,
      reward: 0,
      done: false,
      void: true,
    }
  }

  return {
    async begin() {
      return shown(first, 'reset')
    },
    async act(action) {
      const fields = actions.read(action)
      if (fields === null) return nothing('this is no action')
      const reply = await open.ask({ type: 'step', data: fields })
      if (codeOf(reply) === 'VALIDATION_ERROR') return nothing(textOf(reply.data.message))
      return shown(reply, 'step')
    },
    async close() {
      open.close()
    },
  }
}

const codeOf = ({ type, data }: Reply): unknown => (type === 'error' ? data.code : null)

/** An error of the server, by its code. */
function errorOf({ data }: Reply, url: string, asked: string): RlError {
  const said = `${url}: ${asked}: ${textOf(data.code)}: ${textOf(data.message)}`
  if (data.code === 'EXECUTION_ERROR') return new RlError(said, { code: 'openenv.execution' })
  return new RlError(said, {
    code: 'openenv.refused',
    hint: 'rl openenv check tells what the server speaks; versions 0.3 and 0.10 are played',
  })
}

function textOf(value: unknown): string {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'missing')).slice(0, 500)
}

/** Returns an observation as text: a single text as it is, several fields as lines, the rest as JSON. */
function observationText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return textOf(value)
  const fields = Object.entries(value).filter(
    ([name, field]) => field !== null && !(name === 'metadata' && isEmpty(field)),
  )
  const [only] = fields
  const told =
    fields.length === 1 && only && typeof only[1] === 'string'
      ? only[1]
      : fields
          .map(([name, field]) => `${name}: ${typeof field === 'string' ? field : JSON.stringify(field)}`)
          .join('\n')
  if (told.length > MOST_SHOWN) throw broken(`an observation has ${told.length} characters`)
  return told
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0
