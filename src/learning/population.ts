/**
 * Learning without weights: a small population of instructions, and what their evidence says. One of them is the best.
 * The others are candidates. Each differs from the best by one change, and plays the same tasks.
 *
 * Many candidates are tried, and each is looked at several times. So each look has its own small part of the error
 * that the run may make: (1 - confidence) / (tries * looks). By Bonferroni, the chance that a run ever takes a change
 * that helps nothing is at most 1 - confidence, however the looks depend on each other.
 */
import { type Change, changed, type Instructions, NO_INSTRUCTIONS } from './instructions.ts'
import { type Estimate, pairedDifference } from './interval.ts'
import { stableMean, stableSum } from './moments.ts'
import type { AcceptanceRule } from './rules.ts'
import type { Tally } from './terms.ts'

/** Sum of the outcomes' values in [0, 1], and number of rollouts. */
type Evidence = { readonly sum: number; readonly n: number }

export type Member = {
  /** Number of its proposal. The start is 0. */
  readonly id: number
  /** Its change of the best. Null for the start. */
  readonly change: Change | null
  readonly text: Instructions
  /** Number of iterations that played it. */
  readonly rounds: number
  /** Number of times that it was weighed against the present best. */
  readonly looks: number
  /** Evidence by task. */
  readonly tasks: ReadonlyMap<string, Evidence>
}

export type Population = {
  /** Id of the best. */
  readonly best: number
  /** The best and the candidates, in order of their ids. */
  readonly members: readonly Member[]
  /** Number of candidates that were weighed. A candidate of a new best counts again. */
  readonly tries: number
}

export type WeighingOptions = {
  /** Most candidates that a run weighs. */
  readonly tries: number
  /** Most times that a candidate is looked at. */
  readonly looks: number
  /** Probability that a run takes no change which helps nothing. */
  readonly confidence: number
  readonly acceptance: AcceptanceRule
  /** Pseudo-counts of the Beta prior of both success rates. */
  readonly prior: readonly [successes: number, failures: number]
}

type Verdict = 'accepted' | 'rejected' | 'undecided'

/** Verdict on a candidate, with the evidence for it. */
export type Weighed = {
  readonly member: number
  readonly verdict: Verdict
  readonly reason: string
  /** Candidate less best by task, with the interval of this look. */
  readonly difference: Estimate
  /** Probability that this look's interval lies above a difference that is none. */
  readonly error: number
  readonly candidate: Tally
  readonly parent: Tally
}

export type Wish =
  | { readonly kind: 'play'; readonly member: number }
  | { readonly kind: 'propose' }
  | { readonly kind: 'end'; readonly reason: string }

/** The best and its candidates. */
const MOST_MEMBERS = 4
/** Fewest tasks that tell something. */
const FEWEST_TASKS = 5
/** The level of the interval by which a candidate is given up early. It makes no candidate accepted. */
const GIVE_UP_LEVEL = 0.8

export function newPopulation(): Population {
  const start = { id: 0, change: null, text: NO_INSTRUCTIONS, rounds: 0, looks: 0, tasks: new Map() }
  return { best: 0, members: [start], tries: 0 }
}

/** @throws TypeError if the population has no such member */
export function memberOf({ members }: Population, id: number): Member {
  const found = members.find((member) => member.id === id)
  if (!found) throw new TypeError(`there is no member ${id}`)
  return found
}

function withMember(population: Population, member: Member): Population {
  return { ...population, members: population.members.map((one) => (one.id === member.id ? member : one)) }
}

/** Adds a candidate. Returns why the change makes none. */
export function proposed(population: Population, id: number, change: Change): Population | string {
  const text = changed(memberOf(population, population.best).text, change)
  if (typeof text === 'string') return text
  if (population.members.some((member) => isSame(member.text, text))) return 'a member has these instructions'
  const member = { id, change, text, rounds: 0, looks: 0, tasks: new Map() }
  return { ...population, members: [...population.members, member] }
}

function isSame(a: Instructions, b: Instructions): boolean {
  return JSON.stringify([a.system, a.lessons]) === JSON.stringify([b.system, b.lessons])
}

/** Enters a round of a member. A member that is gone keeps nothing. */
export function played(
  population: Population,
  id: number,
  outcomes: readonly { readonly task: string; readonly value: number }[],
): Population {
  const member = population.members.find((one) => one.id === id)
  if (!member || outcomes.length === 0) return population
  const tasks = new Map(member.tasks)
  for (const { task, value } of outcomes) {
    const { sum, n } = tasks.get(task) ?? { sum: 0, n: 0 }
    tasks.set(task, { sum: sum + value, n: n + 1 })
  }
  return withMember(population, { ...member, rounds: member.rounds + 1, tasks })
}

