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
import { askPages } from './ask-pages.ts'
import { findBrowser } from './browser/find.ts'
import { createPool, type Pool } from './browser/pool.ts'
import { bringsMarkup } from './markup.ts'
import { namedIn, partsOf } from './named.ts'
import { createOracle } from './oracle.ts'
import { createPlayer } from './player.ts'
import { givenBy, isSolved, type Reading } from './reading.ts'
import { rewriteTask } from './rewrite.ts'
import { createShown } from './shown.ts'
import type { Site, Variant } from './site.ts'
import { type Step, stepReader } from './steps.ts'
import { readTurn } from './turn.ts'

/** A page that takes longer hangs: its browser is ended. */
const PLAY_MS = 10_000

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
  /** Resolves to the steps to success before each action and after the last, [actions + 1], as progress counts them. */
  remainders(task: Task, actions: readonly string[]): Promise<Float32Array | null>
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

/**
 * Returns the environment of pages in a browser.
 *
 * @throws RlError `web.no-browser`
 * @example const environment = webEnvironment({ site, browser: null, pages: 2 })
 */
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

  const player = createPlayer(pool, site.start, deadlineMs)
  const asked = askPages(player, site.start, deadlineMs)
  const shown = createShown(player, remembered)
  const oracle = createOracle({ play: player.play, shown, stepAfter, remembered })

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
        const next = await shown.look(task, actions, state.given, from, holder)
        if (next.refused !== undefined)
          return episode(stateAfter(state, { ...reading, problem: next.refused }, false))
        const used = usedAfter(state, text)
        return episode(stateAfter({ ...state, actions, used, holder }, next, done.ends))
      },
      // Told at any time: an episode whose page no longer fits into the model's context has not solved it.
      outcome: () => (isSolved(reading) ? 1 : 0),
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
    const ended = endOf(reading, ends, steps >= before.maxSteps)
    return { ...before, reading, steps, turn: turnOf(before, reading, ended, before.reading) }
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
      const reading = await shown.look(task, [], '', null, holder)
      const ended: EpisodeEnd | null = reading.done ? (isSolved(reading) ? 'goal' : 'gave-up') : null
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
    rewrite: (request) => rewriteTask({ site, asked, remaining: oracle.remaining, request }),
    async validate(task) {
      const left = await oracle.remaining(task, [])
      if (left === null) return { ok: false, reason: 'the oracle does not solve it' }
      return left === 0 ? { ok: false, reason: 'it is solved at the start' } : { ok: true }
    },
    remaining: oracle.remaining,
    progress: oracle.progress,
    remainders: oracle.remainders,
    expert: advisedOr(advised),
    async picture(of) {
      const state = states.get(of)
      if (!state) throw new RlError('the episode is of another environment', { code: 'web.open' })
      const { task, actions, holder } = state
      const from = { holder, done: actions.length }
      const bytes = await player.play(task, actions, from, {}, holder, (page) =>
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

/** Returns why an episode is over. Returns null if it goes on. */
function endOf(reading: Reading, ends: boolean, isLast: boolean): EpisodeEnd | null {
  if (isSolved(reading)) return 'goal'
  if (reading.done || ends) return 'gave-up'
  return isLast ? 'step-limit' : null
}

/** Takes the oracle's advice, else a random action. */
function advisedOr(advised: WeakMap<Turn, string>): Expert {
  return {
    advise(turn) {
      const advice = advised.get(turn)
      if (advice !== undefined && turn.admissible.includes(advice)) return advice
      return rng(seedOf(0, turn.observation)).pick(turn.admissible)
    },
    observe() {},
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
