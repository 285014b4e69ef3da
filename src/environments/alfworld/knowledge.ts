/** Knowledge of an agent, folded from what it read and did, never from the hidden state. */
import { itemAt } from '../../item-at.ts'
import { NOTHING_HAPPENS } from './engine.ts'
import { canonicalType, openableShare } from './generator/tables.ts'
import { lowered } from './situation.ts'
import { type Goal, goalOfSentence, type Property, sentenceOf } from './tasks.ts'

export type KnownReceptacle = {
  readonly name: string
  readonly type: string
  /** Receptacles that are known to be at the same place have the same number. */
  readonly place: number
  /** Null until it was visited. */
  readonly openable: boolean | null
  readonly open: boolean
  /** Whether its contents were ever seen. */
  readonly seen: boolean
}

type KnownItem = {
  readonly name: string
  readonly type: string
  readonly in: readonly number[]
  readonly has: Readonly<Record<Property, boolean>>
  readonly on: boolean
}

export type Knowledge = {
  /** Goal with lower-case types. Null if the sentence is none of ALFWorld's twelve, and nobody told what it means. */
  readonly goal: Goal | null
  readonly receptacles: readonly KnownReceptacle[]
  readonly items: readonly KnownItem[]
  /** Index of the held item, or -1 for empty hands. */
  readonly held: number
  /** Place of the agent, or -1 in the middle of the room. */
  readonly here: number
}

/** Text that an agent reads after each command. `admissible` may be empty if it is not shown. */
export type Reading = { readonly observation: string; readonly admissible: readonly string[] }

/**
 * Returns knowledge from the first observation: the names of all receptacles, and the task.
 * @param meant goal of a sentence that is none of ALFWorld's, e.g. a person's words
 */
export function beginKnowledge({ observation }: Reading, meant: Goal | null = null): Knowledge {
  const list = /Looking quickly around you, you see ([^\n]*)\./.exec(observation)?.[1] ?? ''
  const sentence = sentenceOf(observation)
  const goal = (sentence === null ? null : goalOfSentence(sentence)) ?? meant
  return {
    goal: goal && lowered(goal),
    receptacles: namesIn(list).map((name, place) => ({
      name,
      type: typeOf(name),
      place,
      openable: null,
      open: false,
      seen: false,
    })),
    items: [],
    held: -1,
    here: -1,
  }
}

/** Returns knowledge after a command and its answer. */
export function observe(knowledge: Knowledge, command: string, reading: Reading): Knowledge {
  const { observation } = reading
  if (observation === NOTHING_HAPPENS) return knowledge
  const done = act(knowledge, command)
  return withNeighbours(withContents(withCondition(done, command, observation), observation), reading)
}

export type Parsed = {
  readonly verb: 'go' | 'open' | 'close' | 'examine' | 'take' | 'put' | 'use' | Property | 'other'
  readonly object: string
  readonly receptacle: string
}

/** Splits a command into its parts. `put X in/on Y` and `move X to Y` are the same. */
export function parseCommand(command: string): Parsed {
  for (const [verb, pattern] of COMMANDS) {
    const groups = pattern.exec(command)?.groups
    if (groups) return { verb, object: groups.o ?? '', receptacle: groups.r ?? '' }
  }
  return { verb: 'other', object: '', receptacle: '' }
}

const COMMANDS: readonly (readonly [Parsed['verb'], RegExp])[] = [
  ['go', /^go to (?<r>.+)$/],
  ['open', /^open (?<r>.+)$/],
  ['close', /^close (?<r>.+)$/],
  ['take', /^take (?<o>.+) from (?<r>.+)$/],
  ['put', /^move (?<o>.+) to (?<r>.+)$/],
  ['put', /^put (?<o>.+) in\/on (?<r>.+)$/],
  ['clean', /^clean (?<o>.+) with (?<r>.+)$/],
  ['hot', /^heat (?<o>.+) with (?<r>.+)$/],
  ['cool', /^cool (?<o>.+) with (?<r>.+)$/],
  ['use', /^use (?<o>.+)$/],
  ['examine', /^examine (?<o>.+)$/],
]

/**
 * Applies the certain effects of a command that did something. New information in its answer is not among
 * them.
 */
export function act(knowledge: Knowledge, command: string): Knowledge {
  const { verb, object, receptacle } = parseCommand(command)
  const { receptacles, items } = knowledge
  const r = receptacles.findIndex(({ name }) => name === receptacle)
  const i = items.findIndex(({ name }) => name === object)
  switch (verb) {
    case 'go':
      return r < 0 ? knowledge : { ...knowledge, here: receptacles[r]!.place }
    case 'open':
      return r < 0 ? knowledge : withReceptacle(knowledge, r, { openable: true, open: true })
    case 'close':
      return r < 0 ? knowledge : withReceptacle(knowledge, r, { openable: true, open: false })
    case 'take': {
      const known = i < 0 ? withItem(knowledge, object) : knowledge
      const index = i < 0 ? known.items.length - 1 : i
      const left = known.items[index]!.in.filter((other) => other !== r)
      return { ...changeItem(known, index, { in: left }), held: index }
    }
    case 'put':
      return i < 0 || r < 0
        ? knowledge
        : { ...changeItem(knowledge, i, { in: [...new Set([...items[i]!.in, r])] }), held: -1 }
    case 'use':
      return i < 0 ? knowledge : changeItem(knowledge, i, { on: true })
    case 'clean':
      return i < 0 ? knowledge : changeItem(knowledge, i, { has: { ...items[i]!.has, clean: true } })
    case 'hot':
      return i < 0
        ? knowledge
        : changeItem(knowledge, i, { has: { ...items[i]!.has, hot: true, cool: false } })
    case 'cool':
      return i < 0
        ? knowledge
        : changeItem(knowledge, i, { has: { ...items[i]!.has, cool: true, hot: false } })
    default:
      return knowledge
  }
}

