/** The row of one run, read from its log: enough for every table and curve. */
import { z } from 'zod'
import { isFromFolder, labelledRollouts } from '../config/labelled-rollouts.ts'
import { loggedConfig } from '../config.ts'
import type { EventData } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { playedSteps } from '../events/played-steps.ts'
import { startsOf } from '../events/starts.ts'
import { judgeQuality, type LabelledStep } from '../learning/judge-quality.ts'
import { progressLabel } from '../learning/progress-labels.ts'
import { SETTING_NAMES, type Setting } from './settings.ts'
import { stalenessOf, stalenessSchema } from './staleness.ts'
import { writtenTestsOf, writtenTestsSchema } from './written-tests.ts'

const count = z.int().nonnegative()
/** A share with its counts, and what it is the share of. */
function tally<Shape extends z.ZodRawShape>(of: Shape) {
  const counts = { successes: count, n: count }
  return z.strictObject({ ...of, ...counts }).refine(isShare, 'successes: more than n')
}

function isShare(value: object): boolean {
  const { successes, n } = value as { successes: number; n: number }
  return successes <= n
}

const versions = z.strictObject({ first: z.number(), last: z.number() })

export const rowSchema = z.strictObject({
  setting: z.enum(SETTING_NAMES as [Setting, ...Setting[]]),
  seed: count,
  /** Seed of its tasks. Null in the text of older files alone. */
  taskSeed: count.nullable().default(null),
  run: z.string(),
  configDigest: z.string(),
  codeVersion: z.string(),
  /** From the start of the first iteration to the end of the run. */
  seconds: z.number().nonnegative(),
  /** From the first start of its head to its end: cold starts and the first evaluation too. Null in older files. */
  elapsedSeconds: z.number().nonnegative().nullable().default(null),
  /**
   * Processor seconds of its iterations, all roles together. Evaluations are not in it. Null if an iteration was not measured whole: a
   * head ended in it, or the file is older.
   */
  processorSeconds: z.number().nonnegative().nullable().default(null),
  /** Number of rollouts of training tasks and candidates. */
  rollouts: count,
  /** Steps that these played themselves: a branch counts its tail alone. Null in older files. */
  steps: count.nullable().default(null),
  /** Costs beside its rollouts. Null in older files, if their runs are gone. */
  costs: z
    .strictObject({
      /** Labelled rollouts that the judge's start learned from. Null if it was taught elsewhere. */
      labelled: count.nullable(),
      /** Rollouts of an expert that the policy's start learned from. */
      demonstrations: count,
      /** Read and written by the policy, evaluations too. Tokens that a model read once for several requests count once. */
      tokens: count,
    })
    .nullable()
    .default(null),
  evaluations: z.array(tally({ iteration: count, split: z.string(), steps: z.number() })),
  /** Accuracy on the training tasks that an iteration played. */
  accuracy: z.array(tally({ iteration: count })),
  /** [iterations] number of tasks accepted so far. Empty without adaptation. */
  accepted: z.array(count),
  /**
   * Balanced accuracy of the judge's single verdicts on evaluation rollouts, against true progress and
   * against outcomes.
   */
  judge: z.array(
    z.strictObject({
      iteration: count,
      process: z.number().nullable(),
      outcome: z.number(),
      meanVerdict: z.number(),
    }),
  ),
  /** Acceptances that were played again with many rollouts. Null if that was not done. */
  confirmed: z
    .strictObject({
      rollouts: count,
      accepted: count,
      confirmed: count,
      /** Number of these that evidence-based acceptance would also have accepted. */
      evident: count,
      evidentConfirmed: count,
    })
    .nullable(),
  /** Success of the last policy at a lower temperature, on the tasks of the last evaluation. Null if that was not measured. */
  cooler: z
    .array(tally({ split: z.string() }))
    .nullable()
    .default(null),
  /**
   * Balanced accuracy of single verdicts of the first and the last judge on the same evaluation rollouts.
   * Null if that was not done or the judge stayed as it was.
   */
  judges: z
    .strictObject({ rollouts: count, process: versions.nullable(), outcome: versions })
    .nullable()
    .default(null),
  /** Ages of the rollouts when the policy learned from them. Null in older files. */
  staleness: stalenessSchema.nullable().default(null),
  /** Programs and written unit tests of the last evaluation. Null if none were written, and in older files. */
  writtenTests: writtenTestsSchema.nullable().default(null),
})

export type Row = z.infer<typeof rowSchema>

