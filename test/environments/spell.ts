/**
 * A user's environment of texts: words are to be spelled backwards. What is answered is the action; tests of its own, which it runs
 * when the episode is over, give the outcome; the reward model writes tests as well.
 */
import type { Environment, Episode, Task } from '../../src/environments/port.ts'
import type { ParsedTest, Setting } from '../../src/environments/setting.ts'

const LETTERS = ['a', 'b', 'c', 'd']
const backwards = (word: string) => word.split(' ').reverse().join(' ')

function taskOf(index: number, split: string): Task {
  const word = Array.from({ length: 2 }, (_, i) => LETTERS[(index >> (2 * i)) % LETTERS.length]).join(' ')
  return { id: `${split}-${index}`, environment: 'spell', kind: 'word', goal: word, recipe: { word } }
}

const wordOf = (task: Task) => String(task.recipe.word)

type Spelled = Episode & { readonly spelled: string; readonly passed?: readonly boolean[] }

function episode(task: Task, spelled: string | null, passed?: readonly boolean[]): Episode | Spelled {
  const done = spelled !== null
  const share = passed ? passed.filter(Boolean).length / passed.length : 0
  return {
    ...{ task, steps: done ? 1 : 0, spelled, passed },
    turn: {
      observation: done ? '' : `spell backwards: ${wordOf(task)}`,
      admissible: [],
      done,
      ended: done ? (share === 1 ? 'goal' : 'gave-up') : null,
    },
    step: (action) => episode(task, action.trim()),
    outcome() {
      if (!passed) throw new Error('its tests have not been run')
      return share
    },
  }
}

/** Whether the letter at a place, `1` or `2`, is right. */
const isRight = (spelled: string, place: string, letter: string) =>
  spelled.split(' ')[Number(place) - 1] === letter

function ownTests(task: Task) {
  return backwards(wordOf(task))
    .split(' ')
    .map((letter, i) => ({ input: `${i + 1}`, output: letter }))
}

function readTest(answer: string): ParsedTest {
  const found = /place ([12]) is ([a-d])/.exec(answer)
  return found ? { test: { input: found[1], output: found[2] } } : { reason: 'no place is named' }
}

/** Right where the seed says so, else the word as it is. */
const answerOf = (task: Task, isWrong: boolean) => (isWrong ? wordOf(task) : backwards(wordOf(task)))
const uniform = ([a, b]: readonly [number, number]) => ((Math.imul(a ^ b, 0x9e3779b1) >>> 8) % 1000) / 1000

export const setting = {
  name: 'spell',
  summary: 'spell words backwards',
  open: (): Environment => ({
    tasks: async (split) => Array.from({ length: 16 }, (_, i) => taskOf(i, split)),
    reset: async (task) => episode(task, null),
    async settle(ended) {
      const { task, spelled } = ended as Spelled
      return episode(
        task,
        spelled,
        ownTests(task).map(({ input, output }) => isRight(spelled, input, output)),
      )
    },
  }),
  acting: {
    kind: 'texts',
    invalid: (answer) => (answer.trim() === '' ? 'the answer is empty' : null),
    tested(ended) {
      const { passed } = ended as Spelled
      return passed ? { passed, verdicts: passed.map((ok) => (ok ? 'ok' : 'wrong')) } : null
    },
    lessons: {
      version: 1,
      words: () => ['a b c d place is 1 2 spell backwards'],
      demonstrate: async (_, task, noise, seed) => ({
        question: task.goal,
        answer: answerOf(task, uniform(seed) < noise),
      }),
    },
  },
  judging: {
    by: 'tests',
    prompt: 'test',
    describe: async (_, task) => `spell backwards: ${wordOf(task)}`,
    read: (_, answer) => readTest(answer),
    run: async (_environment, _task, actions, tests) =>
      actions.map((action) =>
        tests.map(({ input, output }) => {
          const passed = isRight(action.trim(), input, output)
          return { passed, fault: passed ? '' : `place ${input} is not ${output}` }
        }),
      ),
    lessons: {
      version: 1,
      question: async (_, task) => task.goal,
      tests: async (_, task) => ownTests(task),
      demonstrate: async (_, task, noise, seed) => {
        const [letter] = answerOf(task, uniform(seed) < noise).split(' ')
        return { question: task.goal, answer: `place 1 is ${letter}` }
      },
    },
  },
} satisfies Setting
