/** What a head deletes that keeps the newest weights alone, and what it leaves, whatever events name. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openCollector } from '../../../src/actors/head/collector.ts'
import { runFolder } from '../../../src/broker/connection.ts'
import { configDigest, loggable } from '../../../src/config.ts'
import { CATALOGUE, type NewEvent } from '../../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../../src/events/codec.ts'
import { openLog } from '../../../src/events/log.ts'
import { forkRun } from '../../../src/replay/fork.ts'
import { temporaryFolder } from '../../support/run.ts'
import { smallConfig } from '../loop.ts'

/** A log of ten iterations in which each version has a folder of its own. */
function madeRun(root: string, pathOf: (version: number) => string) {
  process.env.RL_RUNS = root
  const folder = runFolder('made', root)
  mkdirSync(folder.folder, { recursive: true })
  const log = openLog(folder.log, { run: 'made', minFreeBytes: 0 })
  const append = ({ type, data }: NewEvent) => {
    const id = `00000000-0000-7000-8000-${String(log.head().position).padStart(12, '0')}`
    const told = { id, type, v: CATALOGUE[type].v, run: 'made', actor: 'head', time: 0, cause: null, data }
    log.append([log.check(encodeEnvelope(told))])
  }
  const config = smallConfig()
  append({
    type: 'RunStarted',
    data: {
      ...{ config: loggable(config), configDigest: configDigest(config), codeVersion: '0.0.0' },
      ...{ seed: config.run.seed, parent: null },
    },
  })
  const positions: number[] = []
  for (let version = 0; version < 10; version++) {
    mkdirSync(path.join(folder.folder, pathOf(version)), { recursive: true })
    writeFileSync(path.join(folder.folder, pathOf(version), 'weights'), String(version))
    append({
      type: 'PolicyUpdated',
      data: {
        ...{ iteration: version, version, parentVersion: version === 0 ? null : version - 1 },
        checkpoint: { sha256: String(version).repeat(64), path: pathOf(version) },
        ...{ trainedOn: [], samples: 1, metrics: {}, stopped: null, timing: {} },
      },
    })
    positions.push(log.head().position)
  }
  const collector = () => openCollector({ folder, log, keep: 2, append: (events) => events.forEach(append) })
  return { folder, log, positions, collector }
}

const plain = (version: number) => `checkpoints/policy/${String(version).padStart(5, '0')}`

test('weights stay that a fork of a fork goes on from, or a fork that was half made', () => {
  const root = temporaryFolder()
  const { folder, log, positions, collector } = madeRun(root, plain)
  const [child, grandchild] = [runFolder('child', root), runFolder('grandchild', root)]
  forkRun(folder, child, { at: positions[7] ?? 0, set: [] })
  mkdirSync(grandchild.folder, { recursive: true })
  writeFileSync(grandchild.log, 'half')
  const collect = openCollector({ folder, log, keep: 9, append: () => {} })
  collect()
  rmSync(grandchild.log)
  forkRun(child, grandchild, { at: positions[3] ?? 0, set: [] })
  collect()
  collector()()
  assert.equal(
    readdirSync(path.join(folder.folder, 'checkpoints/policy')).sort(),
    [0, 2, 3, 6, 7, 8, 9].map((version) => `0000${version}`),
  )
  log.close()
})

test('an event whose weights lie elsewhere makes nothing else go', () => {
  const root = temporaryFolder()
  const places = ['blobs/ab', 'events.d', 'checkpoints/policy/00009', 'broker', 'checkpoints/reward-model']
  const { folder, log, collector } = madeRun(root, (version) => places[version - 1] ?? plain(version))
  collector()()
  for (const place of places) assert.ok(existsSync(path.join(folder.folder, place)), place)
  assert.not(existsSync(path.join(folder.folder, plain(6))))
  log.close()
})

test.run()
