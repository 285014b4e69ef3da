/** The PDDL problem of a generated scene, laid out and named as in ALFWorld's own files. */
import { itemAt } from '../../../item-at.ts'
import type { Rng } from '../../../random.ts'
import { type Goal, goalText } from '../tasks.ts'
import type { Scene } from './scene.ts'
import { canContain, hasFlag, type ObjectFlag, typeNames } from './tables.ts'

const INDENT = '        '

/**
 * Returns a problem's text.
 * @param trial the trial's name, e.g. `trial_T20260101_000000_000042`, which names the problem too
 */
export function problemText(scene: Scene, goal: Goal, trial: string, random: Rng): string {
  const taken = new Set<string>()
  const fresh = (draw: () => string): string => {
    const id = draw()
    if (taken.has(id.toLowerCase())) return fresh(draw)
    taken.add(id.toLowerCase())
    return id
  }
  const objects = scene.objects.map((object) => ({
    ...object,
    id: fresh(() => `${object.type}${coordinates(random)}`),
  }))
  const receptacles = scene.receptacles.map((receptacle) => ({
    ...receptacle,
    id: fresh(() => receptacleId(receptacle.type, random)),
  }))
  const places = Array.from({ length: scene.places + 1 }, () => fresh(() => placeId(random)))

  const facts: string[] = []
  const fact = (...words: string[]) => facts.push(`(${words.join(' ')})`)
  const flagged = (flag: ObjectFlag) => {
    for (const { type, id } of objects) if (hasFlag(type, flag)) fact(flag, id)
  }
  for (const { type, id } of receptacles) fact('receptacleType', id, `${type}Type`)
  for (const { type, id } of objects) fact('objectType', id, `${type}Type`)
  const objectTypes = [...new Set(objects.map(({ type }) => type))]
  for (const receptacle of new Set(receptacles.map(({ type }) => type)))
    for (const object of objectTypes)
      if (canContain(receptacle, object)) fact('canContain', `${receptacle}Type`, `${object}Type`)
  flagged('pickupable')
  flagged('isReceptacleObject')
  for (const { openable, id } of receptacles) if (openable) fact('openable', id)
  fact('atLocation', 'agent1', itemAt(places, scene.places))
  for (const flag of ['cleanable', 'heatable', 'coolable', 'toggleable', 'sliceable'] as const) flagged(flag)
  const holderOf = ({ receptacle }: (typeof objects)[number]) => itemAt(receptacles, receptacle)
  for (const object of objects) fact('inReceptacle', object.id, holderOf(object).id)
  for (const { place, id } of receptacles) fact('receptacleAtLocation', id, itemAt(places, place))
  for (const object of objects) fact('objectAtLocation', object.id, itemAt(places, holderOf(object).place))

  const idsOf = (things: readonly { readonly id: string }[]) => things.map(({ id }) => id).sort()
  const declared = (names: readonly string[], type: string) => names.map((name) => `${name} - ${type}`)
  return `
(define (problem plan_${trial})
(:domain alfred)
(:objects
agent1 - agent
${declared(typeNames.objects, 'object').join(`\n${INDENT}`)}
${declared(
  typeNames.objects.map((name) => `${name}Type`),
  'otype',
).join(`\n${INDENT}`)}
${declared(
  typeNames.receptacles.map((name) => `${name}Type`),
  'rtype',
).join(`\n${INDENT}`)}


${INDENT}${[
  ...declared(idsOf(objects), 'object'),
  ...declared(idsOf(receptacles), 'receptacle'),
  ...declared(places, 'location'),
].join(`\n${INDENT}`)}
${INDENT})
    

(:init


${facts.map((line) => `${INDENT}${line}`).join('\n')}
${INDENT})
    

${INDENT}${goalText(goal)}
    )
    `
}

/** A basin's id is the sink's or the tub's with its own name behind it, as in AI2-THOR. */
function receptacleId(type: string, random: Rng): string {
  return type.endsWith('Basin')
    ? `${type.slice(0, -'Basin'.length)}${coordinates(random)}_bar_${type}`
    : `${type}${coordinates(random)}`
}

function coordinates(random: Rng): string {
  const axis = (least: number, most: number) => {
    const hundredths = Math.round((least + random.uniform() * (most - least)) * 100)
    const digits = String(Math.abs(hundredths)).padStart(4, '0')
    return `_bar__${hundredths < 0 ? 'minus' : 'plus'}_${digits.slice(0, -2)}_dot_${digits.slice(-2)}`
  }
  return `${axis(-4, 4)}${axis(0, 2)}${axis(-4, 4)}`
}

/** x and z on a grid of quarter metres, the agent's rotation (0-3) and the angle of its look. */
function placeId(random: Rng): string {
  const number = (value: number) => (value < 0 ? `_minus_${-value}` : String(value))
  return `loc_bar_${number(random.below(33) - 16)}_bar_${number(random.below(33) - 16)}_bar_${random.below(4)}_bar_${number(random.pick([-30, 0, 15, 30, 45, 60]))}`
}
