import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { plainData } from '../../src/events/plain.ts'
import { metricRows, trajectoryRows } from '../../src/replay/export.ts'
import { EXPORTERS } from '../../src/replay/exporters.ts'
import { critiques, demonstrations } from '../../src/replay/fine-tuning.ts'
import { writeParquet } from '../../src/replay/parquet.ts'
import { crc32c, tensorboardFile } from '../../src/replay/tensorboard.ts'
import { COLUMNS } from '../../src/replay/trajectory-row.ts'
import { ofType } from '../../src/replay/why.ts'
import { temporaryFolder } from '../support/run.ts'
import { copyRun, unpackFixture } from './fixture.ts'

function fixture() {
  return openLogReader(unpackFixture(temporaryFolder()).log)
}

test('every trajectory is exported once; those trained on have advantages, and tokens line up', () => {
  const log = fixture()
  const rows = [...trajectoryRows(log)]
  assert.is(rows.length, ofType(log, 'TrajectoryCompleted').length)
  const trained = ofType(log, 'PolicyUpdated').flatMap(({ data }) => data.trainedOn)
  for (const row of rows) {
    assert.is(row.observations.length, row.steps + 1)
    assert.is(row.tokens.length, row.mask.length)
    assert.is(row.tokens.length, row.logprobs.length)
    assert.is(row.advantages === null, row.purpose === 'evaluation')
    assert.is(trained.includes(row.rollout), row.advantages?.some((value) => value !== 0) ?? false)
  }
  log.close()
})

test('successes become chats, each once, and critiques become answers', () => {
  const log = fixture()
  const rows = [...trajectoryRows(log)]
  const chats = [...demonstrations(rows)]
  const succeeded = rows.filter(({ purpose, success }) => purpose !== 'evaluation' && success)
  assert.ok(chats.length <= succeeded.length && chats.length > 0 === succeeded.length > 0)
  for (const { messages } of chats)
    assert.equal(
      messages.map(({ role }) => role),
      messages.map((_, i) => (i % 2 === 0 ? 'user' : 'assistant')),
    )
  assert.is(new Set(chats.map((chat) => JSON.stringify(chat))).size, chats.length)
  const told = rows.flatMap(({ votes }) =>
    (votes ?? []).flatMap((own) => (own ?? []).filter((vote) => vote !== 0)),
  )
  const answers = [...critiques(rows)]
  assert.is(answers.length, told.length)
  assert.ok(answers.every(({ completion }) => /\\boxed\{-?1\}$/.test(completion)))
  const first = succeeded[0]
  if (first) assert.ok(chats.some(({ messages }) => messages[1]?.content === first.actions[0]))
  log.close()
})

test('what trains and judges a step is in its row: task, outcome, votes, critiques, usage and times', () => {
  const log = fixture()
  const judged = new Map(ofType(log, 'StepScored').map(({ data }) => [`${data.rollout} ${data.step}`, data]))
  let votes = 0
  for (const row of trajectoryRows(log)) {
    const event = log.byKey(`Rollout/${row.rollout}`) as LoggedEvent<'TrajectoryCompleted'>
    assert.ok(row.goal && row.kind && row.environment && row.recipe, row.rollout)
    assert.equal([row.time, row.actor, row.seed], [event.time, event.actor, [...event.data.seed]])
    assert.equal(row.usage_completion_tokens, event.data.usage.completionTokens)
    const { outcome } = event.data
    assert.equal(
      [row.outcome, row.success],
      outcome.kind === 'scored' ? [outcome.value, outcome.success] : [null, null],
    )
    for (let step = 0; step < row.steps; step++) {
      const one = judged.get(`${row.rollout} ${step}`)
      if (!one) continue
      votes++
      assert.equal(
        row.votes?.[step],
        one.judgements.map(({ score }) => score),
      )
      assert.equal(
        row.critiques?.[step],
        one.judgements.map(({ critique }) => critique),
      )
      assert.is(row.judge_versions?.[step], one.rewardModelVersion)
      assert.equal(row.judged?.[step], plainData(one))
    }
    assert.is(
      row.segment_tokens.reduce((sum, length) => sum + length, 0),
      row.tokens.length,
    )
    assert.is(row.step_starts.length, row.steps)
  }
  assert.is(votes, judged.size)
  log.close()
})

