import { inLine, parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { askPolicy, type PolicyAnswer } from '../replay/ask.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'

/** Most answers that are drawn at once. */
const MOST_DRAWS = 1_000

export const command: Command = {
  summary: 'what a policy would do at a step of a rollout, with the probability of each choice',
  help: `
rl ask RUN/ROLLOUT --step N [--policy VERSION] [-n DRAWS] [--json]   e.g. rl ask r1/3/train-00012/5 --step 4

Brings the rollout's environment back to the step. Refuses if any observation differs from the recorded one. Then asks the
policy (default: the version that played the rollout) for the probability of each admissible action, at the temperature of
the run and before any cut. Prints the entropy in nats too. * marks the recorded action. A policy without a closed list of
choices is refused, unless -n says how many answers to draw and count. Nothing is written.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          step: { type: 'string' },
          policy: { type: 'string' },
          draws: { type: 'string', short: 'n' },
          json: { type: 'boolean', default: false },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run, ...rollout] = positionals.join('/').split('/')
    if (!run || rollout.length === 0 || values.step === undefined)
      throw new RlError('expected RUN/ROLLOUT and --step', { code: 'cli.usage', hint: 'rl ask --help' })
    const step = wholeNumber('--step', values.step)
    const draws = values.draws === undefined ? undefined : wholeNumber('-n', values.draws, 1)
    if (draws !== undefined && draws > MOST_DRAWS)
      throw new RlError(`-n ${draws}: at most ${MOST_DRAWS}`, { code: 'cli.usage' })
    const policyVersion = values.policy === undefined ? undefined : wholeNumber('--policy', values.policy)
    const log = await openRun(run, { trust: values.trust, acts: true })
    try {
      const answer = await askPolicy(log, { rollout: rollout.join('/'), step }, { policyVersion, draws })
      if (values.json) printJson({ run, ...answer })
      else for (const line of linesOf(answer)) printLine(line)
    } finally {
      log.close()
    }
    return 0
  },
}

function linesOf({ rollout, step, policyVersion, choices, entropy, draws }: PolicyAnswer): string[] {
  const how = draws === null ? `${choices.length} choices` : `${draws} drawn answers`
  return [
    `${rollout}#${step}: policy ${policyVersion}, ${how}, entropy ${entropy.toFixed(3)}`,
    ...choices.map(({ action, probability, count, recorded }) => {
      const counted = count === null ? '' : ` ${String(count).padStart(4)}`
      return `${recorded ? '*' : ' '} ${probability.toFixed(4)}${counted}  ${inLine(action)}`
    }),
  ]
}
