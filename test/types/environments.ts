/** Types of `rlanything/environments`. `tsc --noEmit` is the test: an expected error that does not come is an error. */
import {
  defineCommand,
  defineSetting,
  type Episode,
  PLAIN_CAUSES,
  rng,
  type Task,
} from 'rlanything/environments'

const task: Task = { id: 'a', environment: 'sums', kind: 'sum', goal: 'add', recipe: {} }
const episode: Episode = {
  task,
  steps: 0,
  turn: { observation: '', admissible: [], done: false, ended: null },
  step: () => episode,
  outcome: () => 1,
}
const open = () => ({ tasks: async () => [task], reset: async () => episode, answers: 2 })

/** The section of `open` and `check` is what `config` declares. */
export const setting = defineSetting({
  name: 'sums',
  summary: 'sums',
  config: (z) => ({ digits: z.int().default(2).describe('digits of a number') }),
  check(_, refuse, section) {
    const digits: number = section.digits
    // @ts-expect-error a key that `config` does not declare
    section.digit
    if (digits > 9) refuse('digits', 'too many', 'at most 9')
  },
  open,
  acting: { kind: 'choices' },
  judging: { by: 'steps', causes: PLAIN_CAUSES },
  // Each part gets the setting's own environment.
  runtime: async (environment) => `${environment.answers}`,
})

defineSetting({
  name: 'sums',
  summary: 'sums',
  open,
  // @ts-expect-error a way of acting that does not exist
  acting: { kind: 'moves' },
})

defineSetting({
  name: 'sums',
  summary: 'sums',
  open,
  // @ts-expect-error a part that is not whole: it cannot validate
  rewriting: { rewrite: async () => ({ refused: 'none is left' }) },
})

defineSetting({
  name: 'sums',
  summary: 'sums',
  open,
  // @ts-expect-error a name that no part has
  judges: { by: 'steps', causes: PLAIN_CAUSES },
})

defineSetting({
  name: 'sums',
  summary: 'sums',
  // @ts-expect-error an environment that cannot start an episode
  open: () => ({ tasks: async () => [task] }),
})

// @ts-expect-error a setting has a summary
defineSetting({ name: 'sums', open })

// @ts-expect-error why an episode ended has no such word
export const ended: Episode['turn']['ended'] = 'lost'

// @ts-expect-error a task cannot be changed
task.goal = 'subtract'

// @ts-expect-error a seed is two numbers
rng(1)

defineCommand({
  help: 'prints sums',
  options: { count: { type: 'string', help: 'how many' } },
  async run({ values }) {
    const count: string | undefined = values.count
    // @ts-expect-error an option that the command does not have
    values.size
    return count === undefined ? 0 : 1
  },
})