test('the temperature of a rollout is that of the config which held then, and null if an agent outside chose it', () => {
  const root = temporaryFolder()
  const source = unpackFixture(root)
  const temperaturesOf = (environment: object, evaluation: object) => {
    const changed = copyRun(source, runFolder(`at-${JSON.stringify(environment).length}`, root), {
      change(event) {
        if (event.type !== 'RunStarted') return event
        const { config } = event.data
        const told = (section: 'environment' | 'evaluation', more: object) => ({
          ...Object(config[section]),
          ...more,
        })
        const given = {
          environment: told('environment', environment),
          evaluation: told('evaluation', evaluation),
        }
        return { ...event, data: { ...event.data, config: { ...config, ...given } } }
      },
    })
    const log = openLogReader(changed.log)
    const found = new Set(
      [...trajectoryRows(log)].map((row) => `${row.purpose === 'evaluation'} ${row.temperature}`),
    )
    log.close()
    return [...found].sort()
  }
  assert.equal(temperaturesOf({}, { temperature: 0.25 }), ['false 1', 'true 0.25'])
  assert.equal(temperaturesOf({ player: 'gateway' }, {}), ['false null', 'true null'])
})

test('partial credit, and an abstention come out as they are', () => {
  const root = temporaryFolder()
  const source = unpackFixture(root)
  const changed = copyRun(source, runFolder('changed', root), {
    change(event) {
      if (event.type !== 'TrajectoryCompleted') return event
      const abstains = event.data.index === 1
      const outcome = abstains
        ? ({ kind: 'abstained', reason: 'no camera' } as const)
        : ({ kind: 'scored', value: 0.375, success: false } as const)
      return { ...event, data: { ...event.data, outcome } }
    },
  })
  const log = openLogReader(changed.log)
  for (const row of trajectoryRows(log))
    assert.equal(
      [row.outcome, row.success, row.abstained],
      row.index === 1 ? [null, null, 'no camera'] : [0.375, false, null],
    )
  log.close()
})

test('a Parquet reader gives the same rows back', async () => {
  const log = fixture()
  const path = join(temporaryFolder(), 'rows.parquet')
  const rows = [...trajectoryRows(log)]
  assert.is(await writeParquet(path, rows, { 'rlanything.run': 'run' }), rows.length)
  const file = await asyncBufferFromFile(path)
  const read = await parquetReadObjects({ file })
  const { key_value_metadata: told } = await parquetMetadataAsync(file)
  assert.equal(told, [{ key: 'rlanything.run', value: 'run' }])
  const nulls = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, null]))
  // What JSON cannot write is null in a column of JSON, here as in a line.
  const plain = (row: object) => ({ ...nulls, ...(JSON.parse(JSON.stringify(row)) as object) })
  const parsed = (row: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        COLUMNS[name as keyof typeof COLUMNS].kind === 'json' && typeof value === 'string'
          ? JSON.parse(value)
          : value,
      ]),
    )
  assert.equal(read.map(parsed).map(plain), rows.map(plain))
  log.close()
})

test('no column of JSON lines is null, so that readers take its type from values', async () => {
  const log = fixture()
  const path = join(temporaryFolder(), 'rows.jsonl')
  const jsonl = EXPORTERS.find(({ name }) => name === 'jsonl')
  await jsonl?.write(log, path)
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  const rows = [...trajectoryRows(log)]
  const nulls = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, null]))
  const read = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  for (const one of read) assert.not.ok(Object.values(one).includes(null))
  // The first row has all columns that any row has, although the log begins with evaluations.
  assert.is(rows[0]?.purpose, 'evaluation')
  assert.equal([...new Set(read.flatMap(Object.keys))].sort(), Object.keys(read[0] ?? {}).sort())
  const byPosition = read.map((one) => ({ ...nulls, ...one }) as Record<string, unknown>)
  byPosition.sort((a, b) => Number(a.position) - Number(b.position))
  const expected = rows.toSorted((a, b) => a.position - b.position)
  assert.equal(byPosition, JSON.parse(JSON.stringify(expected)))
  log.close()
})

test('TensorBoard records carry their lengths, checksums, steps and tags', () => {
  assert.is(crc32c(Buffer.from('123456789')), 0xe3069283)
  const log = fixture()
  const rows = [...metricRows(log)]
  assert.ok(rows.some(({ metrics }) => 'evaluation/in-domain/accuracy' in metrics))
  const file = tensorboardFile(rows)
  let records = 0
  for (let at = 0; at < file.length; records++) {
    const length = Number(file.readBigUInt64LE(at))
    for (const [from, to] of [
      [at, at + 8],
      [at + 12, at + 12 + length],
    ] as const) {
      const crc = crc32c(file.subarray(from, to))
      assert.is(file.readUInt32LE(to), (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0)
    }
    at += length + 16
  }
  assert.is(records, rows.length + 1)
  assert.ok(file.includes('brain.Event:2'))
  assert.ok(file.includes('policy/kl'))
  log.close()
})

test.run()
