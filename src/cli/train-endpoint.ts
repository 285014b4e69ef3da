/** Flags of `rl train` for a model behind an endpoint: it learns by instructions, or its weights are trained outside. */
import { INSTRUCTIONS_CONFIG, instructionWords } from '../agents/instructions.ts'
import { setWords } from '../agents/set-words.ts'
import type { AgentTasks } from '../agents/tasks.ts'
import type { TrainOptions } from '../agents/train.ts'
import { runFolder } from '../broker/connection.ts'
import { wholeNumber } from '../command-line.ts'
import { explain, RlError } from '../errors.ts'
import { hasBegun } from '../events/starts.ts'
import { required } from './model-flags.ts'

export const ENDPOINT_FLAGS = {
  'base-url': { type: 'string' },
  learn: { type: 'string' },
  proposer: { type: 'string' },
  'budget-calls': { type: 'string' },
} as const

type Flags = { readonly [Flag in keyof typeof ENDPOINT_FLAGS]?: string } & { readonly iterations?: string }

const USUAL_BUDGET = '2000'
/** Time in which an endpoint lists its models. */
const ANSWER_MS = 10_000

/** Returns the config and the words that make a run learn instructions. A run that has begun has them already. */
export function learningOf(
  run: string,
  { learn, iterations, proposer, ...flags }: Flags,
  tasks: AgentTasks,
): Pick<TrainOptions, 'config' | 'words'> {
  const { 'base-url': baseUrl, 'budget-calls': budget = USUAL_BUDGET } = flags
  if (flags['budget-calls'] !== undefined && learn !== 'instructions')
    throw new RlError('--budget-calls counts the calls of a model behind an endpoint', {
      code: 'cli.usage',
      hint: 'it goes with --learn instructions; --iterations and --minutes bound any other training',
    })
  if (learn === undefined && baseUrl === undefined && proposer === undefined) return { words: [] }
  if (learn === 'weights' && proposer === undefined)
    return { words: hasBegun(runFolder(run).log) ? [] : outsideWords(required('--base-url', baseUrl)) }
  if (learn !== 'instructions')
    throw new RlError(
      learn === undefined
        ? 'nobody said how a model behind an endpoint learns'
        : `--learn ${learn} is not known here`,
      {
        code: 'cli.usage',
        hint: 'use --learn instructions, or --learn weights if a trainer of yours answers (docs/external-trainers.md)',
      },
    )
  const words = instructionWords(
    {
      baseUrl: required('--base-url', baseUrl),
      proposer,
      budgetCalls: wholeNumber('--budget-calls', budget, 1),
      iterations: iterations === undefined ? undefined : wholeNumber('--iterations', iterations, 1),
    },
    tasks,
  )
  return { config: INSTRUCTIONS_CONFIG, words: hasBegun(runFolder(run).log) ? [] : words }
}

/** Returns words for a run whose policy is behind an endpoint, and whose weights a program outside trains. */
function outsideWords(baseUrl: string): readonly string[] {
  return setWords({
    'policy.provider': 'openai',
    'policy.baseUrl': baseUrl,
    'policy.lora.rank': 'null',
    'policy.trainer': 'external',
    'policy.publish.as': 'lora',
  })
}

/** Returns a line if the endpoint does not answer, for a run waits for it in silence. Returns null if it does. */
export async function silenceOf(baseUrl: string | undefined): Promise<string | null> {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return null
  try {
    const answer = await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(ANSWER_MS) })
    await answer.body?.cancel()
    return null
  } catch (error) {
    const { cause } = error as { readonly cause?: unknown }
    return `the endpoint ${baseUrl} does not answer (${explain(cause ?? error)}): the run waits for it`
  }
}
