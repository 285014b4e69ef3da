/** Each option of a rule in `rl rescore`: it changes a figure of a run, or is refused by name. */
import '../support/packages.ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { RlError } from '../../src/errors.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { itemAt } from '../../src/item-at.ts'
import { RULE_KINDS, SHELVES } from '../../src/learning/shelves.ts'
import { optionsOf } from '../../src/learning/tunable.ts'
import { isPlayingKind } from '../../src/replay/playing-figures.ts'
import { rescore } from '../../src/replay/rescore.ts'
import { rescoreAll } from '../../src/replay/rescore-all.ts'
import { smallConfig } from '../actors/loop.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'

/** A value of each option that shows, and keys beside that let it act. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  'gated.delta': ['0', 'learning.reward=gated'],
  'grounded.cost': ['1', 'learning.reward=grounded'],
  'pessimistic.weight': ['0.1', 'learning.reward=pessimistic'],
  'tiers.tiers': ['2', 'learning.reward=tiers', 'learning.mixedOutcomes=graded'],
  'checklist.weights': ['{misses: 5}', 'learning.reward=checklist'],
  'principles.weights': ['{safe: 5}', 'learning.reward=principles'],
  'implicit.beta': ['1', 'learning.reward=implicit'],
  'similarity.most': ['2', 'learning.reward=similarity', 'learning.mixedOutcomes=false'],
  'step-index.minHolders': ['9', 'learning.advantage=step-index'],
  'step-index.gamma': ['0.5', 'learning.advantage=step-index'],
  'step-index.scale': ['none', 'learning.advantage=step-index'],
  'step-index.episode': ['1', 'learning.advantage=step-index'],
  'state-groups.weight': ['3', 'learning.advantage=state-groups'],
  'state-groups.gamma': ['0.5', 'learning.advantage=state-groups'],
  'state-groups.scale': ['group', 'learning.advantage=state-groups'],
  'role.scale': ['none', 'learning.advantage=role'],
  'role.turns': ['true', 'learning.advantage=role'],
  'state-values.gamma': ['0.5', 'learning.advantage=state-values'],
  'state-values.trace': ['0.1', 'learning.advantage=state-values'],
  'variance.share': ['0.2', 'learning.filter=variance'],
  'variance.lossScale': ['share', 'learning.filter=variance', 'learning.options.variance.share=0.2'],
  'trend.similarity': ['-1', 'learning.filter=trend'],
  'trend.top': ['1', 'learning.filter=trend'],
  'correct-resample.share': ['0.9', 'learning.rollouts=[correct-resample]'],
  'negative-scale.base': ['0.1', 'learning.weights=[negative-scale]'],
  'negative-scale.slope': ['0.1', 'learning.weights=[negative-scale]'],
  'three-sigma.deviations': ['0.5', 'learning.weights=[three-sigma]'],
  'step-entropy.share': ['0.2', 'learning.weights=[step-entropy]'],
}

const root = temporaryFolder()
const opened: LogReader[] = []
test.after(() => {
  for (const log of opened) log.close()
})

const keep = (log: LogReader): LogReader => {
  opened.push(log)
  return log
}

/** A run whose steps have roles and two votes each, some without effect, and whose tasks have solutions. Some outcomes are guesses. */
function withColumns(event: LoggedEvent): LoggedEvent {
  if (event.type === 'TrajectoryCompleted') {
    const roles = event.data.actions.map((_, step) => (step % 3 === 0 ? 'plans' : 'acts'))
    const observations = event.data.observations.map((seen, i) => (i % 3 === 2 ? 'Nothing happens.' : seen))
    const reference = event.data.actions.slice(1).join('\n')
    const { outcome, task } = event.data
    const guessed = outcome.kind === 'scored' && /[02468]$/.test(task) ? { unsure: true as const } : {}
    const told = { ...event.data, roles, observations, reference, outcome: { ...outcome, ...guessed } }
    return { ...event, data: told as typeof event.data }
  }
  if (event.type !== 'StepScored') return event
  const other = event.data.step % 2 === 0 ? (1 as const) : (-1 as const)
  const judgements = [
    { ...itemAt(event.data.judgements, 0), criterion: 'safe' },
    { ...itemAt(event.data.judgements, 0), score: other, criterion: 'short' },
  ]
  return { ...event, data: { ...event.data, judgements } }
}

test('each option of a rule that votes are weighed by changes a figure of some run', () => {
  const config = smallConfig({ run: { iterations: 4, evaluateEvery: 4 } })
  const logs = [
    ...(['run', 'run-coding', 'run-web'] as const).map((name) =>
      keep(openLogReader(unpackFixture(root, name).log)),
    ),
    keep(recordLoop(root, 'columns', config, withColumns)),
  ]
  const options = RULE_KINDS.filter((kind) => !isPlayingKind(kind) && kind !== 'alarm').flatMap((kind) =>
    SHELVES[kind].registry
      .all(null)
      .flatMap((rule) => Object.keys(optionsOf(rule)?.shape ?? {}).map((option) => `${rule.name}.${option}`)),
  )
  assert.equal([...new Set(options)].sort(), Object.keys(SHOWN).sort())
  for (const [option, [value, ...beside]] of Object.entries(SHOWN)) {
    const figures = (log: LogReader, set: readonly string[]) =>
      JSON.stringify({ ...rescore(log, set), idle: [] })
    const shows = logs.some(
      (log) => figures(log, beside) !== figures(log, [`learning.options.${option}=${value}`, ...beside]),
    )
    assert.ok(shows, `learning.options.${option}=${value}`)
  }
})

test('an option of a rule that decides what is played, or warns, is refused by name; the table takes it', () => {
  const overrides = {
    run: { iterations: 2, evaluateEvery: 2 },
    environment: { sampler: 'window', horizon: 'stages' },
    learning: { alarms: ['drift'] },
  }
  const log = keep(recordLoop(root, 'playing', smallConfig(overrides)))
  for (const [word, why] of [
    ['learning.options.window.width=5', /learning\.options\.window changes nothing here: .* --rules all/],
    ['learning.options.stages.every=2', /learning\.options\.stages changes nothing here: .* --rules all/],
    ['learning.options.drift.weight=0.5', /learning\.options\.drift changes nothing here: alarms/],
    ['learning.options={window: {width: 5}}', /learning\.options\.window changes nothing here/],
  ] as const)
    assert.throws(
      () => rescore(log, [word]),
      (error: RlError) => error.code === 'rescore.no-effect' && why.test(error.message),
    )
  const asked = (set: readonly string[]) =>
    rescoreAll(log, set).rows.find(({ rule }) => rule === 'stages')?.playing
  assert.is(asked([])?.otherwise, 0)
  assert.ok((asked(['learning.options.stages.every=1'])?.otherwise ?? 0) > 0)
})

test('a key that is computed and changes no figure of the run is named', () => {
  const log = keep(openLogReader(unpackFixture(root, 'run').log))
  const told = (...set: string[]) => rescore(log, set).idle
  assert.equal(told('learning.overlong.factor=9'), ['learning.overlong.factor=9'])
  assert.equal(told('learning.lambda=1'), [], 'the value that the run had')
  assert.equal(told('learning.lambda=3'), [])
  assert.equal(told('learning.lambda=3', 'learning.overlong.factor=9'), [])
})

test.run()
