import { runFolder } from '../broker/connection.ts'
import { inLine, parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { changeConfig, loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { loadRules } from '../learning/registry.ts'
import { checkChild, openChildStream } from '../replay/child-stream.ts'
import { type Rescore, rescore } from '../replay/rescore.ts'
import { rescoreAll } from '../replay/rescore-all.ts'
import { type CreditOptions, creditBook, drawnCredits } from '../replay/rule-credit.ts'
import type { Continuation, StepCredit } from '../replay/whatif.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'
import { ruleLines } from './rescore-rules.ts'

export const command: Command = {
  summary: 'rewards, advantages and acceptance of a run under other rules',
  help: `
rl rescore RUN --set KEY=VALUE... [-n N] [--json]   e.g. --set learning.lambda=0.5 --set adaptation.evidence=bayes
rl rescore RUN --rules all [--set learning.module=MODULE] [--json]
rl rescore RUN --rules all --branch K [--steps N] [--seed S] [--as ID]

Works from the stored votes, without any model. Lists groups with a step whose advantage changed its sign (or became or
ceased to be 0), and candidates with another decision. -n limits both lists (20), and --json lists all. --set takes the
keys that votes and outcomes tell something about: of learning, adaptation and rewardModel. Others are refused, each with the
reason. A key that is taken and changes no figure of this run is named in the last line. push is the sum of all advantages
without their signs. Consequences of another decision are not played: rl fork does that.

--rules all asks every rule of docs/rules.md, and those of your module, one at a time in the place of the run's own. It tells
the shares of steps whose advantage changed and turned its sign, the correlation with the advantages of the run, the part of
the rewards' variance that comes from scores of steps, what a step gains by coming one turn later, the correlation with true
progress, and candidates that are decided otherwise. A second table has the rules of what is played: groups that they would have
asked for, and those among them that the run did not ask for in that way. Rollouts that nobody played stay unknown. A rule that
reads what the log has not is named with what it misses. The last line is rules=N steps=N refused=N: refused are rules that cannot
stand in the config of the run.

--branch K holds the rules to what steps were truly worth. N steps (16) of rollouts that trained the policy are drawn by S (1).
Each is gone on from K times after its action, and K times with the policy choosing there, as rl whatif does, by the version that
played it. The table then has the correlation of each rule's advantages with the difference in success. Its interval is wide
if N is small. The continuations are kept in a child run (ID, or RUN-whatif). A run whose setting is not deterministic, or
whose episodes do not come out as recorded, is refused by name.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          set: { type: 'string', multiple: true },
          rules: { type: 'string' },
          branch: { type: 'string' },
          steps: { type: 'string' },
          seed: { type: 'string' },
          as: { type: 'string' },
          lines: { type: 'string', short: 'n', default: '20' },
          json: { type: 'boolean', default: false },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    const { rules, set = [] } = values
    if (run === undefined || (set.length === 0 && rules === undefined))
      throw new RlError('expected a run, and --set or --rules all', {
        code: 'cli.usage',
        hint: 'rl rescore --help',
      })
    if (rules !== undefined && rules !== 'all')
      throw new RlError(`--rules ${rules}: there is all alone`, {
        code: 'cli.usage',
        hint: `one rule: --set learning.reward=${rules}`,
      })
    if (values.branch !== undefined && rules === undefined)
      throw new RlError('--branch goes with --rules all', { code: 'cli.usage', hint: 'rl rescore --help' })
    const useless = (['steps', 'seed', 'as'] as const).find((name) => values[name] !== undefined)
    if (values.branch === undefined && useless !== undefined)
      throw new RlError(`--${useless} goes with --branch`, { code: 'cli.usage', hint: 'rl rescore --help' })
    const limit = wholeNumber('--lines', values.lines ?? '20')
    const branches = values.branch === undefined ? 0 : wholeNumber('--branch', values.branch, 1)
    const log = await openRun(run, { trust: values.trust, acts: branches > 0 })
    try {
      await loadRules(changeConfig(loggedConfig(startsOf(log).last.data.config), set))
      const started = performance.now()
      const secondsSince = () => (performance.now() - started) / 1000
      if (rules !== undefined) {
        const credits =
          branches === 0
            ? []
            : await creditsInChild(log, values.as ?? `${run.slice(0, 25)}-whatif`, {
                branches,
                steps: wholeNumber('--steps', values.steps ?? '16', 1),
                seed: wholeNumber('--seed', values.seed ?? '1'),
              })
        const found = rescoreAll(log, set, creditBook(credits))
        const seconds = secondsSince()
        if (values.json) printJson({ run, set, seconds, ...(branches > 0 ? { credits } : {}), ...found })
        else for (const line of ruleLines(found, seconds, credits.length)) printLine(line)
        return 0
      }
      const result = rescore(log, set)
      const seconds = secondsSince()
      if (values.json) printJson({ run, set, seconds, ...result })
      else for (const line of lines(result, seconds, limit)) printLine(line)
    } finally {
      log.close()
    }
    return 0
  },
}

/** Measures drawn steps. The continuations are kept in a child run. */
async function creditsInChild(
  log: LogReader,
  child: string,
  options: Omit<CreditOptions, 'onContinuation'>,
): Promise<readonly StepCredit[]> {
  const folder = runFolder(child)
  checkChild(log, folder)
  const kept: Continuation[] = []
  const credits = await drawnCredits(log, { ...options, onContinuation: (one) => kept.push(one) })
  // A refused call must leave no child run behind.
  const stream = openChildStream(log, folder)
  try {
    for (const continuation of kept) stream.add(continuation)
  } finally {
    stream.close()
  }
  return credits
}

function lines(result: Rescore, seconds: number, limit: number): string[] {
  const { iterations, trajectories, steps, decisions, moved, before, after, changed, flipped } = result
  const turned = changed.filter((group) => group.turned > 0)
  return [
    `${iterations} iterations, ${trajectories} trajectories, ${steps} steps, ${decisions} decisions in ${seconds.toFixed(2)} s`,
    `tasks trained  ${before.tasksTrained} | ${after.tasksTrained}`,
    `trained steps  ${before.trainedSteps} | ${after.trainedSteps}`,
    `push           ${before.push.toFixed(1)} | ${after.push.toFixed(1)}`,
    `accepted       ${before.accepted} | ${after.accepted}`,
    `${turned.length} groups have steps whose advantage turned its sign, ${changed.length - turned.length} more have steps switched on or off`,
    `${moved} steps are pushed as before, harder or softer`,
    ...turned
      .slice(0, limit)
      .map(
        ({ iteration, slot, task, turned, steps }) =>
          `  ${iteration}/${slot} ${task}: ${turned} of ${steps} steps turned`,
      ),
    `${flipped.length} candidates are decided otherwise`,
    ...flipped
      .slice(0, limit)
      .map(
        ({ iteration, slot, task, before, after }) =>
          `  ${iteration}/${slot} ${task}: ${word(before.accepted)} (${before.reason}), now ${word(after.accepted)} (${after.reason})`,
      ),
    ...result.idle.map((word) => `no figure of this run follows from ${inLine(word)}`),
  ]
}

function word(accepted: boolean): string {
  return accepted ? 'accepted' : 'rejected'
}