/** Returns the row of a complete run, or null. */
export function rowOf(log: LogReader, setting: Setting, seed: number): Row | null {
  const { data: started } = startsOf(log).first
  const config = loggedConfig(started.config)
  const row: Row = {
    setting,
    seed,
    taskSeed: config.environment.seed,
    run: log.run,
    configDigest: started.configDigest,
    codeVersion: started.codeVersion,
    seconds: 0,
    elapsedSeconds: null,
    processorSeconds: null,
    rollouts: 0,
    steps: null,
    costs: null,
    evaluations: [],
    accuracy: [],
    accepted: [],
    judge: [],
    confirmed: null,
    cooler: null,
    judges: null,
    staleness: null,
    writtenTests: null,
  }
  const measured = new Set<number>()
  let isWhole = true
  let processorMs = 0
  let accepted = 0
  let beganMs = 0
  let endedMs = 0
  let startedMs = 0
  let stoodMs = 0
  let stoodSinceBeganMs = 0
  for (const { type, data, time, position } of log.events({
    types: [
      'RunStarted',
      'IterationStarted',
      'IterationCompleted',
      'EvaluationCompleted',
      'TaskAccepted',
      'RunResumed',
      'RunCompleted',
      'ProcessorTimeMeasured',
    ],
  })) {
    if (type === 'RunStarted') startedMs = time
    if (type === 'IterationStarted' && data.iteration === 1) beganMs = time
    if (type === 'EvaluationCompleted') {
      const { iteration, split, rollouts, meanSteps } = data
      row.evaluations.push({ iteration, split, ...rollouts, steps: meanSteps })
    }
    if (type === 'TaskAccepted') accepted++
    if (type === 'IterationCompleted' && data.iteration > 0) {
      row.accuracy.push({ iteration: data.iteration, ...data.accuracy })
      row.accepted.push(accepted)
    }
    if (type === 'ProcessorTimeMeasured') {
      measured.add(data.iteration)
      for (const ms of Object.values(data.ms)) processorMs += ms
    }
    if (type === 'RunResumed') {
      if (beganMs > 0 && data.codeVersion !== undefined) isWhole = false
      const ms = time - timeAt(log, position - 1)
      stoodMs += ms
      if (beganMs > 0) stoodSinceBeganMs += ms
    }
    if (type === 'RunCompleted') endedMs = time
  }
  if (endedMs === 0) return null
  // Splits of an evaluation end in any order. The config's order holds.
  const { splits } = config.evaluation
  const place = ({ iteration, split }: Row['evaluations'][number]) =>
    iteration * splits.length + splits.indexOf(split)
  row.evaluations.sort((a, b) => place(a) - place(b))
  if (!config.adaptation.enabled || setting === 'before') row.accepted = []
  if (isWhole && measured.size > 0 && row.accuracy.every(({ iteration }) => measured.has(iteration)))
    row.processorSeconds = processorMs / 1000
  row.seconds = (endedMs - beganMs - stoodSinceBeganMs) / 1000
  row.elapsedSeconds = (endedMs - startedMs - stoodMs) / 1000
  Object.assign(row, measuredByTrajectories(log), {
    costs: costsOf(log),
    staleness: stalenessOf(log),
    writtenTests: writtenTestsOf(log),
  })
  return row
}

function timeAt(log: LogReader, position: number): number {
  const [event] = log.events({ from: position, until: position })
  return event!.time
}

/** Returns what a run costs beside its seconds and rollouts. A part that is off costs nothing. */
export function costsOf(log: LogReader): NonNullable<Row['costs']> {
  const config = loggedConfig(startsOf(log).first.data.config)
  const { policy } = config
  let tokens = 0
  for (const { data } of log.events({ types: ['TrajectoryCompleted'] }))
    tokens += data.usage.promptTokens - data.usage.cachedTokens + data.usage.completionTokens
  return {
    labelled: isFromFolder(config) ? null : labelledRollouts(config),
    demonstrations: policy.provider === 'local' ? policy.coldStart.demonstrations : 0,
    tokens,
  }
}

/** Rollouts beside evaluation, and how well evaluation rollouts are judged. */
function measuredByTrajectories(log: LogReader): Pick<Row, 'rollouts' | 'steps' | 'judge'> {
  let rollouts = 0
  let steps = 0
  const outcomes = new Map<string, 1 | -1>()
  const judged = new Map<number, { process: LabelledStep[]; outcome: LabelledStep[] }>()
  for (const { type, data } of log.events({ types: ['TrajectoryCompleted', 'StepScored'] })) {
    if (type === 'TrajectoryCompleted') {
      if (data.purpose !== 'evaluation') {
        rollouts++
        steps += playedSteps(data)
      } else if (data.outcome.kind === 'scored') outcomes.set(data.rollout, data.outcome.success ? 1 : -1)
    } else enter(data)
  }

  function enter({ rollout, iteration, judgements, progress }: EventData<'StepScored'>): void {
    const label = outcomes.get(rollout)
    if (label === undefined) return
    const of = judged.get(iteration) ?? { process: [], outcome: [] }
    judged.set(iteration, of)
    const scores = judgements.map(({ score }) => score)
    of.outcome.push({ scores, label })
    if (progress !== null) of.process.push({ scores, label: progressLabel(progress) })
  }

  return {
    rollouts,
    steps,
    judge: [...judged].map(([iteration, { process, outcome }]) => ({
      iteration,
      process: process.length === 0 ? null : judgeQuality(process).single.balanced,
      outcome: judgeQuality(outcome).single.balanced,
      meanVerdict: judgeQuality(outcome).meanVerdict,
    })),
  }
}
