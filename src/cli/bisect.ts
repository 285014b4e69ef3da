import { parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { type Bisect, bisect } from '../replay/bisect.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'

export const command: Command = {
  summary: 'which change of a simulated run caused a fall: a task, the reward model, a filter or the config',
  help: `
rl bisect RUN --metric METRIC --good ITERATION --bad ITERATION [--json]   e.g. --metric accuracy --good 4 --bad 9

METRIC is accuracy (of the training groups), skill, judge, or an evaluation split such as in-domain. What changed between
the two iterations is applied again, the first half of it, the first quarter, ..., on the simulated learner: the change
with which the fall comes is named after at most log2(changes) + 1 runs. Every figure is of the simulated learner.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          metric: { type: 'string' },
          good: { type: 'string' },
          bad: { type: 'string' },
          json: { type: 'boolean', default: false },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    const { metric, good, bad } = values
    if (run === undefined || metric === undefined || good === undefined || bad === undefined)
      throw new RlError('expected a run, --metric, --good and --bad', {
        code: 'cli.usage',
        hint: 'rl bisect --help',
      })
    const log = await openRun(run, values)
    try {
      const options = { metric, good: wholeNumber('--good', good), bad: wholeNumber('--bad', bad, 1) }
      const found = bisect(log, options)
      if (values.json) printJson({ run, ...found })
      else for (const line of lines(found)) printLine(line)
    } finally {
      log.close()
    }
    return 0
  },
}

function lines({ metric, good, bad, recorded, reference, changes, runs, cause }: Bisect): string[] {
  return [
    `${metric} fell from ${recorded.good.toFixed(4)} in iteration ${good} to ${recorded.bad.toFixed(4)} in ${bad}; simulated ${reference.toFixed(4)} without any of ${changes} changes`,
    ...runs.map(({ applied, value }) => `  simulated with the first ${applied}: ${value.toFixed(4)}`),
    `position ${cause.position}: ${cause.kind}, ${cause.what}`,
  ]
}
