/**
 * Pages behind the `Environment` port. An episode is a value: its task and its actions. If its page shows
 * something else by now, the actions are repeated on another page. Pages are deterministic.
 */

import { readFileSync } from 'node:fs'
import { type Grammar, pngSize } from '@rlanything/environment-desktop/screen'
import {
  type Environment,
  type Episode,
  type EpisodeEnd,
  type Expert,
  type Picture,
  type Rewrite,
  type RewriteRequest,
  rng,
  type Seed,
  seedOf,
  type Task,
  type Turn,
  type Validation,
} from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import { findBrowser } from './browser/find.ts'
import type { Page } from './browser/page.ts'
import { createPool, type Pool, type Slot, type Wish } from './browser/pool.ts'
import { bringsMarkup } from './markup.ts'
import { createMemo } from './memo.ts'
import { namedIn, partsOf } from './named.ts'
import { lineText, type Reading, readGoals, readLeft, readReading, type Sinks } from './reading.ts'
import { rewriteTask } from './rewrite.ts'
import type { Asked, Site, Variant } from './site.ts'
import { perform, type Step, stepReader } from './steps.ts'
import { readTurn } from './turn.ts'
import { becomes, isDoubtful, ownTexts, withOtherLetters } from './written.ts'

/** A page that takes longer hangs: its browser is ended. */
const PLAY_MS = 10_000
/** Goals that are asked for at once. */
const GOALS = 200
/** Least reward that is a success: sums of sixths are not exactly one. */
export const SUCCESS = 1 - 1e-6
/** Most steps of an oracle from any state. */
const MOST_ORACLE_STEPS = 60

/** Scripts that run before a page's own, in this order, also in its workers. */
const PAGE_SCRIPTS = [
  ...[
    'clock',
    'machine',
    'waiting',
    'refused',
    'listeners',
    'clipboard',
    'sinks',
    'reach',
    'texts',
    'driver',
  ],
]
const WORKER_SCRIPTS = ['clock', 'machine', 'waiting', 'worker']

export type WebOptions = {
  readonly site: Site
  /** A path or a name on the PATH. null: the first browser that is found. */
  readonly browser: string | null
  /** Pages that are open at once. */
  readonly pages: number
  /** Form of actions. Default: commands. */
  readonly grammar?: Grammar
  /** Pixels of a picture for one pixel of a page. Default: 1. */
  readonly scale?: number
  readonly deadlineMs?: number
  /**
   * Most characters of page contents that are remembered by task and actions. Rollouts of a group begin
   * alike, and pages are deterministic. Default: 0. Then each is played anew, as checks and measurements need
   * it.
   */
  readonly remembered?: number
}

/** Actions that bring a page from its start to a state, and the page's content there. */
type State = {
  readonly task: Task
  readonly maxSteps: number
  readonly actions: readonly Step[]
  /** The text of the task and of the page at its start. */
  readonly given: string
  /** Names and texts of the goal that actions have used. */
  readonly used: ReadonlySet<string>
  readonly reading: Reading
  readonly steps: number
  readonly turn: Turn
  /** Identifies the state that a page shows. */
  readonly holder: object
}

export interface WebEpisode extends Episode {
  step(action: string): Promise<WebEpisode>
}

export interface WebEnvironment extends Environment {
  reset(task: Task, options: { readonly seed: Seed; readonly maxSteps: number }): Promise<WebEpisode>
  rewrite(request: RewriteRequest): Promise<Rewrite>
  validate(task: Task): Promise<Validation>
  /**
   * Resolves to the number of the oracle's steps to success after some actions. Resolves to null if it does
   * not succeed.
   */
  remaining(task: Task, actions: readonly string[]): Promise<number | null>
  progress(task: Task, actions: readonly string[]): Promise<Float32Array | null>
  /** Some tasks of each page, by its name. */
  samples(seeds: number): Promise<ReadonlyMap<string, readonly Task[]>>
  /** Returns the advice of the page's oracle at a turn. No agent sees it. */
  advice(turn: Turn): string | null
  /** Gives the oracle's advice, else a random action. */
  readonly expert: Expert
  /** Resolves to a picture of the episode's current page. */
  picture(episode: Episode): Promise<Picture>
  words(): readonly string[] | undefined
  runtime(): Promise<string>
  readonly pool: Pool
  close(): Promise<void>
}

