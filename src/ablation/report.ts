/** The report of an ablation: tables in Markdown, curves as SVG. */
import { inLine } from '../command-line.ts'
import type { Estimate } from '../learning/interval.ts'
import { adviceOf } from './advice.ts'
import { contrastsOf } from './contrasts.ts'
import { growthCurve, learningCurves } from './plots.ts'
import { ablationKey, baseConfig, contrastIn, type Results } from './results.ts'
import type { Row } from './row.ts'
import { CHOICE_NAMES, type Choice, SETTING_NAMES, SETTINGS, type Setting, STALE_NAMES } from './settings.ts'
import {
  adapting,
  COOLER,
  coolerSuccess,
  difference,
  type Figure,
  firstSuccess,
  growthFit,
  growthSlope,
  judgeFigure,
  lastSuccess,
  meanOf,
  ofSetting,
  rise,
  riseOnTheSame,
  settingsIn,
  splitsIn,
} from './summary.ts'
import type { WrittenTests } from './written-tests.ts'

/** Files by name: ablation.md and the curves that it shows. */
export function reportFiles(results: Results): Readonly<Record<string, string>> {
  const { rows } = results
  const [split] = splitsIn(rows)
  if (split === undefined) return { 'ablation.md': page(results, []) }
  const growth = adapting(rows).length > 0
  return {
    'ablation.md': page(results, [
      '## Learning curves',
      `![success by iteration](ablation-learning.svg)`,
      ...(growth ? ['![accepted tasks by iteration](ablation-growth.svg)'] : []),
    ]),
    'ablation-learning.svg': learningCurves(rows, split),
    ...(growth ? { 'ablation-growth.svg': growthCurve(rows) } : {}),
  }
}

function page(results: Results, curves: readonly string[]): string {
  const { rows } = results
  return `${[
    '# Ablation: what each part of the loop is worth',
    '<!-- Written by rl ablate from ablation.json. -->',
    introduction(results),
    '## Held-out success',
    successTable(rows),
    '## Paired differences',
    `${naming(results)}\n${CONTRASTS}`,
    contrastTable(results),
    ...advice(results),
    ...curves,
    ...judgeSection(rows),
    ...growthSection(rows),
    ...writtenTestsSection(rows),
    ...choicesSection(rows),
    ...stalenessSection(rows),
    '## How it was made',
    provenance(results),
  ].join('\n\n')}\n`
}

function introduction({ rows, command }: Results): string {
  const seeds = new Set(rows.map(({ seed }) => seed))
  return [
    `\`${plain(command)}\` began these ${rows.length} runs, with seeds ${[...seeds].sort((a, b) => a - b).join(', ') || 'none'}. "How it was made" gives config, code and machine.`,
    '',
    'All settings of a seed share training tasks, test tasks, cold starts and random draws. Every iteration plays the same number of',
    'rollouts: candidates take the place of training tasks. The last evaluation counts, not the best. Brackets hold 95 % intervals',
    '(Student over seeds), and n counts seeds. With one seed there is no interval.',
  ].join('\n')
}

/** Costs of a run, in the order of the table's columns. */
const COSTS: readonly Figure[] = [
  ({ rollouts }) => rollouts,
  ({ steps }) => steps,
  ({ costs }) => costs?.labelled ?? null,
  ({ costs }) => costs?.demonstrations ?? null,
  ({ costs }) => costs?.tokens ?? null,
  ({ processorSeconds }) => processorSeconds,
  ({ seconds }) => seconds,
]

function has(rows: readonly Row[], split: string): boolean {
  return rows.some((row) => coolerSuccess(split)(row) !== null)
}

function successTable(rows: readonly Row[]): string {
  const splits = splitsIn(rows)
  return table(
    [
      'setting',
      'n',
      ...splits.flatMap((split) => [`${split}, start`, `${split}, end`]),
      ...splits.flatMap((split) => (has(rows, split) ? [`${split} at ${COOLER}`] : [])),
      'rollouts',
      'steps',
      'labelled',
      'demonstrations',
      'tokens',
      'processor seconds',
      'seconds',
    ],
    settingsIn(rows).map((setting) => {
      const own = ofSetting(rows, setting)
      return [
        setting,
        own.length,
        ...splits.flatMap((split) => [
          text(meanOf(own, firstSuccess(split))),
          text(meanOf(own, lastSuccess(split))),
        ]),
        ...splits.flatMap((split) => (has(rows, split) ? [text(meanOf(own, coolerSuccess(split)))] : [])),
        ...COSTS.map((cost) => costText(meanOf(own, cost), own.length)),
      ]
    }),
  )
}

