import { inLine, parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { changeConfig, loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import { startsOf } from '../events/starts.ts'
import { loadRules } from '../learning/registry.ts'
import { type Audit, audit } from '../replay/audit.ts'
import { auditPlanted, plantedCounts, plantedLine } from './audit-planted.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'

export const command: Command = {
  summary: 'rewards of a run that can be gamed, each confirmed by a rescore',
  help: `
rl audit --planted [--seed S] [-n N] [--json]
rl audit RUN [--set KEY=VALUE...] [--json]   e.g. rl audit r1, or under another rule: rl audit r1 --set learning.reward=gated

Works from the stored votes, without any model. Looks for steps without effect that earn more than others, scores that
follow from the turn or from the length of an action, longer rollouts that earn more, scores that are all alike or one
a rollout, scores against the outcome or against true progress, successes that earn less than failures, one part of the
reward that outweighs the other, few steps that hold all of it, and tasks that pay for nothing.

Each suspicion is looked at again under the keys that take its cause away. It is a finding only if it is gone there, or
less than half. A finding has its numbers, the rollouts in which it shows most, and the keys. The last line is findings=N.
The exit status is 1 if there are findings, and 0 if there are none.

--planted measures the audit itself: it plays N short runs (10) whose rewards can be gamed, and N clean ones, and audits
all of them. -n is at most the number of planted rules. The last line is hacks=N found=N clean=N alarms=N. The audit
does not know which runs are planted. --seed draws other plants and other runs. --json prints one object at the end: the
counts, and of each run whether it was planted and what was found.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          set: { type: 'string', multiple: true },
          json: { type: 'boolean', default: false },
          planted: { type: 'boolean', default: false },
          seed: { type: 'string', default: '1' },
          count: { type: 'string', short: 'n', default: '10' },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    const { set = [] } = values
    if (values.planted) {
      if (run !== undefined || set.length > 0)
        throw new RlError(
          `--planted plays runs of its own, and takes no ${run === undefined ? '--set' : 'run'}`,
          {
            code: 'cli.usage',
            hint: 'rl audit --planted, or rl audit RUN',
          },
        )
      const [seed, count] = [
        wholeNumber('--seed', values.seed ?? ''),
        wholeNumber('-n', values.count ?? '', 1),
      ]
      const { json } = values
      const results = await auditPlanted(seed, count, ({ name, findings }) => {
        if (!json) printLine(`${name}: ${findings.join(', ') || 'no findings'}`)
      })
      const counts = plantedCounts(results)
      if (json) printJson({ seed, ...counts, runs: results })
      else printLine(plantedLine(counts))
      return 0
    }
    if (run === undefined) throw new RlError('expected a run', { code: 'cli.usage', hint: 'rl audit --help' })
    const log = await openRun(run, values)
    try {
      await loadRules(changeConfig(loggedConfig(startsOf(log).last.data.config), set))
      const onIteration = (iteration: number) => {
        if (process.stderr.isTTY) process.stderr.write(`\riteration ${iteration} read`)
      }
      const found = audit(log, { set, onIteration })
      if (process.stderr.isTTY) process.stderr.write('\n')
      if (values.json) printJson({ run, set, ...found })
      else for (const line of auditLines(run, found)) printLine(line)
      return found.findings.length > 0 ? 1 : 0
    } finally {
      log.close()
    }
  },
}

function auditLines(run: string, { rollouts, steps, findings, unconfirmed }: Audit): readonly string[] {
  return [
    `${rollouts} rollouts, ${steps} steps`,
    ...findings.flatMap(({ name, says, evidence, figure, without, set, rollouts }) => [
      '',
      `${name}: ${says}`,
      `  evidence   ${evidence}`,
      `  confirmed  ${figure.toFixed(3)} falls to ${without.toFixed(3)} with ${set.join(' ')}`,
      ...rollouts.map((rollout) => `  look at    rl why ${run} step ${inLine(rollout)}#0`),
      `  to set     ${set.map((key) => `--set ${key}`).join(' ')}`,
    ]),
    ...(unconfirmed.length > 0 ? ['', `suspected and not confirmed: ${unconfirmed.join(', ')}`] : []),
    `findings=${findings.length}`,
  ]
}