/**
 * Whether a receptacle will need opening. The answer comes from what was seen, else from others of its type
 * in the room, else from most of its type.
 */
export function likelyOpenable({ receptacles }: Knowledge, index: number): boolean {
  const { openable, type } = receptacles[index]!
  if (openable !== null) return openable
  const alike = receptacles.find((other) => other.type === type && other.openable !== null)
  return alike?.openable ?? openableShare(canonicalType(type)) >= 0.5
}

export function withReceptacle(
  knowledge: Knowledge,
  index: number,
  change: Partial<KnownReceptacle>,
): Knowledge {
  const receptacles = knowledge.receptacles.slice()
  receptacles[index] = { ...receptacles[index]!, ...change }
  return { ...knowledge, receptacles }
}

const PLAIN = { clean: false, hot: false, cool: false } as const

/** Adds an item. Its type is its name without the number. */
export function withItem(knowledge: Knowledge, name: string, inside: readonly number[] = []): Knowledge {
  const item: KnownItem = { name, type: typeOf(name), in: inside, has: PLAIN, on: false }
  return { ...knowledge, items: [...knowledge.items, item] }
}

function changeItem(knowledge: Knowledge, index: number, change: Partial<KnownItem>): Knowledge {
  const items = knowledge.items.slice()
  items[index] = { ...items[index]!, ...change }
  return { ...knowledge, items }
}

function typeOf(name: string): string {
  return name.replace(/ \d+$/, '')
}

/** Returns the names in `a apple 1, a mug 2, and a cup 1`. `nothing` gives none. */
function namesIn(list: string): string[] {
  if (list === 'nothing') return []
  return list.split(/, (?:and )?/).flatMap((part) => /^an? (.+ \d+)$/.exec(part)?.[1] ?? [])
}

/** Returns the description of a receptacle, from any place of an observation. */
function describedIn(
  observation: string,
): { readonly name: string; readonly closed: boolean; readonly contents: readonly string[] } | null {
  const closed = /The (\S+ \d+) is closed\./.exec(observation)
  if (closed) return { name: itemAt(closed, 1), closed: true, contents: [] }
  const open = /The (\S+ \d+) is open\. In it, you see ([^.]*)\./.exec(observation)
  if (open) return { name: itemAt(open, 1), closed: false, contents: namesIn(itemAt(open, 2)) }
  const on = /On the (\S+ \d+), you see ([^.]*)\./.exec(observation)
  return on && { name: itemAt(on, 1), closed: false, contents: namesIn(itemAt(on, 2)) }
}

function withContents(knowledge: Knowledge, observation: string): Knowledge {
  const described = describedIn(observation)
  if (!described || observation.startsWith('You close')) return knowledge
  const r = knowledge.receptacles.findIndex(({ name }) => name === described.name)
  if (r < 0) return knowledge
  if (described.closed) return withReceptacle(knowledge, r, { openable: true, open: false })
  const openable = observation.includes(' is open. In it')
  let next = withReceptacle(knowledge, r, { openable, open: openable, seen: true })
  const inside = new Set(described.contents)
  next = {
    ...next,
    items: next.items.map((item) => {
      const listed = inside.delete(item.name)
      if (listed === item.in.includes(r)) return item
      return { ...item, in: listed ? [...item.in, r] : item.in.filter((other) => other !== r) }
    }),
  }
  for (const name of inside) next = withItem(next, name, [r])
  return next
}

/** Adds what the examination of an object tells. */
function withCondition(knowledge: Knowledge, command: string, observation: string): Knowledge {
  const { verb, object } = parseCommand(command)
  const i = verb === 'examine' ? knowledge.items.findIndex(({ name }) => name === object) : -1
  if (i < 0) return knowledge
  const words = /^This is a (.*) \S+ \d+\.$/.exec(observation)?.[1] ?? ''
  if (words === '' || words === 'normal') return knowledge
  const has = {
    clean: /\bclean\b/.test(words),
    hot: /\bhot\b/.test(words),
    cool: /\bcool\b|\bcold\b/.test(words),
  }
  return changeItem(knowledge, i, { has })
}

/** Receptacles that can be examined from here are at the same place. */
function withNeighbours(knowledge: Knowledge, { admissible }: Reading): Knowledge {
  const { here, receptacles } = knowledge
  if (here < 0) return knowledge
  const near = new Set(
    admissible.flatMap((command) =>
      command.startsWith('examine ') ? [command.slice('examine '.length)] : [],
    ),
  )
  if (!receptacles.some(({ name, place }) => place !== here && near.has(name))) return knowledge
  return {
    ...knowledge,
    receptacles: receptacles.map((receptacle) =>
      near.has(receptacle.name) ? { ...receptacle, place: here } : receptacle,
    ),
  }
}
