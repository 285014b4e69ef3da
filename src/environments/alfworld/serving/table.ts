/** A table of games in progress, played by questions in JSON. Each game has a slot. It knows no stream. */
import { explain, RlError } from '../../../errors.ts'
import { isRecord } from '../../../is-record.ts'
import { initialState, type State, step } from '../engine.ts'
import { solve, solveGame } from '../solver.ts'
import { factsOf } from '../world.ts'
import type { Games } from './games.ts'

type Question = Readonly<Record<string, unknown>>
export type Answer = Readonly<Record<string, unknown>>

export type GameTable = {
  /** Never rejects: faults are answers with `error`. */
  readonly answer: (question: unknown) => Answer | Promise<Answer>
  readonly slots: () => number
}

export type TableOptions = {
  /** Seed of the order of games that a reset does not name. */
  readonly seed: number
  /** Step limit of a reset that names none. Null: none. */
  readonly maxSteps: number | null
  readonly maxSlots: number
  /** Whether names are shuffled at each reset, by the seed and the number of the reset. */
  readonly randomize: boolean
}

type Slot = { readonly state: State; readonly game: number; readonly key: string }

/** Names of slots: texts or numbers. */
const MOST_NAME = 256
const MOST_COMMAND = 10_000

export function gameTable(games: Games, options: TableOptions): GameTable {
  const { seed, maxSlots } = options
  const slots = new Map<string, Slot>()
  const next = games.order(seed)
  const indexes = new Map(games.list.map(({ key }, index) => [key, index]))
  let resets = 0

  function put(name: string, slot: Slot): void {
    if (!slots.has(name) && slots.size >= maxSlots)
      throw wrong(`all ${maxSlots} slots are taken`, 'close some')
    slots.set(name, slot)
  }

  function slotOf(name: string): Slot {
    const slot = slots.get(name)
    if (slot) return slot
    throw wrong(`there is no game in slot '${name}'`, 'reset it first')
  }

  function indexOf({ game }: Question): number {
    if (game === undefined || game === null) return next()
    const index = typeof game === 'string' ? indexes.get(game) : game
    if (typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 && index < games.list.length)
      return index
    throw wrong(`there is no game ${JSON.stringify(game).slice(0, 300)}`, 'the question "games" lists them')
  }

  function namesSeed({ names }: Question): number | null {
    if (names === undefined) return options.randomize ? seed * 1_000_003 + resets : null
    if (names === null || isWhole(names, 0)) return names
    throw wrong(`names is ${shown(names)}`, 'a seed, or null')
  }

  const kinds: Readonly<Record<string, (question: Question) => Answer | Promise<Answer>>> = {
    games: () => ({ games: games.list, skipped: games.skipped }),
    async load(question) {
      const index = indexOf(question)
      const { task } = await games.load(index, namesSeed(question))
      return { ...games.list[index], game: index, task }
    },
    async reset(question) {
      const name = nameOf(question)
      const { max_steps: limit = options.maxSteps } = question
      if (limit !== null && !isWhole(limit, 1))
        throw wrong(`max_steps is ${shown(limit)}`, 'a number of at least 1')
      const index = indexOf(question)
      const game = await games.load(index, namesSeed(question))
      resets++
      const state = initialState(game, limit === null ? {} : { maxSteps: limit })
      put(name, { state, game: index, key: games.list[index]?.key ?? '' })
      return { ...turn(state), game: index, key: games.list[index]?.key, path: games.list[index]?.path }
    },
    step(question) {
      const { action } = question
      if (typeof action !== 'string' || action.length > MOST_COMMAND)
        throw wrong(`action is ${shown(action)}`, `a text of at most ${MOST_COMMAND} characters`)
      const name = nameOf(question)
      const slot = slotOf(name)
      const state = step(slot.state, action)
      slots.set(name, { ...slot, state })
      return turn(state)
    },
    fork(question) {
      const slot = slotOf(nameOf(question))
      if (question.to === undefined) throw wrong('to is missing', 'the slot of the copy')
      put(nameOf({ slot: question.to }), slot)
      return turn(slot.state)
    },
    plan(question) {
      const plan = solve(slotOf(nameOf(question)).state)
      return 'commands' in plan ? { plan: plan.commands, by: plan.by } : { plan: null, why: plan.unsolvable }
    },
    walkthrough(question) {
      const { game } = slotOf(nameOf(question)).state.world
      if (game.walkthrough !== null) return { walkthrough: game.walkthrough }
      const plan = solveGame(game)
      return { walkthrough: 'commands' in plan ? plan.commands : null }
    },
    facts(question) {
      const { world } = slotOf(nameOf(question)).state
      const predicates = [...world.game.tables.predicates.keys()]
      return { facts: predicates.flatMap((name) => factsOf(world, name).map((args) => [name, ...args])) }
    },
    close: (question) => ({ closed: slots.delete(nameOf(question)) }),
  }

  return {
    slots: () => slots.size,
    answer(question) {
      const id = isRecord(question) && question.id !== undefined ? { id: question.id } : {}
      const failed = (error: unknown) => ({ ...id, error: faultOf(error) })
      try {
        if (!isRecord(question)) throw wrong('a question is an object', 'e.g. {"do": "reset", "slot": 0}')
        const { do: asked } = question
        const answer = typeof asked === 'string' && Object.hasOwn(kinds, asked) ? kinds[asked] : undefined
        if (!answer) throw wrong(`do is ${shown(asked)}`, `one of ${Object.keys(kinds).join(', ')}`)
        const found = answer(question)
        return found instanceof Promise
          ? found.then((value) => ({ ...id, ...value }), failed)
          : { ...id, ...found }
      } catch (error) {
        return failed(error)
      }
    },
  }
}

function turn({ observation, admissible, won, score, done, steps }: State): Answer {
  return { obs: observation, admissible, won, score, done, steps }
}

function nameOf({ slot = 0 }: Question): string {
  if ((typeof slot === 'string' && slot.length <= MOST_NAME) || Number.isSafeInteger(slot))
    return String(slot)
  throw wrong(`slot is ${shown(slot)}`, `a number, or a text of at most ${MOST_NAME} characters`)
}

const isWhole = (value: unknown, least: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= least

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'missing').slice(0, 100)

const wrong = (message: string, hint: string) => new RlError(message, { code: 'alfworld.question', hint })

function faultOf(error: unknown): { readonly code: string; readonly message: string } {
  const code = error instanceof RlError ? error.code : 'alfworld.fault'
  return { code, message: explain(error) }
}
