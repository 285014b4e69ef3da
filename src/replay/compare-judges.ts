/** Two versions of the reward model on the same logged steps: how good each is, and which verdicts flip. The policy is never asked. */

import type { JobOf, JudgeRollouts } from '../actors/decider/jobs.ts'
import { openRewardModelWorker } from '../actors/reward-model/worker.ts'
import { type JobContext, performJob } from '../actors/runtime/worker.ts'
import type { Config } from '../config.ts'
import { openSetting } from '../environments/open.ts'
import type { OpenSetting } from '../environments/setting.ts'
import { RlError } from '../errors.ts'
import type { EventData } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { offlineLog } from '../events/offline-log.ts'
import { itemAt } from '../item-at.ts'
import { type Estimate, wilson } from '../learning/interval.ts'
import { judgeQuality, type LabelledStep } from '../learning/judge-quality.ts'
import { progressLabel } from '../learning/progress-labels.ts'
import { rng, seedOf } from '../random.ts'
import { configAt } from './config-at.ts'
import { ofType, trajectoryOf } from './why.ts'

type Scored = EventData<'StepScored'>

/** Majority of the m verdicts on a step. `undecided`: as many good as bad ones. */
export const VERDICTS = ['bad', 'undecided', 'good'] as const
type Vote = (typeof VERDICTS)[number]

type FlippedStep = {
  readonly rollout: string
  readonly step: number
  readonly action: string
  readonly a: Vote
  readonly b: Vote
  /** True progress of the step. Null if the environment cannot tell. */
  readonly progress: number | null
  /** The first cause that each version named. */
  readonly critiques: readonly [a: string, b: string]
}

export type JudgeComparison = {
  readonly a: number
  readonly b: number
  readonly rollouts: number
  readonly steps: number
  /** Steps by verdict of a (rows) and b (columns), in order of `VERDICTS`. */
  readonly matrix: readonly (readonly number[])[]
  /** Share of the steps on which the two do not agree. */
  readonly flips: Estimate
  /** Share of verdicts that agree with true progress, over the steps whose progress is known. */
  readonly right: { readonly a: Estimate; readonly b: Estimate } | null
  /**
   * Balanced accuracy of single verdicts against true progress (null if none is known) and against outcomes.
   */
  readonly process: Both | null
  readonly outcome: Both
  readonly flipped: readonly FlippedStep[]
}

type Both = { readonly a: number; readonly b: number }

export type CompareJudgesOptions = {
  readonly a: number
  readonly b: number
  /** Rollouts of the probe set. */
  readonly rollouts: number
  /** Uses only rollouts of evaluation, on which nothing was trained. The run need not have judged them. */
  readonly heldOut?: boolean
  /** Draws the probe set: equal seeds give the same steps, and both versions the same random draws. */
  readonly seed: number
}

/** @throws RlError `compare-judges.no-weights`, `setting.simulated`, `compare-judges.no-version`, `compare-judges.no-rollouts` */
export async function compareJudges(log: LogReader, options: CompareJudgesOptions): Promise<JudgeComparison> {
  const config = configAt(log, log.head().position)
  const { mode, provider } = config.rewardModel
  if (mode !== 'off' && provider === 'environment')
    throw new RlError(
      `the judge of run '${log.run}' is the setting's own estimate, the same in all versions`,
      {
        code: 'compare-judges.no-weights',
        hint: 'compare the versions of a judge that learns: rewardModel.provider local or torch',
      },
    )
  const opened = await openSetting(config)
  try {
    return await compareIn(opened, log, config, options)
  } finally {
    // Programs that the environment started to measure progress would keep the process alive.
    await opened.environment.close?.()
  }
}

async function compareIn(
  opened: OpenSetting,
  log: LogReader,
  config: Config,
  { a, b, rollouts, heldOut = false, seed }: CompareJudgesOptions,
): Promise<JudgeComparison> {
  for (const version of [a, b])
    if (log.positionOf('key', `RewardModelUpdated/${version}`) === null)
      throw new RlError(`run '${log.run}' has no version ${version} of the reward model`, {
        code: 'compare-judges.no-version',
        hint: 'rl why RUN version reward-model/0 tells of the first',
      })
  const probe = probeOf(log, { rollouts, heldOut, seed })
  if (probe.length === 0)
    throw new RlError(`run '${log.run}' has no ${heldOut ? 'rollouts of evaluation' : 'judged rollouts'}`, {
      code: 'compare-judges.no-rollouts',
      hint: heldOut
        ? 'omit --held-out, or play a run with evaluation.splits'
        : 'they come with its first iteration',
    })
  const client = offlineLog(log)
  const { worker } = await openRewardModelWorker(config, opened, client)
  const context: JobContext = {
    get bus() {
      return client.bus
    },
    log: client,
    run: log.run,
    actor: 'reward-model/probe',
    signal: new AbortController().signal,
    attempt: 1,
    event: null,
    beginWait: () => () => {},
  }

  async function judge(version: number, { rollout, iteration, slot, task, steps }: Probe): Promise<Scored[]> {
    const input: JudgeRollouts = {
      iteration,
      slot,
      task,
      rewardModelVersion: version,
      rollouts: [{ rollout, steps, seed: seedOf(seed, 'probe', rollout) }],
    }
    const job: JobOf<'judge'> = {
      kind: 'judge',
      done: `TrajectoryJudged/${rollout}`,
      input,
      deadlineMs: config.run.deadlines.scoringSeconds * 1000,
    }
    const events = await performJob(worker, job, context)
    return events.flatMap(({ type, data }) => (type === 'StepScored' ? [data] : []))
  }

  /** An iteration's trajectories at a time: a worker reads them once. */
  async function judgeAll(version: number): Promise<Scored[]> {
    const scored: Scored[] = []
    for (const iteration of new Set(probe.map(({ iteration }) => iteration))) {
      const members = probe.filter((one) => one.iteration === iteration)
      scored.push(...(await Promise.all(members.map((one) => judge(version, one)))).flat())
    }
    return scored
  }

  try {
    return compare(log, { a, b, rollouts: probe.length }, await judgeAll(a), await judgeAll(b))
  } finally {
    await worker.close?.()
  }
}

