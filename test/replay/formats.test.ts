/** Formats that other tools read, as files: what stands in them, value by value. scripts/export-check reads them with those tools. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { metricRows, trajectoryRows } from '../../src/replay/export.ts'
import { EXPORTERS } from '../../src/replay/exporters.ts'
import { writeDataset } from '../../src/replay/formats/hugging-face.ts'
import { recordLog } from '../../src/replay/formats/record-log.ts'
import { stepRows } from '../../src/replay/formats/step-rows.ts'
import { COLUMNS } from '../../src/replay/trajectory-row.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'

const log = openLogReader(unpackFixture(temporaryFolder()).log)
test.after(() => log.close())

async function written(format: string, out = join(temporaryFolder(), format)): Promise<string> {
  await EXPORTERS.find(({ name }) => name === format)?.write(log, out)
  return out
}

const errorOf = (work: Promise<unknown>) => work.then(() => null).catch((error) => error)

test('TRL gets each training rollout with an outcome as messages, and the outcome as its reward', async () => {
  const lines = readFileSync(await written('trl'), 'utf8')
    .trim()
    .split('\n')
  const rows = [...trajectoryRows(log)].filter(
    ({ purpose, outcome, steps }) => purpose !== 'evaluation' && outcome !== null && steps > 0,
  )
  assert.is(lines.length, rows.length)
  for (const [i, row] of rows.entries()) {
    const { prompt, completion, reward } = JSON.parse(lines[i] ?? '')
    assert.is(reward, row.outcome)
    assert.equal(prompt, [{ role: 'user', content: `${row.goal}\n\n${row.observations[0]}` }])
    const contents = completion.map(({ content }: { content: string }) => content)
    const turns = row.actions.flatMap((action, step) => [row.observations[step], action])
    assert.equal(contents, turns.slice(1))
    assert.is(completion.at(-1).role, 'assistant')
  }
})

test('a dataset has shards by split with all rows in the order of the log, and a card that names run and columns', async () => {
  const out = join(temporaryFolder(), 'dataset')
  const splits = await writeDataset(log, out, 7)
  const rows = [...trajectoryRows(log)]
  const files = readdirSync(join(out, 'data')).sort()
  assert.ok(files.includes('train-00000-of-00003.parquet'), String(files))
  for (const split of splits) {
    const own = files.filter((name) => name.startsWith(`${split.name}-`))
    const read: Record<string, unknown>[] = []
    for (const name of own) {
      const file = await asyncBufferFromFile(join(out, 'data', name))
      read.push(...(await parquetReadObjects({ file })))
      const { key_value_metadata: told } = await parquetMetadataAsync(file)
      assert.equal(told?.[0], { key: 'rlanything.run', value: log.run })
    }
    const expected = rows.filter((row) => row.split.replace('-', '_') === split.name)
    assert.equal(
      read.map(({ rollout }) => rollout),
      expected.map(({ rollout }) => rollout),
    )
    assert.is(split.rows, expected.length)
  }
  const card = readFileSync(join(out, 'README.md'), 'utf8')
  const head = parse(card.split('---\n')[1] ?? '')
  assert.equal(
    head.configs[0].data_files,
    splits.map(({ name }) => ({ split: name, path: `data/${name}-*.parquet` })),
  )
  const { configDigest, codeVersion } = startsOf(log).last.data
  for (const word of [log.run, configDigest, codeVersion, ...Object.keys(COLUMNS)])
    assert.ok(card.includes(`\`${word}\``), word)
})

test('a dataset goes into a new folder, because old shards would be read with it', async () => {
  const out = await written('huggingface')
  const error = await errorOf(written('huggingface', out))
  assert.is(error?.code, 'export.place')
  assert.match(error.message, new RegExp(`the folder ${out} has files`))
})

test('figures come once a step, steps ascending', () => {
  const row = (step: number, time: number, metrics: Record<string, number>) => ({ step, time, metrics })
  assert.equal(stepRows([row(1, 5, { a: 1 }), row(0, 6, { a: 2 }), row(1, 7, { b: 3, c: Number.NaN })]), [
    row(0, 6, { a: 2 }),
    row(1, 7, { a: 1, b: 3 }),
  ])
})

test('a project of Trackio has the steps and the config of a run, once, beside those of other runs', async () => {
  const out = await written('trackio')
  const path = join(out, 'rlanything.db')
  const other = new Database(path)
  other.exec(
    `INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES ('other', '', 'other', 0, '{}')`,
  )
  other.close()
  await written('trackio', out)
  const db = new Database(path, { readonly: true })
  const read = db.prepare('SELECT * FROM metrics WHERE run_id = ? ORDER BY step').all(log.run) as {
    step: number
    metrics: string
  }[]
  assert.equal(
    read.map(({ step, metrics }) => [step, JSON.parse(metrics)]),
    stepRows(metricRows(log)).map(({ step, metrics }) => [step, metrics]),
  )
  assert.is(db.prepare(`SELECT count(*) FROM metrics WHERE run_id = 'other'`).pluck().get(), 1)
  const config = JSON.parse(String(db.prepare('SELECT config FROM configs').pluck().get()))
  assert.equal(config.policy, startsOf(log).last.data.config.policy)
  db.close()
})

test('a database with other tables is refused, and stays as it is', async () => {
  const out = temporaryFolder()
  const path = join(out, 'rlanything.db')
  mkdirSync(out, { recursive: true })
  const db = new Database(path)
  db.exec('CREATE TABLE metrics (run_name TEXT)')
  db.close()
  const before = readFileSync(path)
  assert.is((await errorOf(written('trackio', out)))?.code, 'export.place')
  assert.equal(readFileSync(path), before)
  writeFileSync(path, 'no database at all')
  assert.is((await errorOf(written('trackio', out)))?.code, 'export.place')
})

/** Records of a file of Weights & Biases, with their checksums held. */
function recordsOf(file: Buffer): Buffer[] {
  const records: Buffer[] = []
  let held: Buffer[] = []
  for (let at = 7; at < file.length; ) {
    const left = 32_768 - (at % 32_768)
    if (left < 7) {
      assert.ok(file.subarray(at, at + left).every((byte) => byte === 0))
      at += left
    }
    const kind = file.readUInt8(at + 6)
    const data = file.subarray(at + 7, at + 7 + file.readUInt16LE(at + 4))
    assert.ok(data.length <= 32_768 - (at % 32_768) - 7, 'no piece crosses a block')
    assert.is(file.readUInt32LE(at), crc32(data, crc32(Buffer.from([kind]))))
    assert.is(held.length > 0, kind === 3 || kind === 4)
    held.push(data)
    if (kind === 1 || kind === 4) records.push(Buffer.concat(held))
    if (kind === 1 || kind === 4) held = []
    at += 7 + data.length
  }
  return records
}