/** Older rows tell fewer costs. */
function costText(cost: Estimate | null, rows: number): string {
  if (cost === null) return '-'
  return cost.n < rows ? `${cost.value.toFixed(0)} (n ${cost.n})` : cost.value.toFixed(0)
}

const CONTRASTS = [
  'Success at the end: second setting minus first, over the seeds that both have. The contrast in bold has',
  'a 95 % interval. The others are tested together by Holm: their limits have the level of their step, so 5 % is the chance of any false',
  'claim among them. A claim holds if its whole interval lies above 0. The deviation of pairs counts as at least that of independent',
  'shares. "Found at 80 %" is the smallest true difference that four of five such ablations tell from nothing, one claim at a time.',
].join('\n')

function naming({ config }: Results): string {
  return contrastIn(config) === null
    ? 'This file names no contrast. The one in bold, if any, is the one that its regime names now.'
    : 'The contrast in bold was named in the config before the runs.'
}

function contrastTable(results: Results): string {
  return table(
    ['claim', 'split', 'metric', 'difference', 'n', 'p', 'found at 80 %', 'verdict'],
    contrastsOf(results).map(
      ({ base, added, split, metric, primary, difference: found, p, found80, verdict }) => [
        claimOf(base, added, primary),
        split,
        metric,
        signed(found),
        found.n,
        p === null ? '-' : p < 0.001 ? '< .001' : p.toFixed(3),
        found80 === null ? '-' : found80.toFixed(3),
        found.n < 3 ? `not to be told from ${found.n} pair${found.n === 1 ? '' : 's'}` : verdict,
      ],
    ),
  )
}

function claimOf(base: Setting, added: Setting, primary: boolean): string {
  const pair = base === added ? added : `${base} < ${added}`
  return primary ? `**${pair}**` : pair
}

function advice(results: Results): readonly string[] {
  const text = adviceOf(results)
  return text === null ? [] : ['## Advice', text]
}

function judgeSection(rows: readonly Row[]): readonly string[] {
  const judging = settingsIn(rows).filter((setting) =>
    ofSetting(rows, setting).some(({ judge }) => judge.length > 0),
  )
  if (judging.length === 0) return []
  const figures: readonly (readonly [string, Figure, (estimate: Estimate | null) => string])[] = [
    ['process, start', judgeFigure('process', 'first'), text],
    ['process, end', judgeFigure('process', 'last'), text],
    ['process, rise', rise(judgeFigure('process', 'first'), judgeFigure('process', 'last')), signed],
    ['outcome, start', judgeFigure('outcome', 'first'), text],
    ['outcome, end', judgeFigure('outcome', 'last'), text],
    ['mean verdict, end', judgeFigure('meanVerdict', 'last'), signed],
    ['process, rise on the same', riseOnTheSame('process'), signed],
    ['outcome, rise on the same', riseOnTheSame('outcome'), signed],
  ]
  return [
    '## Reward model',
    [
      'Figures are the balanced accuracy of single verdicts on held-out rollouts. "Process" compares them with true progress of the step,',
      '"outcome" with the result of its rollout. The rollouts are those of the policy at that time. So the fixed judge of `policy` shows',
      'what a change of rollouts alone does. "On the same" asks the first and the last judge of a run about the same evaluation rollouts,',
      'of its start and its end.',
    ].join('\n'),
    table(
      ['setting', 'n', ...figures.map(([name]) => name)],
      judging.map((setting) => {
        const own = ofSetting(rows, setting)
        return [setting, own.length, ...figures.map(([, figure, shown]) => shown(meanOf(own, figure)))]
      }),
    ),
  ]
}