type Probe = Pick<EventData<'TrajectoryCompleted'>, 'rollout' | 'iteration' | 'slot' | 'task'> & {
  readonly steps: number
}

/** Some of the trajectories that were judged in the run, or of those held out, in order of the log. */
function probeOf(
  log: LogReader,
  { rollouts, heldOut, seed }: Pick<CompareJudgesOptions, 'rollouts' | 'heldOut' | 'seed'>,
): Probe[] {
  const known = heldOut ? heldOutIn(log) : judgedIn(log)
  const drawn = rng(seedOf(seed, 'probe'))
    .shuffle(known.map((_, index) => index))
    .slice(0, rollouts)
  return drawn.sort((a, b) => a - b).map((index) => itemAt(known, index))
}

function judgedIn(log: LogReader): Probe[] {
  return ofType(log, 'TrajectoryJudged').map(({ data }) => {
    const { rollout, iteration, slot, task } = data
    const { good, bad, undecided } = data.steps
    return { rollout, iteration, slot, task, steps: good + bad + undecided }
  })
}

/** Trajectories of evaluation. A run need not have judged them. */
function heldOutIn(log: LogReader): Probe[] {
  const played: Probe[] = []
  for (const { data } of log.events({ types: ['TrajectoryCompleted'] })) {
    const { purpose, rollout, iteration, slot, task, steps } = data
    if (purpose === 'evaluation' && steps > 0) played.push({ rollout, iteration, slot, task, steps })
  }
  return played
}

function compare(
  log: LogReader,
  versions: Pick<JudgeComparison, 'a' | 'b' | 'rollouts'>,
  ofA: readonly Scored[],
  ofB: readonly Scored[],
): JudgeComparison {
  const counts = new Map<string, number>()
  const flipped: FlippedStep[] = []
  const right = { a: 0, b: 0, known: 0 }
  for (const [i, one] of ofA.entries()) {
    const other = itemAt(ofB, i)
    const [a, b] = [verdictOf(one), verdictOf(other)]
    counts.set(`${a}/${b}`, (counts.get(`${a}/${b}`) ?? 0) + 1)
    const { rollout, step, progress } = one
    if (progress !== null) {
      right.known++
      if (agrees(a, progress)) right.a++
      if (agrees(b, progress)) right.b++
    }
    if (a === b) continue
    const action = trajectoryOf(log, rollout)?.data.actions[step] ?? ''
    flipped.push({
      rollout,
      step,
      action,
      a,
      b,
      progress,
      critiques: [firstCause(one, a), firstCause(other, b)],
    })
  }
  return {
    ...versions,
    steps: ofA.length,
    matrix: VERDICTS.map((a) => VERDICTS.map((b) => counts.get(`${a}/${b}`) ?? 0)),
    flips: wilson(flipped.length, ofA.length),
    process: right.known === 0 ? null : balancedAccuracy(ofA, ofB, progressOf),
    outcome: balancedAccuracy(ofA, ofB, ({ rollout }) => outcomeOf(log, rollout)),
    right: right.known === 0 ? null : { a: wilson(right.a, right.known), b: wilson(right.b, right.known) },
    flipped,
  }
}

type LabelOf = (step: Scored) => LabelledStep['label']

function balancedAccuracy(ofA: readonly Scored[], ofB: readonly Scored[], label: LabelOf): Both {
  const of = (steps: readonly Scored[]) =>
    judgeQuality(
      steps.map((step) => ({ scores: step.judgements.map(({ score }) => score), label: label(step) })),
    ).single.balanced
  return { a: of(ofA), b: of(ofB) }
}

const progressOf: LabelOf = ({ progress }) => (progress === null ? null : progressLabel(progress))

function outcomeOf(log: LogReader, rollout: string): LabelledStep['label'] {
  const outcome = trajectoryOf(log, rollout)?.data.outcome
  return outcome?.kind === 'scored' ? (outcome.success ? 1 : -1) : null
}

function verdictOf({ judgements }: Scored): Vote {
  const sum = judgements.reduce((total, { score }) => total + score, 0)
  return itemAt(VERDICTS, 1 + Math.sign(sum))
}

/** A tie agrees with nothing. */
function agrees(verdict: Vote, progress: number): boolean {
  return verdict === (progressLabel(progress) > 0 ? 'good' : 'bad')
}

/** Returns the text of the first judgement that voted with the majority. */
function firstCause({ judgements }: Scored, verdict: Vote): string {
  return judgements.find(({ score }) => VERDICTS[1 + score] === verdict)?.critique ?? ''
}
