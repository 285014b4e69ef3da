/** Find a number in a range: each try is answered by `higher` or `lower`. Put your own tasks and steps in its place. */
import { defineSetting, type Episode, PLAIN_CAUSES, rng, type Task } from 'rlanything/environments'

/** A task is plain data, from which an episode can be begun again at any time. */
function taskOf(top: number, index: number): Task {
  return {
    id: `find-${top}-${index}`,
    environment: 'find-number',
    kind: 'find',
    goal: `find ${top}`,
    recipe: { top },
  }
}

/** An episode is a value: a step leaves it as it was and gives the next. */
function episode(task: Task, secret: number, maxSteps: number, steps = 0, answer = 'begin'): Episode {
  const found = answer === 'found'
  const done = found || steps >= maxSteps
  const all = Array.from({ length: Number(task.recipe.top) }, (_, i) => `try ${i + 1}`)
  return {
    task,
    steps,
    turn: {
      observation: answer,
      admissible: done ? [] : all,
      done,
      ended: found ? 'goal' : done ? 'step-limit' : null,
    },
    step(action) {
      const guess = Number(action.split(' ')[1])
      const answer = guess === secret ? 'found' : guess < secret ? 'higher' : 'lower'
      return episode(task, secret, maxSteps, steps + 1, answer)
    },
    outcome: () => (found ? 1 : 0),
  }
}

/** The range that is left after some tries and their answers. */
function narrowed(top: number, tries: readonly (readonly [guess: number, answer: string])[]): [number, number] {
  let [low, high] = [1, top]
  for (const [guess, answer] of tries)
    if (answer === 'higher') low = Math.max(low, guess + 1)
    else if (answer === 'lower') high = Math.min(high, guess - 1)
  return [low, high]
}

export const setting = defineSetting({
  name: 'find-number',
  summary: 'find a number by trying',
  open: () => ({
    tasks: async (split) =>
      Array.from({ length: 60 }, (_, i) => taskOf(5 + (i % 8), split === 'train' ? i : 100 + i)),
    reset: async (task, { seed, maxSteps }) =>
      episode(task, 1 + rng(seed).below(Number(task.recipe.top)), maxSteps),
  }),
  acting: { kind: 'choices' },
  judging: { by: 'steps', causes: PLAIN_CAUSES },
  /** Harder and easier tasks: a wider or a narrower range. */
  rewriting: {
    async rewrite(_, { task, direction, taken }) {
      const top = Number(task.recipe.top) + (direction === 'harder' ? 1 : -1)
      const changed = taskOf(top, Number(task.id.split('-')[2]))
      if (top < 2 || top > 12 || taken.includes(changed.id)) return { refused: 'no other range is left' }
      return { task: changed }
    },
    validate: async () => ({ ok: true }),
  },
  /** A teacher for the first version of the policy: halves what is left. */
  expert(_, first) {
    const tries: [number, string][] = []
    return {
      advise() {
        const [low, high] = narrowed(first.admissible.length, tries)
        return `try ${Math.floor((low + high) / 2)}`
      },
      observe: (action, turn) => void tries.push([Number(action.split(' ')[1]), turn.observation]),
    }
  },
  /** 1 for a try that could have been right, else 0. */
  async progress(environment, task, seed, actions) {
    let now = await environment.reset(task, { seed, maxSteps: actions.length })
    const tries: [number, string][] = []
    const progress = new Float32Array(actions.length)
    for (const [i, action] of actions.entries()) {
      const guess = Number(action.split(' ')[1])
      const [low, high] = narrowed(Number(task.recipe.top), tries)
      progress[i] = guess >= low && guess <= high ? 1 : 0
      now = await now.step(action)
      tries.push([guess, now.turn.observation])
    }
    return progress
  },
})
