/** Episodes over sessions elsewhere. Each way out of an episode gives its session back. */
import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { Episode, EpisodeEnd, Task } from '../port.ts'
import type { Leases } from './leases.ts'
import { outcomeOf, type Rewards, withReward } from './rewards.ts'
import type { Session, Shown } from './session.ts'
import { orRelease, type Stage, stageFor } from './stages.ts'

export type SessionEpisode = Episode & {
  /** Gives its session back. */
  readonly abandon: () => Promise<void>
}

export type SessionOptions = {
  readonly leases: Leases<Session>
  /** Opens a session of the task. */
  readonly open: () => Promise<Session>
  readonly rewards: Rewards
  readonly maxSteps: number
  /** Whether the same seed and actions lead to the same state. */
  readonly deterministic: boolean
}

type Tools = Session['tools']

type State = {
  readonly actions: readonly string[]
  /** [actions + 1] */
  readonly observations: readonly string[]
  readonly reward: number
  readonly ended: EpisodeEnd | null
}

/**
 * @throws RlError `rollout.infra` if no session can be had or it breaks; those of the session; `environment.differs` if a session
 *   does not come to the same state again; `environment.not-deterministic`
 */
export async function startSession(task: Task, options: SessionOptions): Promise<SessionEpisode> {
  const { leases, open, rewards, maxSteps, deterministic } = options

  async function openStage(): Promise<Stage<Session>> {
    return { lease: await leases.lease(open), owner: {} }
  }

  /** Brings a fresh session to the state, and compares all that it shows on the way. */
  async function repeat({ lease }: Stage<Session>, { actions, observations }: State): Promise<void> {
    const compare = ({ observation }: Shown, at: number) => {
      if (observation === observations[at]) return
      throw new RlError(`task '${task.id}' shows something else after the same ${at} actions`, {
        code: 'environment.differs',
        hint: 'set deterministic of the section to false: then no episode goes on from an older step',
      })
    }
    compare(await lease.use((session) => session.begin()), 0)
    for (const [at, action] of actions.entries())
      compare(await lease.use((session) => session.act(action)), at + 1)
  }

  function stageOf(stage: Stage<Session>, token: object, state: State): Promise<Stage<Session>> {
    if (!deterministic && !(stage.owner === token && stage.lease.isHeld()))
      throw new RlError(`task '${task.id}' cannot go on from step ${state.actions.length} again`, {
        code: 'environment.not-deterministic',
        hint: 'its section says deterministic: false, so an older state cannot be reached by the same actions',
      })
    return stageFor(stage, { token, open: openStage, repeat: (fresh) => repeat(fresh, state) })
  }

  function episode(stage: Stage<Session>, tools: Tools, state: State, shown: Shown): SessionEpisode {
    const token = {}
    stage.owner = token
    const { actions, ended } = state
    return {
      task,
      steps: actions.length,
      turn: {
        observation: shown.observation,
        admissible: ended === null ? shown.admissible : [],
        done: ended !== null,
        ended,
        ...(shown.failed === undefined ? {} : { failed: shown.failed }),
        ...(shown.void ? { void: true } : {}),
        ...(shown.files === undefined ? {} : { files: shown.files }),
      },
      ...(tools ? { tools } : {}),
      async step(action) {
        if (ended !== null) return this
        const here = await stageOf(stage, token, state)
        return orRelease(here, async () => {
          const next = await here.lease.use((session) => session.act(action))
          return after(here, tools, state, action, next)
        })
      },
      abandon: () => stage.lease.release(),
      outcome() {
        if (ended === null)
          throw new RlError(`the outcome of task '${task.id}' is not known before its end`, {
            code: 'environment.no-outcome',
          })
        return outcomeOf(rewards, state.reward)
      },
    }
  }

  async function after(
    stage: Stage<Session>,
    tools: Tools,
    { actions, observations, reward }: State,
    action: string,
    shown: Shown,
  ): Promise<SessionEpisode> {
    const isLast = !shown.done && actions.length + 1 >= maxSteps
    const atLimit = isLast ? await stage.lease.use(async (session) => session.atLimit?.()) : undefined
    const far = withReward(rewards, reward, shown.reward)
    const sum = atLimit === undefined ? far : withReward(rewards, far, atLimit)
    const ended = shown.done || isLast ? endOf(outcomeOf(rewards, sum), shown.done, atLimit) : null
    const next = episode(
      stage,
      tools,
      {
        actions: [...actions, action],
        observations: [...observations, shown.observation],
        reward: sum,
        ended,
      },
      shown,
    )
    if (ended !== null) await stage.lease.release()
    return next
  }

  const stage = await openStage()
  return orRelease(stage, async () => {
    const tools = await stage.lease.use(async (session) => session.tools)
    const shown = await stage.lease.use((session) => session.begin())
    if (shown.done) throw new RlError(`task '${task.id}' is over at its start`, { code: 'environment.over' })
    return episode(
      stage,
      tools,
      { actions: [], observations: [shown.observation], reward: 0, ended: null },
      shown,
    )
  })
}

/** Bounds of rewards are checked at the end alone: rewards before it may make up for one another. */
function endOf(outcome: number, done: boolean, atLimit: number | undefined): EpisodeEnd {
  if (!done && !(atLimit !== undefined && outcome === 1)) return 'step-limit'
  return outcome === 1 ? 'goal' : 'gave-up'
}

/** The number that a session is seeded with: not negative, and small enough for any language. */
export function seedNumber(seed: readonly [number, number]): number {
  return itemAt(seed, 0) & 0x7fffffff
}