/** The candidate that is being weighed: the one with most rounds. */
function current({ best, members }: Population): Member | undefined {
  const candidates = members.filter((member) => member.id !== best && member.rounds > 0)
  return candidates.sort((a, b) => b.rounds - a.rounds || a.id - b.id)[0]
}

/** Weighs the current candidate if it has new evidence, and the best has as much. Returns null if there is nothing to weigh. */
export function weigh(population: Population, options: WeighingOptions): Weighed | null {
  const member = current(population)
  const best = memberOf(population, population.best)
  if (!member || member.looks >= member.rounds || best.rounds < member.rounds) return null
  const { tries, looks, confidence, acceptance, prior } = options
  const error = (1 - confidence) / (tries * looks)
  const pairs = [...member.tasks].flatMap(([task, own]) => {
    const other = best.tasks.get(task)
    return other ? [[other.sum / other.n, own.sum / own.n] as const] : []
  })
  const difference = pairedDifference(pairs, 1 - 2 * error)
  const [candidate, parent] = [tallyOf(member), tallyOf(best)]
  const rule = acceptance.decide(
    { direction: 'easier', accuracy: candidate, parentAccuracy: parent, equalsParent: false },
    { low: 0, high: 1, evidence: 'bayes', confidence: 1 - error, prior },
  )
  const told = { member: member.id, difference, error, candidate, parent }
  if (pairs.length >= FEWEST_TASKS && difference.low > 0 && rule.accepted)
    return { ...told, verdict: 'accepted', reason: 'better than its parent' }
  if (member.looks + 1 >= looks) return { ...told, verdict: 'rejected', reason: 'not shown to be better' }
  const hoped = pairedDifference(pairs, GIVE_UP_LEVEL).high
  const needed = (difference.high - difference.value) * Math.sqrt(member.rounds / looks)
  if (pairs.length >= FEWEST_TASKS && hoped <= needed)
    return { ...told, verdict: 'rejected', reason: 'too weak to be shown better' }
  return { ...told, verdict: 'undecided', reason: 'too little evidence' }
}

/** Enters a verdict. Candidates of an earlier best go on as candidates of the new one, without their evidence. */
export function decided(
  population: Population,
  { member: id, verdict }: Pick<Weighed, 'member' | 'verdict'>,
): Population {
  const member = memberOf(population, id)
  const tries = population.tries + (member.looks === 0 ? 1 : 0)
  const looked = { ...withMember(population, { ...member, looks: member.looks + 1 }), tries }
  if (verdict === 'undecided') return looked
  const others = looked.members.filter((one) => one.id !== id)
  if (verdict === 'rejected') return { ...looked, members: others }
  const rebased = others.flatMap((one) => {
    if (one.id === population.best || one.change === null) return []
    const text = changed(member.text, one.change)
    return typeof text === 'string' ? [] : [{ ...one, text, rounds: 0, looks: 0, tasks: new Map() }]
  })
  return { ...looked, best: id, members: [{ ...member, looks: 0 }, ...rebased] }
}

/** Returns what is to be done next. */
export function wished(population: Population, { tries }: Pick<WeighingOptions, 'tries'>): Wish {
  const { best, members } = population
  const own = memberOf(population, best)
  if (own.rounds === 0) return { kind: 'play', member: best }
  const active = current(population)
  if (active) return { kind: 'play', member: own.rounds < active.rounds ? best : active.id }
  if (population.tries >= tries) return { kind: 'end', reason: `all ${tries} tries are made` }
  if (members.length < MOST_MEMBERS) return { kind: 'propose' }
  return { kind: 'play', member: members.find(({ id }) => id !== best)!.id }
}

/** Returns the mean value of a member's outcomes by task, or null if it never played. */
export function meanOf({ tasks }: Member): number | null {
  return tasks.size === 0 ? null : stableMean([...tasks.values()].map(({ sum, n }) => sum / n))
}

/** Graded outcomes count as shares of successes: their spread is no larger than that of successes and failures. */
function tallyOf({ tasks }: Member): Tally {
  const all = [...tasks.values()]
  return { successes: stableSum(all.map(({ sum }) => sum)), n: stableSum(all.map(({ n }) => n)) }
}
