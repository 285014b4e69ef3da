/**
 * A user's own environment in one file that needs nothing of ours at run time: take the last counter before the opponent does.
 * The opponent takes its time, draws its moves from the episode's seed, and sees a win in front of it.
 */
import type { Environment, Episode, EpisodeEnd, Task } from '../../src/environments/port.ts'
import type { Setting } from '../../src/environments/setting.ts'

const MOST = 3
const takes = (counters: number) =>
  Array.from({ length: Math.min(MOST, counters) }, (_, i) => `take ${i + 1}`)
const numberIn = (action: string) => Number(action.split(' ')[1])

function taskOf(counters: number, index: number): Task {
  const goal = `take the last of ${counters} counters`
  return { id: `nim-${counters}-${index}`, environment: 'nim', kind: 'nim', goal, recipe: { counters } }
}

/** The opponent's move: a pure function of the seed and the counters left. */
function opponent(counters: number, [a, b]: readonly [number, number]): number {
  if (counters <= MOST) return counters
  return 1 + (((Math.imul(a ^ (counters * 0x9e3779b1), 0x85ebca6b) ^ b) >>> 8) % MOST)
}

type State = { readonly counters: number; readonly steps: number; readonly ended: EpisodeEnd | null }

function episode(
  task: Task,
  seed: readonly [number, number],
  maxSteps: number,
  { counters, steps, ended }: State,
  told = '',
): Episode {
  const next = (state: State, told: string) => episode(task, seed, maxSteps, state, told)
  return {
    task,
    steps,
    turn: {
      observation: `${told}${counters} left`,
      admissible: ended === null ? takes(counters) : [],
      done: ended !== null,
      ended,
    },
    async step(action) {
      if (ended !== null) return next({ counters, steps, ended }, told)
      const taken = takes(counters).includes(action) ? numberIn(action) : 0
      const left = counters - taken
      if (left === 0) return next({ counters: 0, steps: steps + 1, ended: 'goal' }, '')
      await new Promise(setImmediate)
      const reply = opponent(left, seed)
      const over = left === reply ? 'gave-up' : steps + 1 >= maxSteps ? 'step-limit' : null
      return next({ counters: left - reply, steps: steps + 1, ended: over }, `the other took ${reply} , `)
    },
    outcome: () => (ended === 'goal' ? 1 : 0),
  }
}

type Nim = Environment & { readonly tries: number }

export const setting = {
  name: 'nim',
  summary: 'take the last counter',
  config: (z) => ({
    fewest: z.int().min(2).default(5).describe('Counters of the smallest game.'),
    most: z.int().max(40).default(11).describe('Counters of the largest game.'),
  }),
  check({ environment }, refuse) {
    if (environment.source !== 'generated')
      refuse('environment.source', 'nim has no files', 'use source generated')
  },
  open({ environment }, { fewest, most }): Nim {
    return {
      tries: environment.tasksPerIteration,
      async tasks(split) {
        const first = { train: 0, 'in-domain': 1000, ood: 2000 }[split] ?? 3000
        return Array.from({ length: 24 }, (_, i) => taskOf(fewest + (i % (most - fewest + 1)), first + i))
      },
      async reset(task, { seed, maxSteps }) {
        const counters = Number(task.recipe.counters)
        return episode(task, seed, maxSteps, { counters, steps: 0, ended: null })
      },
    }
  },
  acting: { kind: 'choices' },
  judging: {
    by: 'steps',
    causes: {
      praises: { leads: 'leaves a multiple of four' },
      complaints: { wastes: 'leaves the other a way to win' },
      wordFor: ({ label }) => (label === 1 ? 'leads' : 'wastes'),
    },
  },
  rewriting: {
    async rewrite(_, { task, direction, taken }) {
      const counters = Number(task.recipe.counters)
      for (let by = 1; by <= 8; by++) {
        const changed = counters + (direction === 'harder' ? by : -by)
        const candidate = taskOf(changed, Number(task.id.split('-')[2]))
        if (changed >= 2 && changed % 4 !== 0 && !taken.includes(candidate.id)) return { task: candidate }
      }
      return { refused: 'no other number of counters is left' }
    },
    async validate(_, { recipe }) {
      const counters = Number(recipe.counters)
      return counters > 0 ? { ok: true } : { ok: false, reason: 'there is nothing to take' }
    },
  },
  expert: () => ({
    advise({ observation, admissible }) {
      const counters = Number(/(\d+) left/.exec(observation)?.[1])
      return admissible.find((action) => numberIn(action) === counters % 4) ?? admissible[0]
    },
    observe() {},
  }),
  async progress(environment, task, seed, actions) {
    let now = await environment.reset(task, { seed, maxSteps: actions.length + 1 })
    const progress = new Float32Array(actions.length)
    for (const [i, action] of actions.entries()) {
      const counters = Number(/(\d+) left/.exec(now.turn.observation)?.[1])
      progress[i] = counters % 4 === 0 ? 0 : (counters - numberIn(action)) % 4 === 0 ? 1 : -0.5
      now = await now.step(action)
    }
    return progress
  },
} satisfies Setting<Nim, { readonly fewest: number; readonly most: number }>