function growthSection(rows: readonly Row[]): readonly string[] {
  const own = adapting(rows).flatMap((setting) => ofSetting(rows, setting))
  if (own.length === 0) return []
  const measured = own.flatMap(({ confirmed }) => confirmed ?? [])
  const [first] = measured
  const sum = (pick: (one: (typeof measured)[number]) => number) =>
    measured.reduce((total, one) => total + pick(one), 0)
  return [
    '## Task adaptation',
    table(
      ['setting', 'seed', 'accepted', 'an iteration', 'R² of the line', 'confirmed'],
      own.map((row) => [
        row.setting,
        row.seed,
        row.accepted.at(-1) ?? 0,
        growthSlope(row)?.toFixed(2) ?? '-',
        growthFit(row)?.toFixed(3) ?? '-',
        row.confirmed === null ? '-' : `${row.confirmed.confirmed} of ${row.confirmed.accepted}`,
      ]),
    ),
    first === undefined
      ? 'Acceptances were not measured again; `rl eval --accepted RUN` does it.'
      : [
          `Parent and candidate were measured again with ${first.rollouts} rollouts each. The policy that measured them first played.`,
          `Of all acceptances, ${sum(({ confirmed }) => confirmed)} of ${sum(({ accepted }) => accepted)} hold (${percent(
            sum(({ confirmed }) => confirmed),
            sum(({ accepted }) => accepted),
          )}). Of those that \`adaptation.evidence: bayes\` would have made too,`,
          `${sum(({ evidentConfirmed }) => evidentConfirmed)} of ${sum(({ evident }) => evident)} hold (${percent(
            sum(({ evidentConfirmed }) => evidentConfirmed),
            sum(({ evident }) => evident),
          )}).`,
        ].join('\n'),
  ]
}

/** How much of what a choice among the programs can gain the written tests gain. */
function writtenTestsSection(rows: readonly Row[]): readonly string[] {
  const lines = settingsIn(rows).flatMap((setting) => {
    const own = ofSetting(rows, setting)
    return splitsIn(rows).flatMap((split) => {
      const told = (figure: (tests: WrittenTests[number]) => number | null) =>
        meanOf(own, ({ writtenTests }) => {
          const found = writtenTests?.find((one) => one.split === split)
          return found === undefined ? null : figure(found)
        })
      const plain = told((tests) => tests.plain)
      if (plain === null) return []
      const figures = [
        ...[plain, told(({ bestOfN }) => bestOfN), told((tests) => tests.unitTestTasks / tests.tasks)],
        told(({ unitTest }) => unitTest),
      ]
      return [[setting, split, plain.n, ...figures.map(text)]]
    })
  })
  if (lines.length === 0) return []
  return [
    '## Written tests',
    [
      'Shares at the last evaluation: of right programs, and of tasks whose program with the most passed written tests is right. No choice',
      'can gain more than the share of tasks with a right program among all. The last column is the share of right tests for these tasks.',
    ].join('\n'),
    table(['setting', 'split', 'n', 'plain', 'best of N', 'a right one among N', 'right tests'], lines),
  ]
}

/**
 * Worth of the project's own choices. Each is set back to the published rule, in the setting with the whole
 * judge.
 */
function choicesSection(rows: readonly Row[]): readonly string[] {
  const chosen = 'policy+reward'
  const figures: readonly (readonly [string, Figure])[] = [
    ...splitsIn(rows).map((split) => [split, lastSuccess(split)] as const),
    ['judge, process, rise on the same', riseOnTheSame('process')],
  ]
  const lines = CHOICE_NAMES.flatMap((choice) =>
    figures.flatMap(([name, figure]) => {
      const found = difference(rows, chosen, choice, figure)
      return found === null ? [] : [[choice, changeOf(choice), name, signed(found), found.n]]
    }),
  )
  if (lines.length === 0) return []
  return [
    '## Choices against the published rules',
    `One choice of \`${chosen}\` is taken back to the published rule. Differences are to \`${chosen}\` as it is, over the seeds that both have.`,
    table(['setting', 'changed', 'figure', 'difference', 'n'], lines),
  ]
}

