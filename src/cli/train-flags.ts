/** Flags of `rl train`: who grades, how long it trains, and what is learned from. */
import { resolve } from 'node:path'
import { type Recording, readRecording } from '../agents/recording.ts'
import type { Judge } from '../agents/rubric.ts'
import type { AgentTasks } from '../agents/tasks.ts'
import { JUDGE_KEY, noGrade, type TrainOptions } from '../agents/train.ts'
import { wholeNumber } from '../command-line.ts'
import { explain, RlError } from '../errors.ts'
import { readTextSync } from '../text-file.ts'
import { numberFlag } from './model-flags.ts'

const USUAL_ITERATIONS = 10
/** If the time decides, as many as nobody has time for. */
const MOST_ITERATIONS = 100_000

/** Returns what is learned from. With a recording, its tasks are trained on, and those of the file measure. */
export function taught(
  tasks: AgentTasks,
  {
    from,
    'next-message': next,
    learn,
  }: { readonly from?: string; readonly 'next-message'?: boolean; readonly learn?: string },
): { readonly recording: Recording | null; readonly tasks: AgentTasks } {
  if (from === undefined) return { recording: null, tasks }
  if (next === true || learn !== undefined)
    throw new RlError('--from goes with neither --next-message nor --learn', {
      code: 'cli.usage',
      hint: 'rl train --help',
    })
  const recording = readRecording(from, tasks.heldOut)
  return { recording, tasks: { ...tasks, train: [...recording.tasks.values()].map(({ task }) => task) } }
}

type GradeWords = {
  readonly grade?: string
  readonly rubric?: string
  readonly judge?: string
  readonly 'judge-url'?: string
  readonly 'own-outcome'?: boolean
  readonly 'next-message'?: boolean
}

/** Returns the model that grades or reads verdicts, or null if none is named. */
export function judgeFrom({
  judge,
  'judge-url': url,
  rubric,
  'next-message': next,
}: GradeWords): Judge | null {
  const isUsed = rubric !== undefined || next === true
  if ((judge === undefined) !== (url === undefined) || (judge !== undefined && !isUsed))
    throw new RlError('--judge and --judge-url belong together, and to --rubric or --next-message', {
      code: 'cli.usage',
      hint: 'rl train --help',
    })
  if (judge === undefined || url === undefined) {
    if (next !== true) return null
    throw new RlError('--next-message needs a model that reads: --judge and --judge-url', {
      code: 'cli.usage',
      hint: 'rl train --help',
    })
  }
  return { model: judge, baseUrl: url, apiKeyEnv: JUDGE_KEY }
}

export function gradeFrom(
  { grade, rubric, ...rest }: GradeWords,
  judge: Judge | null,
): TrainOptions['grade'] {
  const own = rest['own-outcome'] === true
  const given = [grade !== undefined, rubric !== undefined, own].filter(Boolean).length
  if (given > 1)
    throw new RlError('--grade, --rubric and --own-outcome exclude one another', {
      code: 'cli.usage',
      hint: 'rl train --help',
    })
  if (grade !== undefined) return { module: resolve(grade) }
  if (rubric !== undefined) return { rubric: readRubric(rubric), judge }
  if (own) return null
  if (rest['next-message'] === true) return 'verdicts'
  throw noGrade()
}

function readRubric(file: string): string {
  try {
    return readTextSync(file)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`--rubric ${file} cannot be read: ${explain(cause)}`, {
      code: 'cli.usage',
      hint: 'name a file with the text of the rubric',
    })
  }
}

/** Returns how long the run is to train. */
export function lengthOf({
  iterations,
  minutes,
}: {
  readonly iterations?: string
  readonly minutes?: string
}) {
  const most = minutes === undefined ? USUAL_ITERATIONS : MOST_ITERATIONS
  return {
    iterations: iterations === undefined ? most : wholeNumber('--iterations', iterations, 1),
    ...(minutes === undefined ? {} : { minutes: numberFlag('--minutes', minutes, 0.01) }),
  }
}
