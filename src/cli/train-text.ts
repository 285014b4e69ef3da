/** Texts of `rl train`: of a recording before it, and of the result after it. */
import { costText } from '../agents/cost.ts'
import type { Proof } from '../agents/proof.ts'
import { leftOutText, type Recording } from '../agents/recording.ts'
import { HELD_OUT } from '../agents/tasks.ts'
import { PAUSED, type Trained } from '../agents/train.ts'
import { runFolder } from '../broker/connection.ts'
import { forTerminal } from '../command-line.ts'
import { openLogReader } from '../events/log-reader.ts'
import { hasBegun } from '../events/starts.ts'
import { systemText } from '../learning/instructions.ts'

/** Returns what there is to learn from in a run. */
export function recordedText({ tasks, leftOut }: Recording, run: string): string {
  const rollouts = [...tasks.values()].flatMap((one) => one.rollouts)
  const won = rollouts.filter(({ value }) => value > 0.5).length
  const none =
    won === 0 ? '; nothing is imitated without a success, unless learning.advantage is weighted' : ''
  return `run ${run}: ${rollouts.length} rollouts of ${tasks.size} tasks to learn from, ${won} of them succeeded${none}${leftOutText(leftOut)}`
}

/** Tells what of the measurement has no grade. */
function leftText({ failed, ungraded }: Proof): readonly string[] {
  return [
    ...(failed > 0 ? [`${failed} of the measured rollouts failed in the agent, and count as 0`] : []),
    ...(ungraded > 0 ? [`${ungraded} of the measured rollouts have no grade, and are left out`] : []),
  ]
}

/** Returns the lines that end the command. */
export function resultLines(
  run: string,
  { status, proof, cost }: Trained,
  heldOut: number,
): readonly string[] {
  if (proof === null && status !== PAUSED && !hasBegun(runFolder(run).log)) return []
  if (proof === null)
    return ['', `  the same command with --run ${run} goes on`, `  look:  npm run -s rl -- ui ${run}`]
  const { verdict, before, after, difference, tasks, version } = proof
  const text = learnedText(run)
  const points = (share: number) => `${share >= 0 ? '+' : ''}${(100 * share).toFixed(0)}`
  const told =
    difference === null || before === null || after === null
      ? `not measured: ${heldOut > 0 ? 'no held-out task has an outcome both before and after' : 'no task is held out'}`
      : `${verdict}: ${HELD_OUT} ${before.toFixed(2)} -> ${after.toFixed(2)}, ${points(difference.value)} points [${points(difference.low)}, ${points(difference.high)}] over ${tasks} tasks`
  return [
    '',
    told,
    ...leftText(proof),
    ...(cost === null ? [] : [costText(cost)]),
    '',
    ...(text === null
      ? [`  serve it:           npm run -s rl -- serve ${run}@${verdict === 'worse' ? 0 : version}`]
      : ['what the model is told before each call:', '', ...text.split('\n').map((line) => `  ${line}`), '']),
    `  look at the run:    npm run -s rl -- ui ${run}`,
    `  explain a failure:  npm run -s rl -- why ${run} version policy/${version}`,
  ]
}

/** Returns the text that a run has learned, or null if it learns none. Terminals get no control characters. */
function learnedText(run: string): string | null {
  const log = openLogReader(runFolder(run).log)
  try {
    const newest = log.newest(['InstructionsChosen'])
    if (newest?.type !== 'InstructionsChosen') return null
    return forTerminal(systemText(newest.data)) || '(nothing)'
  } finally {
    log.close()
  }
}