test('records of any size come back from their pieces, at each place of a block', () => {
  const size = fc.oneof(fc.nat(100), fc.integer({ min: 32_740, max: 32_780 }), fc.constant(100_000))
  const holds = (sizes: readonly number[]) => {
    const records = sizes.map((length, i) => Buffer.alloc(length, i + 1))
    const read = recordsOf(recordLog(Buffer.alloc(7), records))
    assert.ok(
      read.length === records.length && read.every((one, i) => one.equals(records[i] ?? one.subarray(1))),
    )
  }
  fc.assert(fc.property(fc.array(size), holds), { numRuns: 100, examples: [[[32_747, 1]]] })
})

test('an offline folder of Weights & Biases has a record a step, numbered, with all figures', async () => {
  const out = await written('wandb')
  const [folder = ''] = readdirSync(out)
  assert.match(folder, new RegExp(`^offline-run-\\d{8}_\\d{6}-${log.run}$`))
  const [name] = readdirSync(join(out, folder))
  assert.is(basename(name ?? ''), `run-${log.run}.wandb`)
  const file = readFileSync(join(out, folder, name ?? ''))
  assert.equal([...file.subarray(0, 7)], [...Buffer.from(':W&B'), 0xe1, 0xbe, 0])
  const records = recordsOf(file)
  const rows = stepRows(metricRows(log))
  assert.is(records.length, rows.length + 4)
  for (const [i, record] of records.entries()) assert.equal([record[0], record[1]], [8, i + 1])
  for (const [i, { metrics }] of rows.entries())
    for (const [key, value] of Object.entries(metrics)) {
      const record = records[i + 2]?.toString('latin1') ?? ''
      assert.ok(record.includes(key) && record.includes(JSON.stringify(value)), key)
    }
})

test.run()
