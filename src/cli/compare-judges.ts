import { inLine, parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import type { Estimate } from '../learning/interval.ts'
import { compareJudges, type JudgeComparison, VERDICTS } from '../replay/compare-judges.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'

export const command: Command = {
  summary: 'two versions of the reward model on the same logged steps: which verdicts flip',
  help: `
rl compare-judges RUN --a VERSION --b VERSION [--rollouts K] [--held-out] [--seed S] [-n N] [--json]

Both versions judge all steps of the same K (64) logged rollouts, with the same random draws. The policy is not asked.
Prints three things: how often each verdict (the majority of the judgements) became another, how well each version
agrees with true progress and with outcomes (balanced accuracy of single verdicts), and the steps that flipped. -n limits
these steps (20), and --json lists all. Equal seeds draw the same rollouts. --held-out draws only from evaluation.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          a: { type: 'string' },
          b: { type: 'string' },
          rollouts: { type: 'string', default: '64' },
          'held-out': { type: 'boolean', default: false },
          seed: { type: 'string', default: '1' },
          lines: { type: 'string', short: 'n', default: '20' },
          json: { type: 'boolean', default: false },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    if (run === undefined || values.a === undefined || values.b === undefined)
      throw new RlError('expected a run, --a and --b', {
        code: 'cli.usage',
        hint: 'rl compare-judges --help',
      })
    const limit = wholeNumber('--lines', values.lines ?? '')
    const log = await openRun(run, { trust: values.trust, acts: true })
    try {
      const flips = await compareJudges(log, {
        a: wholeNumber('--a', values.a),
        b: wholeNumber('--b', values.b),
        rollouts: wholeNumber('--rollouts', values.rollouts ?? '', 1),
        heldOut: values['held-out'],
        seed: wholeNumber('--seed', values.seed ?? ''),
      })
      if (values.json) printJson({ run, ...flips })
      else for (const line of lines(flips, limit)) printLine(line)
    } finally {
      log.close()
    }
    return 0
  },
}

function lines(
  { a, b, rollouts, steps, matrix, flips, right, process, outcome, flipped }: JudgeComparison,
  limit: number,
): string[] {
  const row = (cells: readonly (string | number)[]) => cells.map((cell) => String(cell).padStart(12)).join('')
  return [
    `${steps} steps of ${rollouts} rollouts; rows: version ${a}, columns: version ${b}`,
    row(['', ...VERDICTS]),
    ...matrix.map((counts, i) => row([VERDICTS[i] ?? '', ...counts])),
    `flipped        ${figure(flips)}`,
    ...(right ? [`right by ${a}     ${figure(right.a)}`, `right by ${b}     ${figure(right.b)}`] : []),
    ...(process ? [`process        ${accuracies(process)}`] : []),
    `outcome        ${accuracies(outcome)}`,
    ...flipped
      .slice(0, limit)
      .map(
        ({ rollout, step, action, a, b, progress, critiques }) =>
          `  ${rollout}#${step} "${inLine(action)}": ${a} (${inLine(critiques[0])}), now ${b} (${inLine(critiques[1])})${progress === null ? '' : `; true progress ${progress.toFixed(2)}`}`,
      ),
  ]
}

function accuracies({ a, b }: JudgeComparison['outcome']): string {
  return `${a.toFixed(3)}, now ${b.toFixed(3)} (balanced accuracy)`
}

function figure({ value, low, high, n }: Estimate): string {
  return `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] n ${n}`
}
