import { relative } from 'node:path'
import { duration } from '../actors/head/terminal/progress.ts'
import { parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { type Config, changeConfig, loadChangedSettings, loadConfig, loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import { policyFolder, type Remeasured, remeasure, sumsOf } from '../evaluation/acceptances.ts'
import { evaluate } from '../evaluation/evaluate.ts'
import { type EvaluationFigures, evaluationFigures } from '../evaluation/figures.ts'
import type { EventData } from '../events/catalogue.ts'
import { startsOf } from '../events/starts.ts'
import { wilson } from '../learning/interval.ts'
import { seedOf } from '../random.ts'
import type { Command } from './command.ts'
import { openRun, openRunToRead, TRUST, TRUST_HELP } from './open-run.ts'

export const command: Command = {
  summary: 'success of a model folder on a split, and of acceptances measured again',
  help: `
rl eval --model DIR [--split NAME] [--tasks N] [--rollouts N] [options]   success with interval, steps, tokens, pass@k
rl eval --run RUN [--split NAME] ...            the run's last policy, or --model, under the run's config
rl eval --logged RUN [--split NAME]             figures of the run's own evaluations, from its log; for any policy
rl eval --accepted RUN [--rollouts 64]          plays the run's accepted tasks and their parents again

  --split NAME      in-domain, ood; with games valid_seen, valid_unseen, train            (in-domain)
  --tasks N         tasks of the split, drawn by seed                                     (evaluation.tasks)
  --rollouts N      rollouts a task                                                       (evaluation.rollouts)
  --data PATH       real games: ALFWorld's json_2.1.1, a folder or an archive
  --config FILE, --set KEY=VALUE   environment, evaluation and policy keys, as for a run  (config/default.yaml)
  --json            prints one object

Tasks and seeds are those of the loop's evaluation. So the same model under the same config gets the same figures. With
one rollout a task the interval is Wilson's over rollouts, with more a bootstrap over tasks. pass@k is the unbiased
estimate 1 - C(n - c, k) / C(n, k). maj@k is printed if answers are in a box.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          model: { type: 'string' },
          run: { type: 'string' },
          accepted: { type: 'string' },
          logged: { type: 'string' },
          split: { type: 'string', default: 'in-domain' },
          tasks: { type: 'string' },
          rollouts: { type: 'string' },
          data: { type: 'string' },
          config: { type: 'string' },
          set: { type: 'string', multiple: true },
          json: { type: 'boolean', default: false },
          ...TRUST,
        },
      },
      argv,
    )
    const json = values.json ?? false
    const rollouts = values.rollouts === undefined ? undefined : wholeNumber('--rollouts', values.rollouts, 1)
    const stop = new AbortController()
    process.once('SIGINT', () => stop.abort(new RlError('interrupted', { code: 'cli.interrupted' })))
    const onEnd = progress(json)
    if (values.accepted !== undefined) {
      const options = { rollouts: rollouts ?? 64, signal: stop.signal, onEnd }
      return again(values.accepted, options, { json, trust: values.trust })
    }

    if (values.logged !== undefined) return ofLog(values.logged, values.split ?? 'in-domain', json)

    const { base, last } = await sourceOf(values)
    const model = values.model ?? last
    if (model === null)
      throw new RlError('expected --model, --run or --accepted', {
        code: 'cli.usage',
        hint: 'rl eval --help',
      })
    const split = values.split ?? 'in-domain'
    const config = changeConfig(base, [
      ...(values.data === undefined
        ? []
        : ['environment.source=data', `environment.data=${JSON.stringify(values.data)}`]),
      ...(base.environment.splits[split] === undefined ? [`environment.splits.${split}=${split}`] : []),
      ...(values.tasks === undefined ? [] : [`evaluation.tasks=${wholeNumber('--tasks', values.tasks, 1)}`]),
      ...(rollouts === undefined ? [] : [`evaluation.rollouts=${rollouts}`]),
    ])
    const started = performance.now()
    const figures = await evaluate({ model, split, config, signal: stop.signal, onEnd })
    const seconds = (performance.now() - started) / 1000
    if (json) printJson({ model, split, seconds, ...figures })
    else for (const line of lines(figures, { model, split, seconds })) printLine(line)
    return 0
  },
}

type Source = {
  readonly run?: string
  readonly config?: string
  readonly set?: string[]
  readonly trust?: boolean
}

/** Returns the config, and the folder of the last policy if a run is named. */
async function sourceOf({ run, config: file, set = [], trust }: Source): Promise<{
  readonly base: Config
  readonly last: string | null
}> {
  if (run === undefined)
    return { base: loadConfig({ file: file ?? 'config/default.yaml', set, env: process.env }), last: null }
  if (file !== undefined)
    throw new RlError('--run brings its own config', { code: 'cli.usage', hint: 'omit --config' })
  const log = await openRun(run, { trust, acts: true })
  try {
    const { config } = startsOf(log).last.data
    await loadChangedSettings(loggedConfig(config), set)
    return {
      base: changeConfig(loggedConfig(config), set),
      last: policyFolder(log, 'last'),
    }
  } finally {
    log.close()
  }
}

/** Prints the evaluations of a split in the order of their policy versions, from the log. */
async function ofLog(run: string, split: string, json: boolean): Promise<number> {
  const log = openRunToRead(run)
  try {
    const kinds = new Map<string, string>()
    /** Policy version and split of evaluation rollouts. Failed rollouts do not tell them. */
    const asked = new Map<string, Pick<EventData<'RolloutRequested'>, 'policyVersion' | 'split'>>()
    const byVersion = new Map<number, Played[]>()
    for (const { type, data } of log.events({
      types: ['TaskAdded', 'RolloutRequested', 'TrajectoryCompleted', 'RolloutFailed'],
    })) {
      if (type === 'TaskAdded') kinds.set(data.task.id, data.task.kind)
      else if (type === 'RolloutRequested') {
        if (data.purpose === 'evaluation') asked.set(data.rollout, data)
      } else if (data.purpose === 'evaluation') {
        const trajectory = type === 'TrajectoryCompleted' ? data : null
        const of = trajectory ?? asked.get(data.rollout)
        if (of?.split !== split) continue
        const own = byVersion.get(of.policyVersion) ?? []
        own.push({ task: data.task, kind: kinds.get(data.task) ?? 'task', trajectory })
        byVersion.set(of.policyVersion, own)
      }
    }
    if (byVersion.size === 0) {
      const { splits } = loggedConfig(startsOf(log).last.data.config).evaluation
      throw new RlError(`run '${run}' has no evaluated rollouts of the split '${split}'`, {
        code: 'eval.no-evaluation',
        hint: splits.length === 0 ? 'it evaluates nothing' : `--split takes one of ${splits.join(', ')}`,
      })
    }
    const evaluations = [...byVersion]
      .sort(([a], [b]) => a - b)
      .map(([version, played]) => ({ version, ...evaluationFigures(played, seedOf(version)) }))
    if (json) printJson({ run, split, evaluations })
    else
      for (const { version, ...figures } of evaluations)
        for (const line of lines(figures, { model: `policy ${version}`, split, seconds: null }))
          printLine(line)
    return 0
  } finally {
    log.close()
  }
}

type Played = Parameters<typeof evaluationFigures>[0][number]

async function again(
  run: string,
  options: Parameters<typeof remeasure>[1],
  { json, trust }: { readonly json: boolean; readonly trust?: boolean },
): Promise<number> {
  const log = await openRun(run, { trust, acts: true })
  try {
    const measured = await remeasure(log, options)
    const sums = sumsOf(measured, options.rollouts)
    if (json) printJson({ run, ...sums, tasks: measured })
    else for (const line of [...measured.map(acceptanceLine), ...sumLines(sums)]) printLine(line)
  } finally {
    log.close()
  }
  return 0
}

function sumLines({ rollouts, accepted, confirmed, evident, evidentConfirmed }: ReturnType<typeof sumsOf>) {
  return [
    `confirmed with ${rollouts} rollouts: ${share(confirmed, accepted)} of all acceptances`,
    `confirmed with ${rollouts} rollouts: ${share(evidentConfirmed, evident)} of those that bayes evidence would have accepted too`,
  ]
}

function acceptanceLine(one: Remeasured): string {
  const tally = ({ successes, n }: { readonly successes: number; readonly n: number }) => `${successes}/${n}`
  const [then, now] = one.accuracy
  const [parentThen, parentNow] = one.parentAccuracy
  return `iteration ${one.iteration} ${one.slot} ${one.direction}: ${tally(parentThen)} -> ${tally(then)}, again ${tally(parentNow)} -> ${tally(now)}: ${one.confirmed ? 'confirmed' : 'not confirmed'}${one.evident ? ', evident' : ''}`
}

function lines(
  { majorityAtK, passAtK, averageAtK, kinds, ...figures }: EvaluationFigures,
  {
    model,
    split,
    seconds,
  }: { readonly model: string; readonly split: string; readonly seconds: number | null },
): string[] {
  const { tasks, rollouts, failed, success, steps, tokens, invalid } = figures
  const most = passAtK.at(-1)?.k ?? 1
  return [
    `${seconds === null ? model : relative('', model) || '.'} on ${split}: ${tasks} tasks, ${rollouts} rollouts${failed > 0 ? `, ${failed} failed` : ''}${seconds === null ? '' : `, ${duration(seconds * 1000)}`}`,
    `success   ${success.value.toFixed(3)} [${success.low.toFixed(3)}, ${success.high.toFixed(3)}] n ${success.n} ${success.unit}`,
    ...(passAtK.length === 0 ? [] : [`avg@${most}     ${averageAtK.toFixed(3)}`]),
    ...(passAtK.length === 0 || majorityAtK === null ? [] : [`maj@${most}     ${majorityAtK.toFixed(3)}`]),
    ...passAtK.map(({ k, value, n }) => `pass@${k}    ${value.toFixed(3)} n ${n} tasks`),
    `steps     ${steps.toFixed(1)} a rollout${invalid > 0 ? `; ${invalid} answers could not be read` : ''}`,
    `tokens    ${tokens.generated.toFixed(0)} generated, ${tokens.prompt.toFixed(0)} read (${tokens.cached.toFixed(0)} from the cache) a rollout`,
    ...kinds.map(({ kind, successes, n }) => `  ${share(successes, n)} ${kind}`),
  ]
}

function share(part: number, whole: number): string {
  const { value, low, high, n } = wilson(part, whole)
  return n === 0 ? 'none' : `${part}/${whole} = ${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
}

/** Draws one line again and again, on terminals. */
function progress(quiet: boolean): ((ended: number, of: number) => void) | undefined {
  if (quiet || !process.stderr.isTTY) return undefined
  return (ended, of) =>
    void process.stderr.write(`\r${ended} of ${of} rollouts${ended === of ? '\r\x1b[K' : ''}`)
}