/** Ages and weights of settings that play with older policies. */
function stalenessSection(rows: readonly Row[]): readonly string[] {
  const shown = settingsIn(rows).filter((setting) => STALE_NAMES.some((name) => name === setting))
  if (shown.length === 0) return []
  return [
    '## Staleness',
    [
      'Age: policy versions between the one that played a rollout and the one that learned from it. An update ends early if the KL to the',
      'policy that played is above its limit. The effective sample size (Kish) is a share of the tokens, and "cut" is the share of tokens',
      'whose weight was above the limit.',
    ].join('\n'),
    table(
      ['setting', 'n', 'mean age', 'oldest', 'updates', 'ended early', 'effective', 'cut', 'seconds'],
      shown.map((setting) => {
        const own = ofSetting(rows, setting)
        const told = (figure: Figure, digits = 2) => meanOf(own, figure)?.value.toFixed(digits) ?? '-'
        return [
          ...[setting, own.length],
          told(({ staleness }) => staleness?.meanAge ?? null),
          told(({ staleness }) => staleness?.mostAge ?? null, 0),
          told(({ staleness }) => staleness?.updates ?? null, 1),
          told(({ staleness }) => staleness?.stopped ?? null, 1),
          told(({ staleness }) => staleness?.effectiveShare ?? null, 3),
          told(({ staleness }) => staleness?.weightsCutShare ?? null, 4),
          told(({ seconds }) => seconds, 0),
        ]
      }),
    ),
  ]
}

function changeOf(choice: Choice): string {
  const unchanged: readonly string[] = SETTINGS['policy+reward'].words
  return SETTINGS[choice].words.filter((word) => !unchanged.includes(word)).join(' ')
}

function provenance(results: Results): string {
  const { rows, command, machines } = results
  const config = baseConfig(results)
  const versions = [...new Set(rows.map(({ codeVersion }) => codeVersion))]
  const seconds = rows.reduce((sum, row) => sum + row.seconds, 0)
  return [
    `- command: \`${plain(command)}\``,
    `- config before a setting's changes: ablation ${ablationKey(results)}, in ablation.json`,
    `- size: ${config.run.steps === undefined ? `${config.run.iterations}` : `${config.run.steps} played steps, in`} iterations of ${config.environment.tasksPerIteration} tasks x ${config.environment.rolloutsPerTask} rollouts, ${config.evaluation.tasks ?? 'all'} test tasks a split`,
    `- regime: ${plain(results.regime ?? 'none, the config is its own')}`,
    `- tasks: seed N of a run has those of task seed ${results.taskSeed} + N`,
    `- code: ${plain(versions.join('; ')) || '-'}`,
    `- time: ${(seconds / 60).toFixed(0)} minutes of runs, several at a time, on ${plain(machines.join(' and ')) || 'a machine that is not named'}`,
    '',
    table(
      ['setting', 'seed', 'task seed', "digest of the run's config"],
      SETTING_NAMES.flatMap((setting) =>
        ofSetting(rows, setting).map(({ seed, taskSeed, configDigest }) => [
          setting,
          seed,
          taskSeed ?? '-',
          configDigest.slice(0, 12),
        ]),
      ),
    ),
  ].join('\n')
}

function table(head: readonly string[], lines: readonly (readonly (string | number)[])[]): string {
  if (lines.length === 0) return 'No rows yet.'
  const row = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => plain(`${cell}`).replaceAll('|', '\\|')).join(' | ')} |`
  return [row(head), row(head.map(() => '---')), ...lines.map(row)].join('\n')
}

/** A file of anybody must not bring markup into a page. */
function plain(text: string): string {
  return inLine(text).replace(/<(?=[a-z/!?])/gi, '&lt;')
}

function text(estimate: Estimate | null): string {
  if (estimate === null) return '-'
  const { value, low, high, n } = estimate
  return n < 2 ? value.toFixed(3) : `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`
}

function signed(estimate: Estimate | null): string {
  if (estimate === null) return '-'
  const sign = (value: number) => `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(3)}`
  const { value, low, high, n } = estimate
  return n < 2 ? sign(value) : `${sign(value)} [${sign(low)}, ${sign(high)}]`
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${Math.round((100 * part) / whole)} %`
}
