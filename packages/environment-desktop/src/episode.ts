/**
 * Episodes on desktops. An episode is a value. To continue an older one, its actions are repeated on a fresh
 * desktop.
 */

import {
  asInfra,
  type Episode,
  type EpisodeEnd,
  type Lease,
  orRelease,
  type Picture,
  PROBLEM,
  type Stage as Staged,
  stageFor,
  type Task,
} from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import type { Computer } from './computer.ts'
import { parseCommand, type Target, targetsIn } from './grammars/commands.ts'
import { admissibleIn, observationOf } from './observation.ts'
import { evaluate } from './osworld/evaluate.ts'
import { setUp } from './osworld/setup.ts'
import type { Pool } from './pool.ts'
import { type ScreenAction, shown } from './screen/action.ts'
import { parseAnswer } from './screen/answer.ts'
import type { Grammar } from './screen/grammars/names.ts'
import { pngSize } from './screen/png.ts'
import type { DesktopTask } from './tasks/task.ts'

export type DesktopEpisode = Episode & {
  /** Resolves to the ended episode with its outcome. */
  readonly settle: () => Promise<DesktopEpisode>
  /** Resolves to the current picture. */
  readonly picture: () => Promise<Picture>
  /** Gives its desktop back. */
  readonly abandon: () => Promise<void>
}

export type EpisodeOptions = {
  readonly pool: Pool<Computer>
  readonly grammar: Grammar
  readonly maxSteps: number
  /** Files that tasks name by a web address. */
  readonly folder: string | null
}

/** A desktop, what its screen shows, and the files that its task has loaded. */
type Stage = Staged<Computer> & {
  targets: readonly Target[]
  readonly cache: Map<string, Uint8Array>
}

type State = {
  readonly actions: readonly string[]
  readonly ended: EpisodeEnd | null
  readonly gaveUp: boolean
}

/** @throws RlError `rollout.infra` if no desktop can be had or one breaks */
export async function startEpisode(
  task: Task,
  { file, texts }: DesktopTask,
  options: EpisodeOptions,
): Promise<DesktopEpisode> {
  const { pool, grammar, maxSteps, folder } = options

  async function open(): Promise<Stage> {
    const lease = await asInfra(() => pool.lease())
    const cache = new Map<string, Uint8Array>()
    const stage: Stage = { lease, owner: {}, targets: [], cache }
    await orRelease(stage, () =>
      on(lease, (computer) => setUp({ computer, task: file.id, folder, cache }, file.config)),
    )
    return stage
  }

  /** Returns the desktop as text. A model that sees does not read it, so it gets none. */
  async function look(stage: Stage): Promise<string> {
    if (grammar !== 'commands') return ''
    const tree = await on(stage.lease, (computer) => computer.accessibility())
    stage.targets = tree ? targetsIn(tree) : []
    return tree ? observationOf(tree) : ''
  }

  /** Does one action. Resolves to null if the action could not be read, with a message. */
  async function act(
    stage: Stage,
    action: string,
  ): Promise<{ readonly end: ScreenAction | null; readonly told: string }> {
    let actions: readonly ScreenAction[]
    try {
      actions = await parse(stage, action)
    } catch (error) {
      if (error instanceof RlError && error.code === 'screen.action')
        return { end: null, told: `${PROBLEM}${error.message}\n` }
      throw error
    }
    const end = actions.find(({ type }) => type === 'end') ?? null
    await on(stage.lease, (computer) => computer.act(actions))
    return { end, told: '' }
  }

  async function parse(stage: Stage, action: string): Promise<readonly ScreenAction[]> {
    return grammar === 'commands'
      ? parseCommand(action, stage.targets)
      : parseAnswer(grammar, action, await on(stage.lease, (computer) => computer.size()))
  }

  const stageOf = (stage: Stage, token: object, actions: readonly string[]): Promise<Stage> =>
    stageFor(stage, {
      token,
      open,
      async repeat(other) {
        await look(other)
        for (const action of actions) {
          await act(other, action)
          await look(other)
        }
      },
    })

  function episode(
    stage: Stage,
    { actions, ended, gaveUp }: State,
    observation: string,
    score: number | null,
  ): DesktopEpisode {
    const token = {}
    stage.owner = token
    const { targets } = stage
    return {
      task,
      steps: actions.length,
      turn: {
        observation,
        admissible:
          ended === null && grammar === 'commands' ? admissibleIn(targets, texts, file.instruction) : [],
        done: ended !== null,
        ended,
      },
      async step(action) {
        if (ended !== null) return this
        const here = await stageOf(stage, token, actions)
        return orRelease(here, async () => {
          const { end, told } = await act(here, action)
          const next: State = {
            actions: [...actions, action],
            ended: end ? 'gave-up' : actions.length + 1 >= maxSteps ? 'step-limit' : null,
            gaveUp: end?.type === 'end' && end.status === 'fail',
          }
          return episode(here, next, told + (await look(here)), null)
        })
      },
      async settle() {
        if (ended === null || score !== null) return this
        const here = await stageOf(stage, token, actions)
        const { lease, cache } = here
        try {
          const found = await on(lease, async (computer) => {
            // An agent that ends the episode itself has waited for this. At the limit of steps it has not.
            if (ended === 'step-limit') await computer.act([{ type: 'end', status: 'done' }])
            return evaluate({ computer, task: file.id, folder, cache }, file, gaveUp)
          })
          return episode(here, { actions, ended: found >= 1 ? 'goal' : ended, gaveUp }, observation, found)
        } finally {
          await lease.release()
        }
      },
      async picture() {
        const here = await stageOf(stage, token, actions)
        try {
          const bytes = await on(here.lease, (computer) => computer.screenshot())
          const size = pngSize(bytes)
          if (!size) throw new RlError('the screenshot is no PNG', { code: 'rollout.infra' })
          return { bytes, ...size }
        } finally {
          if (here !== stage) await here.lease.release()
        }
      },
      abandon: () => stage.lease.release(),
      outcome() {
        if (score === null)
          throw new RlError(`the outcome of ${shown(task.id)} is not known before it is settled`, {
            code: 'desktop.unsettled',
          })
        return score
      },
    }
  }

  const stage = await open()
  const shows = await orRelease(stage, () => look(stage))
  return episode(
    stage,
    { actions: [], ended: null, gaveUp: false },
    `Task: ${file.instruction}\n${shows}`,
    null,
  )
}

const on = <Answer>(lease: Lease<Computer>, work: (computer: Computer) => Promise<Answer>) =>
  asInfra(() => lease.use(work))
