import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import type { Estimate } from '../learning/interval.ts'
import { diffRuns, type RunDiff } from '../replay/diff.ts'
import type { Command } from './command.ts'
import { openRunToRead } from './open-run.ts'

export const command: Command = {
  summary: 'the first difference of two runs, and their figures side by side',
  help: `
rl diff A B [--json]

Prints the keys of the config that differ, the first fact that is not in both, and success and steps of rollouts in
pairs. A pair has the same task and seed in both runs. n counts tasks, intervals are 95 % (Student's t over the pairs).
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      { options: { json: { type: 'boolean', default: false } }, allowPositionals: true },
      argv,
    )
    const [first, second] = positionals
    if (first === undefined || second === undefined)
      throw new RlError('expected two runs', { code: 'cli.usage', hint: 'rl diff --help' })
    const a = openRunToRead(first)
    const b = openRunToRead(second)
    try {
      const diff = diffRuns(a, b)
      if (values.json) printJson({ a: first, b: second, ...diff })
      else for (const line of lines(diff, first, second)) printLine(line)
    } finally {
      a.close()
      b.close()
    }
    return 0
  },
}

function lines({ shared, config, divergence, figures, unpaired }: RunDiff, a: string, b: string): string[] {
  const parted = divergence
    ? `they part at ${divergence.key} (position ${divergence.a ?? '-'} and ${divergence.b ?? '-'}): ${divergence.what}`
    : 'they hold the same facts'
  return [
    `${a} and ${b} share ${shared} events; ${parted}`,
    ...config.map((entry) => `config ${entry.key}: ${JSON.stringify(entry.a)} | ${JSON.stringify(entry.b)}`),
    ...figures.map(
      (figure) =>
        `${figure.group.padEnd(26)} ${figure.metric.padEnd(8)} ${figure.a.value.toFixed(3)} | ${figure.b.value.toFixed(3)}  difference ${interval(figure.difference)} n ${figure.difference.n}`,
    ),
    ...unpaired.map(
      ({ group, rollouts }) =>
        `${group.padEnd(26)} in no pair: ${rollouts} rollouts without an outcome in one of the runs`,
    ),
  ]
}

function interval({ value, low, high, n }: Estimate): string {
  const text = `${value >= 0 ? '+' : ''}${value.toFixed(3)}`
  return n < 2 ? text : `${text} [${low.toFixed(3)}, ${high.toFixed(3)}]`
}
