/**
 * The view for a small model of word tokens: one growing text in few words, e.g.
 *
 *   task : put a hot egg in garbagecan . room : cabinet 1 2 fridge 1 garbagecan 1 . go fridge 1 ; closed . open fridge 1 ; see egg 2 .
 *
 * Words are separated by single spaces and all come from `compactVocabulary`. An episode's text is a prefix of its later texts. A
 * command's words depend on the command alone. A step takes about nine words.
 */
import { NOTHING_HAPPENS } from '../engine.ts'
import { typeNames } from '../generator/tables.ts'
import { describedIn, namesIn, parseCommand } from '../knowledge.ts'
import { sentenceOf, sentencesOf, TASK_TYPES } from '../tasks.ts'
import type { History, Moment } from './history.ts'

/** A stretch of the text: what the environment says, or what the agent chose. */
export type Piece = { readonly by: 'environment' | 'agent'; readonly text: string }

export type Choice = { readonly text: string; readonly command: string }

/** The episode so far; joined by single spaces it is the text. */
export function compactPieces({ first, steps }: History): Piece[] {
  return [
    { by: 'environment', text: compactStart(first) },
    ...steps.flatMap(({ command, after }): Piece[] => [
      { by: 'agent', text: compactCommand(command) },
      { by: 'environment', text: compactObservation(after.observation) },
    ]),
  ]
}

/** The task and the room. */
export function compactStart({ observation }: Moment): string {
  const list = /Looking quickly around you, you see ([^\n]*)\./.exec(observation)?.[1] ?? 'nothing'
  const numbers = new Map<string, number[]>()
  for (const name of namesIn(list)) {
    const [type, number] = split(name)
    numbers.set(type, [...(numbers.get(type) ?? []), Number(number)])
  }
  const room = [...numbers].map(([type, own]) => [type, ...own.sort((a, b) => a - b)].join(' '))
  return `task : ${sentenceOf(observation) ?? 'other'} . room : ${room.join(' ')} .`
}

/** A command in few words: what is held and where the agent stands go without saying. `other` for what has no words here. */
export function compactCommand(command: string): string {
  const text = shortened(command)
  return text.split(' ').every((word) => vocabulary.has(word)) ? text : 'other'
}

function shortened(command: string): string {
  const { verb, object, receptacle } = parseCommand(command)
  switch (verb) {
    case 'go':
    case 'open':
    case 'close':
    case 'put':
      return `${verb} ${receptacle}`
    case 'other':
      return /^slice (\S+ \d+) with /.exec(command)?.[0].replace(/ with $/, '') ?? command
    default:
      return `${VERBS[verb] ?? verb} ${object}`
  }
}

const VERBS: Readonly<Record<string, string>> = { hot: 'heat' }

/** What was read after a command, from its `;` to its full stop. */
export function compactObservation(observation: string): string {
  return `; ${gist(observation)} .`
}

function gist(observation: string): string {
  if (observation === NOTHING_HAPPENS) return 'no'
  const described = observation.startsWith('You close') ? null : describedIn(observation)
  if (described) return described.closed ? 'closed' : `see ${words(described.contents)}`
  const carrying = /^You are carrying: ([^.]*)\.|^You are not carrying anything\./.exec(observation)
  if (carrying) return `carry ${words(namesIn(carrying[1] ?? 'nothing'))}`
  const condition = /^This is a ([a-z ]+) [a-z]+ \d+\.|^This [a-z]+ \d+ is (on|off)\./.exec(observation)
  if (condition) return condition[2] ?? condition[1].replaceAll(' and ', ' ')
  if (observation.startsWith("There's nothing special")) return 'plain'
  if (observation.startsWith('You are facing')) {
    const next = /Next to it, you see ([^.]*)\./.exec(observation)?.[1] ?? 'nothing'
    return `see ${words(namesIn(next))}`
  }
  return ACKNOWLEDGED.test(observation) ? 'ok' : 'other'
}

const ACKNOWLEDGED = /^You (?:close|pick up|move|put|clean|heat|cool|turn on|sliced) /

function words(names: readonly string[]): string {
  return names.length > 0 ? names.join(' ') : 'nothing'
}

function split(name: string): [string, string] {
  const at = name.lastIndexOf(' ')
  return [name.slice(0, at), name.slice(at + 1)]
}

/**
 * What may be chosen now, in the words of the text, each text once, in the order of the admissible commands.
 * @param all also the commands that bring no goal nearer: help, inventory, look, close, slice, and examining what can be seen anyway
 */
export function compactChoices(
  { admissible }: Moment,
  { all = false }: { readonly all?: boolean } = {},
): Choice[] {
  const shown = all ? admissible : usefulCommands(admissible)
  const choices = new Map<string, Choice>()
  for (const command of shown) {
    const text = compactCommand(command)
    if (!choices.has(text)) choices.set(text, { text, command })
  }
  return [...choices.values()]
}

/** Without the commands that bring none of the six goals nearer. A receptacle is examined only where several stand together. */
export function usefulCommands(admissible: readonly string[]): string[] {
  const here = new Set(
    admissible.flatMap((command) => {
      const { verb, object } = parseCommand(command)
      return verb === 'examine' && receptacleTypes.has(split(object)[0]) ? [object] : []
    }),
  )
  const useful = admissible.filter((command) => {
    const { verb, object } = parseCommand(command)
    if (verb === 'examine') return here.size > 1 && here.has(object)
    return verb !== 'close' && verb !== 'other'
  })
  return useful.length > 0 ? useful : [...admissible]
}

const receptacleTypes = new Set(typeNames.receptacles.map((type) => type.toLowerCase()))

/** Numbers go up to this; real games have up to 27 receptacles and 12 objects of a type. */
export const MOST_OF_A_TYPE = 64

const SYNTAX = ['task', ':', 'room', '.', ';']
const VERB_WORDS = [
  ...['go', 'open', 'close', 'take', 'put', 'clean', 'heat', 'cool', 'use', 'examine'],
  ...['slice', 'look', 'inventory', 'help'],
]
const ANSWERS = [
  ...['see', 'nothing', 'closed', 'ok', 'no', 'carry', 'normal', 'plain', 'hot', 'cold'],
  ...['sliced', 'on', 'off', 'other'],
]

/** Every word a compact text can have, in a fixed order: syntax, verbs, answers, the words of the sentences, types, numbers. */
export function compactVocabulary(): string[] {
  const sentences = TASK_TYPES.flatMap((type) => sentencesOf({ type, object: '', target: '' }))
  const types = [...typeNames.objects, ...typeNames.receptacles].map((type) => type.toLowerCase()).sort()
  const numbers = Array.from({ length: MOST_OF_A_TYPE }, (_, i) => String(i + 1))
  const all = [
    ...SYNTAX,
    ...VERB_WORDS,
    ...ANSWERS,
    ...sentences.flatMap((text) => text.split(/\s+/)),
    ...types,
    ...numbers,
  ]
  return [...new Set(all.filter((word) => word !== ''))]
}

const vocabulary: ReadonlySet<string> = new Set(compactVocabulary())
