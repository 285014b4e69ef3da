/** Environments of Python's packages by their sidecar: each session has a process of Python, which plays one after another. */
import { fileURLToPath } from 'node:url'
import type { Config } from '../../config-schema/schema.ts'
import { RlError } from '../../errors.ts'
import type { Task } from '../port.ts'
import { type SessionEnvironment, sessionEnvironment } from '../sessions/environment.ts'
import { seedNumber } from '../sessions/episode.ts'
import { broken } from '../sessions/fault.ts'
import { type Fields, type LineProcess, startLineProcess } from '../sessions/line-process.ts'
import type { Session, Shown } from '../sessions/session.ts'
import { lineTasks, seedTasks } from '../sessions/tasks.ts'
import { PROBLEM } from '../setting.ts'
import type { GymSection } from './section.ts'

const SIDECAR = fileURLToPath(new URL('../../../integrations/gym/sidecar.py', import.meta.url))
const VERSION = 1
const MOST_SHOWN = 200_000
const MOST_ACTIONS = 10_000

type Sidecar = {
  readonly process: LineProcess
  /** Number of actions, or null if they are texts. */
  readonly actions: number | null
}

export function openEnvironment(config: Config, section: GymSection): SessionEnvironment {
  const idle: Sidecar[] = []
  const all = new Set<LineProcess>()
  const timeoutMs = section.timeoutSeconds * 1000

  async function sidecar(): Promise<Sidecar> {
    const known = idle.pop()
    if (known && known.process.fault() === null) return known
    const process = startLineProcess([...section.python, SIDECAR])
    all.add(process)
    try {
      const made = answerOf(
        await process.ask({ op: 'make', id: section.id, options: section.options }, timeoutMs),
      )
      if (made.version !== VERSION) throw broken(`the sidecar speaks version ${JSON.stringify(made.version)}`)
      return { process, actions: typeof made.actions === 'number' ? made.actions : null }
    } catch (error) {
      all.delete(process)
      await process.end()
      throw error
    }
  }

  const naming = { environment: 'gym', goal: section.goal }
  const { source, data } = config.environment
  return sessionEnvironment({
    tasks: async (split) =>
      source === 'data' ? lineTasks(data ?? '', split, naming) : seedTasks(config, split, naming),
    open: async (task, seed) => {
      const one = await sidecar()
      return sessionOf(
        one,
        { section, seed: seedOfTask(task) ?? seedNumber(seed), timeoutMs },
        async (whole) => {
          if (whole) idle.push(one)
          else {
            all.delete(one.process)
            await one.process.end()
          }
        },
      )
    },
    sessions: section.sessions,
    rewards: section.reward,
    deterministic: section.deterministic,
    close: async () => void (await Promise.all([...all].map((process) => process.end()))),
  })
}

const seedOfTask = ({ recipe: { seed } }: Task): number | null =>
  Number.isInteger(seed) ? Number(seed) : null

type SessionOf = { readonly section: GymSection; readonly seed: number; readonly timeoutMs: number }

/** @param giveBack is told whether the process can play another episode */
function sessionOf(
  { process, actions }: Sidecar,
  { section, seed, timeoutMs }: SessionOf,
  giveBack: (whole: boolean) => Promise<void>,
): Session {
  const names =
    section.actions.length > 0
      ? section.actions
      : Array.from({ length: Math.min(actions ?? 0, MOST_ACTIONS) }, (_, index) => String(index))
  const listed = section.acting === 'choices'
  let last: Shown | null = null
  let asking = false

  async function ask(question: Fields): Promise<Shown> {
    asking = true
    const answer = answerOf(await process.ask(question, timeoutMs))
    asking = false
    last = shownOf(answer, listed, names)
    return last
  }

  return {
    begin: () => ask({ op: 'reset', seed }),
    async act(action) {
      const word = action.trim()
      const index = names.indexOf(word)
      if (actions !== null && (index < 0 || index >= actions))
        return {
          observation: `${PROBLEM}there is no action '${word.slice(0, 100)}'`,
          admissible: last?.admissible ?? [],
          reward: 0,
          done: false,
          void: true,
        }
      return ask({ op: 'step', action: actions === null ? word : index })
    },
    // A process in the middle of an answer is of no use to the next session.
    close: () => giveBack(!asking && process.fault() === null),
  }
}

function answerOf(answer: Fields): Fields {
  if (answer.error !== undefined)
    throw new RlError(`the sidecar: ${String(answer.error).slice(0, 500)}`, {
      code: 'gym.failed',
      hint: 'is the package installed for environment.gym.python? rl gym check tries it',
    })
  return answer
}

function shownOf(answer: Fields, listed: boolean, names: readonly string[]): Shown {
  const { observation, reward = 0, done = false, admissible = null } = answer
  if (typeof observation !== 'string' || observation.length > MOST_SHOWN)
    throw broken(`an observation is no text of at most ${MOST_SHOWN} characters`)
  if (typeof reward !== 'number') throw broken(`the reward is ${JSON.stringify(reward)}`)
  if (typeof done !== 'boolean') throw broken(`done is ${JSON.stringify(done)}`)
  return { observation, reward, done, admissible: listed && !done ? choicesOf(admissible, names) : [] }
}

function choicesOf(told: unknown, names: readonly string[]): readonly string[] {
  const choices = Array.isArray(told)
    ? told.map((one) => (typeof one === 'number' ? (names[one] ?? String(one)) : String(one)))
    : names
  if (choices.length === 0 || choices.length > MOST_ACTIONS)
    throw new RlError(`the environment tells ${choices.length} admissible actions`, {
      code: 'gym.actions',
      hint: 'list some as environment.gym.actions, or set environment.gym.acting=texts',
    })
  return [...new Set(choices)]
}
