/**
 * Tests of samplers of tasks on simulated students, in the manner of TeachMyAgent (Romac et al., 2021, arXiv 2103.09815). Each test
 * makes one thing hard for a curriculum. The student and its numbers are choices of this project: no model is trained.
 */
import { rng, type Seed, seedOf } from '../random.ts'
import { chooseSlots } from './choose-slots.ts'
import { stableMean } from './moments.ts'
import type { OpenSlot, TaskSampler } from './rules.ts'
import type { Tally } from './terms.ts'

/** Difficulties, one a test. */
export const CHALLENGES = {
  plain: 'levels of all kinds, told as they are',
  unfeasible: 'half of the tasks cannot be solved',
  trivial: 'four of five tasks are solved already',
  forgetting: 'kinds that are not played are forgotten',
  rugged: 'the levels that a sampler reads say nothing of the difficulty',
  students: 'students begin at other levels, and learn at other rates',
} as const

export type Challenge = keyof typeof CHALLENGES

export const CHALLENGE_NAMES = Object.keys(CHALLENGES) as readonly Challenge[]

const KINDS = 4
const TASKS = 64
const LEVELS = 8
const ITERATIONS = 60
const PLAYED = 6
const ROLLOUTS = 8
const HISTORY = 16
/** Skill that a group of even outcomes teaches. */
const RATE = 0.6
/** Skill that a kind loses in an iteration without it. */
const LOSS = 0.1

type Hidden = {
  readonly slot: string
  readonly kind: number
  /** The level that the sampler reads. */
  readonly told: number
  /** Null: nobody can solve it. */
  readonly difficulty: number | null
  history: readonly Tally[]
}

type Student = { readonly skills: number[]; readonly rate: number; readonly loss: number }

/**
 * Returns the share of the feasible tasks that a student solves, in expectation, as a mean over the iterations. So what is learned
 * early counts more. A task of level l is solved with probability 1 / (1 + exp(l - s)), s the skill in its kind. A group with success
 * q teaches its kind 0.6 x 4 q (1 - q): groups that end alike teach nothing.
 *
 * @throws RlError those of `chooseSlots`
 */
export function masteryUnder(sampler: TaskSampler, challenge: Challenge, seed: Seed): number {
  const tasks = tasksOf(challenge, seed)
  const student = studentOf(challenge, seed)
  const mastered: number[] = []
  for (let iteration = 1; iteration <= ITERATIONS; iteration++) {
    const given = { count: PLAYED, seed: seedOf(seed, 'select', iteration), iteration }
    const names = new Set(chooseSlots(sampler, tasks.map(openSlot), given))
    const played = tasks.filter(({ slot }) => names.has(slot))
    for (const task of played) play(task, student, seedOf(seed, 'play', iteration, task.slot))
    const kinds = new Set(played.map(({ kind }) => kind))
    for (let kind = 0; kind < KINDS; kind++)
      if (!kinds.has(kind)) student.skills[kind] = (student.skills[kind] ?? 0) - student.loss
    mastered.push(
      stableMean(tasks.flatMap((task) => (task.difficulty === null ? [] : [chanceOf(task, student)]))),
    )
  }
  return stableMean(mastered)
}

function tasksOf(challenge: Challenge, seed: Seed): readonly Hidden[] {
  const { uniform, below } = rng(seedOf(seed, 'tasks'))
  return Array.from({ length: TASKS }, (_, index) => {
    const level = below(LEVELS)
    const isEasy = uniform() < 0.8
    const difficulty = challenge === 'trivial' && isEasy ? -4 : level
    const told = challenge === 'rugged' ? below(LEVELS) : Math.max(0, difficulty)
    const isLost = challenge === 'unfeasible' && index % 2 === 1
    return {
      slot: `train-${String(index).padStart(3, '0')}`,
      kind: Math.floor(index / 2) % KINDS,
      ...{ told, difficulty: isLost ? null : difficulty, history: [] },
    }
  })
}

function studentOf(challenge: Challenge, seed: Seed): Student {
  const { uniform } = rng(seedOf(seed, 'student'))
  const varies = challenge === 'students'
  return {
    skills: Array.from({ length: KINDS }, () => (varies ? 3 * uniform() - 1 : 0)),
    rate: varies ? RATE * (0.5 + uniform()) : RATE,
    loss: challenge === 'forgetting' ? LOSS : 0,
  }
}

function openSlot({ slot, kind, told, history }: Hidden): OpenSlot {
  return {
    ...{ slot, task: slot, kind: `kind-${kind}`, level: told, history },
    ...{ last: history.at(-1) ?? null, longestSuccess: null },
  }
}

function play(task: Hidden, student: Student, seed: Seed): void {
  const { uniform } = rng(seed)
  const chance = chanceOf(task, student)
  const draws = Array.from({ length: ROLLOUTS }, uniform)
  const successes = draws.filter((draw) => draw < chance).length
  const share = successes / ROLLOUTS
  const skill = student.skills[task.kind] ?? 0
  student.skills[task.kind] = skill + student.rate * 4 * share * (1 - share)
  task.history = [...task.history, { successes, n: ROLLOUTS }].slice(-HISTORY)
}

function chanceOf({ kind, difficulty }: Hidden, { skills }: Student): number {
  return difficulty === null ? 0 : 1 / (1 + Math.exp(difficulty - (skills[kind] ?? 0)))
}
