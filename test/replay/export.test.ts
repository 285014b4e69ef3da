import { join } from 'node:path'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLogReader } from '../../src/events/log-reader.ts'
import { metricRows, trajectoryRows } from '../../src/replay/export.ts'
import { writeParquet } from '../../src/replay/parquet.ts'
import { crc32c, tensorboardFile } from '../../src/replay/tensorboard.ts'
import { ofType } from '../../src/replay/why.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'

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

test('a Parquet reader gives the same rows back', async () => {
  const log = fixture()
  const path = join(temporaryFolder(), 'rows.parquet')
  const rows = [...trajectoryRows(log)]
  assert.is(writeParquet(path, rows), rows.length)
  const read = await parquetReadObjects({ file: await asyncBufferFromFile(path) })
  assert.equal(
    read.map((row) => ({ ...row, scores: row.scores ?? null, advantages: row.advantages ?? null })),
    rows,
  )
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
