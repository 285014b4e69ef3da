/** Episodes of questions: a turn calls tools, or tells the answer in a box. */
import {
  BETWEEN_RESULTS,
  type Environment,
  type EpisodeEnd,
  type ImmediateEpisode,
  readCalls,
  type Seed,
  seedOf,
  type Task,
  type ToolSpec,
  type Turn,
} from 'rlanything/environments'
import { type Almanac, almanac } from './almanac.ts'
import { calculate } from './calculator.ts'
import { type Difficulty, questionOf } from './questions.ts'

export const TOOLS: readonly ToolSpec[] = [
  {
    name: 'calculator',
    description: 'The value of an arithmetic expression, e.g. 3 * (17 + 4).',
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string' } },
      required: ['expression'],
    },
  },
  {
    name: 'search',
    description: 'Pages of the almanac in which words stand, best first.',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  },
]

/** Most calls of one turn that are done, and most characters of a result. */
const MOST_CALLS = 4
const MOST_CHARACTERS = 600

export type ToolsOptions = {
  readonly seed: number
  readonly difficulty: Difficulty
  /** Training tasks. */
  readonly tasks: number
  readonly towns: number
}

const HELD_OUT = 200

/**
 * Returns the environment of questions that are answered with tools.
 *
 * @example const environment = toolsEnvironment({ seed: 3, difficulty: 'medium', tasks: 20, towns: 60 })
 */
export function toolsEnvironment({ seed, difficulty, tasks, towns }: ToolsOptions): Environment {
  const book = almanac(seedOf(seed), towns)

  return {
    /** Questions of `ood` are one size harder. */
    async tasks(split) {
      const size = split === 'ood' ? HARDER[difficulty] : difficulty
      return Array.from({ length: split === 'train' ? tasks : HELD_OUT }, (_, index): Task => {
        const { text, answer, kind } = questionOf(book, size, seedOf(seed, split, index))
        return { id: `${split}-${index}`, environment: 'tools', kind, goal: text, recipe: { answer } }
      })
    },
    async reset(task, { maxSteps }: { readonly seed: Seed; readonly maxSteps: number }) {
      return episodeOf(book, task, maxSteps, 0, {
        observation: 'Call tools, or answer.',
        ...OPEN,
      })
    },
  }
}

const HARDER = { easy: 'medium', medium: 'hard', hard: 'hard' } as const
const OPEN = { admissible: [], done: false, ended: null } as const

function episodeOf(
  book: Almanac,
  task: Task,
  maxSteps: number,
  steps: number,
  turn: Turn & { readonly answered?: string },
): ImmediateEpisode {
  return {
    task,
    turn,
    steps,
    step(action) {
      const calls = readCalls(action)
      const answer = calls.length > 0 ? undefined : boxed(action)
      const right = answer !== undefined && isRight(answer, task)
      const over = answer !== undefined || steps + 1 >= maxSteps
      const ended: EpisodeEnd | null = !over
        ? null
        : right
          ? 'goal'
          : answer === undefined
            ? 'step-limit'
            : 'gave-up'
      const observation =
        answer !== undefined
          ? 'The answer was taken.'
          : calls.length > 0
            ? calls.map((call, index) => resultOf(book, call, index)).join(BETWEEN_RESULTS)
            : 'Nothing was called and nothing answered. Call a tool, or end with the answer in \\boxed{}.'
      return episodeOf(book, task, maxSteps, steps + 1, {
        observation,
        admissible: [],
        done: over,
        ended,
        failed:
          calls.length > 0 &&
          observation.split(BETWEEN_RESULTS).some((result) => result.startsWith('error: ')),
        ...(answer === undefined && calls.length === 0 ? { void: true } : {}),
        ...(answer === undefined ? {} : { answered: answer }),
      })
    },
    outcome: () => (turn.answered !== undefined && isRight(turn.answered, task) ? 1 : 0),
  }
}

function resultOf(book: Almanac, call: ReturnType<typeof readCalls>[number], index: number): string {
  if (index >= MOST_CALLS) return `error: at most ${MOST_CALLS} calls a turn`
  if ('unreadable' in call) return 'error: the call is no JSON with name and arguments'
  const { name, arguments: values } = call
  const text = (key: string) => (typeof values[key] === 'string' ? values[key] : null)
  const [expression, query] = [text('expression'), text('query')]
  const known = TOOLS.map((tool) => tool.name).join(', ')
  let result = `error: there is no tool '${name.slice(0, 40)}', only ${known}`
  if (name === 'calculator')
    result = expression === null ? "error: 'expression' is missing" : calculate(expression)
  if (name === 'search')
    result =
      query === null ? "error: 'query' is missing" : book.search(query).join('\n') || 'nothing was found'
  return result.length <= MOST_CHARACTERS ? result : `${result.slice(0, MOST_CHARACTERS)}...`
}

/** The answer must be within the last 100 characters, by GRPO-TCR's rule. */
const END = 100

export function boxed(action: string): string | undefined {
  const [, content] = /\\boxed\{([^{}]*)\}[^{}]*$/.exec(action.slice(-END)) ?? []
  return content?.trim()
}

function isRight(answer: string, { recipe }: Task): boolean {
  return answer.replaceAll(',', '') === String(recipe.answer)
}