export function webEnvironment({
  site,
  browser,
  pages,
  grammar = 'commands',
  scale = 1,
  deadlineMs = PLAY_MS,
  remembered = 0,
}: WebOptions): WebEnvironment {
  const readStep = stepReader(grammar, site.screen, scale)
  const program = findBrowser(browser)
  const script = (name: string) => readFileSync(new URL(`./page/${name}.js`, import.meta.url), 'utf8')
  const pool = createPool({
    program,
    pages,
    scripts: [...PAGE_SCRIPTS.map(script), ...site.scripts],
    workerScript: WORKER_SCRIPTS.map(script).join('\n'),
    serve: site.serve,
    scale,
  })
  /** Advice of the oracle by turn. No agent sees it. */
  const advised = new WeakMap<Turn, string>()
  const states = new WeakMap<Episode, State>()
  /** Returns the step that a text means after some steps. */
  function stepAfter({ goal }: Task, before: readonly Step[], text: string): ReturnType<typeof readStep> {
    const step = readStep(text)
    const refused = !('problem' in step) && bringsMarkup(before, step, goal)
    return refused ? { problem: 'markup can be typed only where the task has some' } : step
  }

  const shown = createMemo<Reading>(remembered, sizeOf)
  const remainders = createMemo<number | null>(remembered, () => 8)
  const keyOf = ({ recipe }: Task, actions: readonly Step[]) => JSON.stringify([recipe, actions])

  /** Resolves to the page's content after some actions. @param from as for `play` */
  const look = (
    task: Task,
    actions: readonly Step[],
    given: string,
    from: Parameters<typeof play>[2],
    holder: object,
  ): Promise<Reading> =>
    shown.of(keyOf(task, actions), async () => {
      const own = ownTexts(actions, given)
      const ask = { oracle: true, sinks: own.length > 0 }
      const { sinks, ...reading } = readReading(await play(task, actions, from, ask, holder))
      if (!sinks || !isDoubtful(sinks, own)) return reading
      const others = await sinksOf(task, withOtherLetters(actions, own))
      const became = becomes(sinks, others, own)
      return became === null
        ? reading
        : { ...reading, refused: `what was written would become ${became} of the page` }
    })

  async function sinksOf(task: Task, actions: readonly Step[]): Promise<Sinks> {
    const none = { programs: [], elements: [], full: false }
    try {
      return readReading(await play(task, actions, null, { sinks: true }, null)).sinks ?? none
    } catch (error) {
      if (error instanceof RlError && error.code === 'web.page') return none
      throw error
    }
  }

  /** Loads an address. The page shows no episode then. */
  async function bring(slot: Slot, path: string, fresh: boolean): Promise<void> {
    slot.holder = null
    if (!fresh && slot.path === path) return
    slot.path = null
    await slot.page.load(path, deadlineMs)
    slot.path = path
  }

  /** Lends a page. If browsers keep ending, that is not the fault of the task that waits for one. */
  async function lent<T>(wish: Wish, job: (slot: Slot) => Promise<T>): Promise<T> {
    try {
      return await pool.run(wish, job)
    } catch (cause) {
      if (!(cause instanceof RlError && cause.code === 'web.gone')) throw cause
      throw new RlError(cause.message, { code: 'rollout.infra', cause })
    }
  }

  /**
   * Brings a page to the state after some actions, and asks it. @param from state that a page may still show
   */
  function play(
    task: Task,
    actions: readonly Step[],
    from: { readonly holder: object; readonly done: number } | null,
    ask: Readonly<Record<string, unknown>>,
    holder: object | null,
    then?: (page: Page) => Promise<unknown>,
  ): Promise<unknown> {
    const { path, fresh, request } = site.start(task.recipe)
    return lent({ path, holder: from?.holder ?? null }, async (slot) => {
      const goesOn = from !== null && slot.holder === from.holder
      if (!goesOn) await bring(slot, path, fresh)
      slot.holder = null
      const told = goesOn
        ? await perform(slot.page, null, actions.slice(from.done), ask, deadlineMs)
        : await perform(slot.page, request, actions, ask, deadlineMs)
      slot.holder = holder
      // A program that a text became may have changed the page for the episodes behind.
      if (hasPrograms(told)) slot.path = null
      return then ? then(slot.page) : told
    })
  }

  function episode(state: State): WebEpisode {
    const { task, turn, steps, reading } = state
    const value: WebEpisode = {
      task,
      turn,
      steps,
      async step(text) {
        if (turn.done) return episode(state)
        const done = stepAfter(task, state.actions, text)
        if ('problem' in done) return episode(stateAfter(state, { ...reading, problem: done.problem }, false))
        const actions = [...state.actions, done]
        const holder = {}
        const from = { holder: state.holder, done: state.actions.length }
        const next = await look(task, actions, state.given, from, holder)
        if (next.refused !== undefined)
          return episode(stateAfter(state, { ...reading, problem: next.refused }, false))
        const used = usedAfter(state, text)
        return episode(stateAfter({ ...state, actions, used, holder }, next, done.ends))
      },
      // May be asked at any time: an episode whose page no longer fits into the model's context has not
      // solved it.
      outcome: () => (reading.done && reading.reward >= SUCCESS ? 1 : 0),
    }
    states.set(value, state)
    return value
  }

  function turnOf(
    { task, used }: Pick<State, 'task' | 'used'>,
    reading: Reading,
    ended: EpisodeEnd | null,
    before: Reading | null,
  ): Turn {
    const turn = readTurn(reading, { goal: task.goal, used, ended, before, listed: grammar === 'commands' })
    if (reading.advice !== null) advised.set(turn, reading.advice)
    return turn
  }

  /**
   * @param before last state, with the actions since its page was read
   * @param ends whether the agent says that it is over
   */
  function stateAfter(before: State, reading: Reading, ends: boolean): State {
    const steps = before.steps + 1
    const { done, reward } = reading
    const solved = done && reward >= SUCCESS
    const ended: EpisodeEnd | null = solved
      ? 'goal'
      : done || ends
        ? 'gave-up'
        : steps >= before.maxSteps
          ? 'step-limit'
          : null
    return { ...before, reading, steps, turn: turnOf(before, reading, ended, before.reading) }
  }

  const asked: Asked = {
    async goals(recipes) {
      const goals: string[] = new Array(recipes.length)
      const starts = recipes.map((recipe) => site.start(recipe))
      const byPath = new Map<string, number[]>()
      for (const [i, { path, fresh }] of starts.entries()) {
        // Pages that are loaded anew each time are asked one by one.
        const key = fresh ? `${path}#${i}` : path
        byPath.set(key, [...(byPath.get(key) ?? []), i])
      }
      const groups = [...byPath.values()].flatMap((all) =>
        Array.from({ length: Math.ceil(all.length / GOALS) }, (_, k) =>
          all.slice(k * GOALS, (k + 1) * GOALS),
        ),
      )
      await Promise.all(
        groups.map(async (group) => {
          const { path, fresh } = starts[group[0]]
          const asked = group.map((i) => starts[i].request)
          const told = await lent({ path, holder: null }, async (slot) => {
            await bring(slot, path, fresh)
            return readGoals(await slot.page.call('goals', asked, deadlineMs))
          })
          for (const [k, i] of group.entries()) goals[i] = told[k]
        }),
      )
      return goals
    },
    call: (path, name, argument) =>
      lent({ path, holder: null }, async (slot) => {
        await bring(slot, path, false)
        return slot.page.call(name, argument, deadlineMs)
      }),
  }

  /** Returns the steps of an episode, without refused ones. */
  async function stepsOf(task: Task, actions: readonly string[]): Promise<Step[]> {
    const steps: Step[] = []
    let given: string | null = null
    for (const action of actions) {
      const step = stepAfter(task, steps, action)
      if ('problem' in step) continue
      const all = [...steps, step]
      if (ownTexts(all, '').length > 0) {
        given ??= givenBy(task, await look(task, [], '', null, {}))
        if (ownTexts(all, given).length > 0) {
          const { refused } = await look(task, all, given, null, {})
          if (refused !== undefined) continue
        }
      }
      steps.push(step)
    }
    return steps
  }

  async function remaining(task: Task, actions: readonly string[]): Promise<number | null> {
    const steps = await stepsOf(task, actions)
    return remainders.of(keyOf(task, steps), async () => {
      const reading = shown.known(keyOf(task, steps))
      if (reading?.done) return reading.reward >= SUCCESS ? 0 : null
      return readLeft(await play(task, steps, null, { finish: MOST_ORACLE_STEPS }, null))
    })
  }

  /**
   * Returns the remaining steps before each action and after the last. An oracle without memory goes from its
   * own step to the next state.
   */
  async function remainingAll(task: Task, actions: readonly string[]): Promise<(number | null)[]> {
    const left = [await remaining(task, actions)]
    for (let done = actions.length - 1; done >= 0; done--) {
      const before = actions.slice(0, done)
      const known = shown.known(keyOf(task, await stepsOf(task, before)))
      const isAdvised = known?.advice === actions[done]
      const [after] = left
      const more = isAdvised && after !== null && after < MOST_ORACLE_STEPS
      left.unshift(more ? after + 1 : await remaining(task, before))
    }
    return left
  }

  const lists = new Map<string, Promise<readonly Task[]>>()
  return {
    pool,
    tasks(split) {
      const list = lists.get(split) ?? site.tasks(split, asked)
      lists.set(split, list)
      list.catch(() => lists.delete(split))
      return list
    },
    async samples(seeds) {
      const tasks = (variants: readonly Variant[]) =>
        variants.map((variant) => ({ ...variant, environment: 'web', goal: '' }))
      return new Map((await site.samples(seeds, asked)).map(({ name, variants }) => [name, tasks(variants)]))
    },
    advice: (turn) => advised.get(turn) ?? null,
    async reset(task, { maxSteps }) {
      const holder = {}
      const reading = await look(task, [], '', null, holder)
      const ended: EpisodeEnd | null = reading.done ? (reading.reward >= SUCCESS ? 'goal' : 'gave-up') : null
      return episode({
        task,
        maxSteps,
        actions: [],
        reading,
        given: givenBy(task, reading),
        steps: 0,
        used: new Set(),
        turn: turnOf({ task, used: new Set() }, reading, ended, null),
        holder,
      })
    },
    rewrite: (request) => rewriteTask({ site, asked, remaining, request }),
    async validate(task) {
      const left = await remaining(task, [])
      if (left === null) return { ok: false, reason: 'the oracle does not solve it' }
      return left === 0 ? { ok: false, reason: 'it is solved at the start' } : { ok: true }
    },
    remaining,
    async progress(task, actions) {
      const left = await remainingAll(task, actions)
      if (left[0] === null) return null
      // If the oracle does not succeed from a state, nothing is left to gain. The action that led there has
      // lost a step.
      return Float32Array.from(actions, (_, i) => {
        const [before, after] = [left[i], left[i + 1]]
        if (before === null) return 0
        return after === null ? -1 : before - after
      })
    },
    expert: {
      advise(turn) {
        const advice = advised.get(turn)
        if (advice !== undefined && turn.admissible.includes(advice)) return advice
        return rng(seedOf(0, turn.observation)).pick(turn.admissible)
      },
      observe() {},
    },
    async picture(of) {
      const state = states.get(of)
      if (!state) throw new RlError('the episode is of another environment', { code: 'web.open' })
      const { task, actions, holder } = state
      const from = { holder, done: actions.length }
      const bytes = await play(task, actions, from, {}, holder, (page) =>
        page.picture(site.screen, deadlineMs),
      )
      const size = pngSize(bytes as Buffer)
      if (!size) throw new RlError('the browser gave no PNG', { code: 'web.page' })
      return { bytes: bytes as Buffer, ...size }
    },
    words: () => site.words?.(),
    async runtime() {
      return `${program.split('/').at(-1)} ${pool.detail()}, ${pages} pages`
    },
    close: () => pool.close(),
  }
}

/**
 * Returns the used names and texts after a command. A text for the wrong element, or a text that the goal
 * does not tell, does not count.
 */
function usedAfter({ task, used, reading }: State, command: string): ReadonlySet<string> {
  const parts = partsOf(command)
  const named = new Set(namedIn(task.goal, reading.commands))
  return parts.every((part) => named.has(part)) ? new Set([...used, ...parts]) : used
}

/** Returns the text of the task and of its page at the start. */
const givenBy = ({ goal }: Task, { lines }: Reading): string => [goal, ...lines.map(lineText)].join('\n')

const hasPrograms = (told: unknown): boolean => {
  const { sinks } = (told ?? {}) as { readonly sinks?: { readonly programs?: readonly unknown[] } }
  return (sinks?.programs?.length ?? 0) > 0
}

/** Returns the number of characters of a page's content. */
const sizeOf = ({ lines, commands }: Reading): number =>
  lines.reduce((sum, [, , name, value]) => sum + name.length + value.length + 40, 0) +
  commands.reduce((sum, command) => sum + command.length, 0)
