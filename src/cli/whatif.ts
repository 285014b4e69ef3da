import { runFolder } from '../broker/connection.ts'
import { inLine, parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import type { Estimate } from '../learning/interval.ts'
import { openChildStream } from '../replay/child-stream.ts'
import { recordedRollout } from '../replay/continue-from.ts'
import { creditAndVotes, creditsOf, drawSteps, type StepCredit } from '../replay/whatif.ts'
import { ofType } from '../replay/why.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'

export const command: Command = {
  summary: 'what a step was worth, by going on from it many times with and without it',
  help: `
rl whatif RUN/ROLLOUT --from STEP [--policy VERSION] [-n N] [--as ID] [--json]   e.g. rl whatif r1/3/train-00012/5 --from 4
rl whatif RUN --steps K [--policy VERSION] [-n N] [--seed S] [--as ID] [--json]

Brings the rollout's environment back to the step. Refuses if any observation differs from the recorded one. Then goes on
N times (16) after the recorded action, and N times with the policy choosing at that step too. The difference in success
is the causal credit of the step. --policy is a version of the policy (default: the newest). --steps draws K of the run's
judged steps, and correlates their credit with the reward model's votes. The continuations are kept in a child run (ID,
or RUN-whatif). RUN itself never changes.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          from: { type: 'string' },
          steps: { type: 'string' },
          policy: { type: 'string' },
          count: { type: 'string', short: 'n', default: '16' },
          seed: { type: 'string', default: '1' },
          as: { type: 'string' },
          json: { type: 'boolean', default: false },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run, ...rollout] = positionals.join('/').split('/')
    const one = rollout.length > 0
    if (!run || (one ? values.from : values.steps) === undefined)
      throw new RlError('expected RUN/ROLLOUT and --from, or RUN and --steps', {
        code: 'cli.usage',
        hint: 'rl whatif --help',
      })
    const n = wholeNumber('-n', values.count ?? '', 1)
    const child = values.as ?? `${run.slice(0, 25)}-whatif`
    const log = await openRun(run, { trust: values.trust, acts: true })
    try {
      const policyVersion =
        values.policy === undefined
          ? (ofType(log, 'PolicyUpdated').at(-1)?.data.version ?? 0)
          : wholeNumber('--policy', values.policy)
      const steps = one
        ? [{ rollout: rollout.join('/'), step: wholeNumber('--from', values.from ?? '') }]
        : drawSteps(
            log,
            wholeNumber('--steps', values.steps ?? '', 1),
            wholeNumber('--seed', values.seed ?? ''),
          )
      // A refused call must leave no child run behind.
      for (const { rollout, step } of steps) recordedRollout(log, rollout, step)
      if (steps.length === 0)
        throw new RlError(`run '${run}' has no judged steps`, {
          code: 'whatif.no-steps',
          hint: 'name a rollout and a step: rl whatif RUN/ROLLOUT --from STEP',
        })
      const stream = openChildStream(log, runFolder(child))
      try {
        const options = { policyVersion, n, onContinuation: stream.add }
        const credits = await creditsOf(log, steps, () => options)
        const votes = one ? null : creditAndVotes(credits)
        const added = stream.added()
        if (values.json) printJson({ run, policyVersion, n, credits, votes, child, added })
        else {
          for (const credit of credits) printLine(line(credit, policyVersion))
          if (!one) printLine(votesLine(votes))
          printLine(`${added} continuations added to run ${child}`)
        }
      } finally {
        stream.close()
      }
    } finally {
      log.close()
    }
    return 0
  },
}

function line(
  { rollout, step, action, succeeded, kept, open, credit, vote }: StepCredit,
  version: number,
): string {
  const voted = vote === null ? 'not judged' : `voted ${vote.toFixed(2)}`
  return [
    `${rollout}#${step} "${inLine(action)}" (${succeeded ? 'succeeded' : 'failed'}, ${voted})`,
    `  after it           ${figure(kept)}`,
    `  policy ${version} chooses   ${figure(open)}`,
    `  causal credit      ${figure(credit)}`,
  ].join('\n')
}

function votesLine(votes: Estimate | null): string {
  return votes === null
    ? 'credit or votes do not vary: there is no correlation'
    : `correlation of credit and votes ${figure(votes)}`
}

function figure({ value, low, high, n }: Estimate): string {
  return `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] n ${n}`
}
