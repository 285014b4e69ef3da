import { spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync, gunzipSync, gzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { archiveMembers } from '../../../src/environments/alfworld/archive.ts'
import { openDataset, readGameText } from '../../../src/environments/alfworld/dataset.ts'
import { loadGame } from '../../../src/environments/alfworld/game.ts'
import { FIXTURES, fixtureTexts } from './games.ts'

const folder = mkdtempSync(join(tmpdir(), 'rl-alfworld-'))
process.env.XDG_CACHE_HOME = join(folder, 'cache')
test.after(() => rmSync(folder, { recursive: true }))

const TASK = 'pick_and_place_simple-Watch-None-SideTable-222'
const TRIAL = 'trial_T20190909_051813_197569'
const TREE = join(FIXTURES, 'json_2.1.1')
const game = gunzipSync(readFileSync(join(TREE, 'valid_seen', TASK, TRIAL, 'game.tw-pddl.gz')))

test('a folder: splits, kinds and keys from the paths, in a fixed order', async () => {
  const { games } = await openDataset(FIXTURES)
  assert.equal(
    games.map(({ split, kind, key }) => [split, kind, key.split('/')[1].split('-')[0]].join(' ')),
    [
      'train pick_heat_then_place_in_recep pick_heat_then_place_in_recep',
      'train pick_two_obj_and_place pick_two_obj_and_place',
      'valid_seen look_at_obj_in_light look_at_obj_in_light',
      'valid_seen pick_and_place_simple pick_and_place_simple',
      'valid_seen pick_clean_then_place_in_recep pick_clean_then_place_in_recep',
      'valid_seen pick_cool_then_place_in_recep pick_cool_then_place_in_recep',
      'valid_unseen pick_heat_then_place_in_recep pick_heat_then_place_in_recep',
    ],
  )
})

test('the folder above json_2.1.1, that folder, a split, a task, a trial and a file give the same keys', async () => {
  const key = `valid_seen/${TASK}/${TRIAL}`
  const file = join(TREE, 'valid_seen', TASK, TRIAL, 'game.tw-pddl.gz')
  for (const place of [
    FIXTURES,
    TREE,
    join(TREE, 'valid_seen'),
    join(TREE, 'valid_seen', TASK),
    join(file, '..'),
    file,
  ]) {
    const found = (await openDataset(place)).games.find((entry) => entry.key === key)
    assert.is(await found?.read(), game.toString(), place)
    assert.is(found?.split, 'valid_seen')
  }
})

test('recorded paths are found with and without json_2.1.1/ and .gz', async () => {
  const { find } = await openDataset(FIXTURES)
  const path = `valid_seen/${TASK}/${TRIAL}/game.tw-pddl`
  for (const recorded of [path, `json_2.1.1/${path}`, `${path}.gz`, `/data/json_2.1.1/${path}`])
    assert.is(find(recorded)?.key, `valid_seen/${TASK}/${TRIAL}`, recorded)
  const older =
    'games-2.1.1-text/valid_unseen__pick_heat_then_place_in_recep-Egg-None-GarbageCan-10__trial_T20190908_113432_673307.tw-pddl'
  assert.is(find(older)?.split, 'valid_unseen')
  assert.is(find(`${older}.gz`), find(older))
  assert.is(find('json_2.1.1/train/pick-a/trial/game.tw-pddl'), undefined)
})

test('movable receptacles and sliced objects are left out, links are followed', async () => {
  const root = join(folder, 'tree')
  const put = (path: string) => {
    mkdirSync(join(root, path), { recursive: true })
    writeFileSync(join(root, path, 'game.tw-pddl'), game)
  }
  put(`train/${TASK}/trial_1`)
  put('train/pick_and_place_with_movable_recep-Apple-Bowl-Fridge-1/trial_2')
  put('train/pick_and_place_simple-AppleSliced-None-Fridge-1/trial_3')
  symlinkSync(join(root, 'train'), join(root, 'valid_seen'))
  const { games } = await openDataset(root)
  assert.equal(
    games.map(({ key }) => key),
    [`train/${TASK}/trial_1`, `valid_seen/${TASK}/trial_1`],
  )
})

test('a zip, stored and deflated', async () => {
  const path = join(folder, 'games.zip')
  writeFileSync(
    path,
    zip([
      [`json_2.1.1/train/${TASK}/trial_1/game.tw-pddl`, game, 8],
      [`json_2.1.1/train/${TASK}/trial_2/game.tw-pddl`, game, 0],
      ['json_2.1.1/readme.txt', Buffer.from('x'), 0],
    ]),
  )
  const { games } = await openDataset(path)
  assert.equal(
    games.map(({ key }) => key),
    [`train/${TASK}/trial_1`, `train/${TASK}/trial_2`],
  )
  for (const { read } of games) assert.is(await read(), game.toString())
  writeFileSync(path, readFileSync(path).subarray(0, 5_000))
  await rejects(() => openDataset(path), /has no zip directory at its end/)
})

for (const [suffix, flag, program] of [
  ['tar', '', 'tar'],
  ['tar.gz', 'z', 'tar'],
  ['tar.xz', 'J', 'xz'],
])
  test(`a .${suffix}, with long names`, async () => {
    if (spawnSync(program, ['--version']).error) return console.log(`SKIP .${suffix}: no ${program}`)
    const source = join(folder, 'long')
    const long = `pick_and_place_simple-${'X'.repeat(90)}-None-SideTable-222`
    mkdirSync(join(source, 'train', long, 'trial_1'), { recursive: true })
    writeFileSync(join(source, 'train', long, 'trial_1', 'game.tw-pddl'), game)
    for (const format of ['gnu', 'pax']) {
      const path = join(folder, `${format}.${suffix}`)
      assert.is(spawnSync('tar', [`--format=${format}`, `-c${flag}f`, path, '-C', source, 'train']).status, 0)
      for (const place of ['first', 'from the cache']) {
        const { games } = await openDataset(path)
        assert.equal(
          games.map(({ key }) => key),
          [`train/${long}/trial_1`],
          place,
        )
        assert.is(await games[0].read(), game.toString())
      }
      truncateSync(path, Math.floor(readFileSync(path).length / 3))
      await rejects(
        () => openDataset(path),
        new RegExp(`${format}.*(cannot be unpacked|refused by xz|in the middle)`),
      )
    }
  })

test('an archive beside folders counts, but what lies there unpacked comes first', async () => {
  const root = join(folder, 'both')
  mkdirSync(join(root, 'train', TASK, 'trial_1'), { recursive: true })
  writeFileSync(join(root, 'train', TASK, 'trial_1', 'game.tw-pddl'), 'unpacked')
  writeFileSync(
    join(root, 'more.zip'),
    zip([
      [`train/${TASK}/trial_1/game.tw-pddl`, game, 8],
      [`train/${TASK}/trial_2/game.tw-pddl`, game, 8],
    ]),
  )
  const { games } = await openDataset(root)
  assert.equal(await Promise.all(games.map(async ({ read }) => (await read()).length)), [8, game.length])
})

test('what is not there, too large or damaged is said so', async () => {
  await rejects(() => openDataset(join(folder, 'nowhere')), /there is no .*nowhere/)
  const bomb = join(folder, 'bomb.tw-pddl.gz')
  writeFileSync(bomb, gzipSync(Buffer.alloc(100_000_000)))
  await rejects(() => readGameText(bomb), /bomb\.tw-pddl\.gz cannot be unpacked/)
  const large = join(folder, 'large.tw-pddl')
  writeFileSync(large, '')
  truncateSync(large, 100_000_000)
  await rejects(() => readGameText(large), /has 100000000 bytes, more than a game can have/)
  await rejects(() => archiveMembers(large), /is no \.zip, \.tar/)
})

test('all fixtures load', () => {
  for (const [path, text] of fixtureTexts()) loadGame(text, path)
})

async function rejects(run: () => Promise<unknown>, message: RegExp): Promise<void> {
  const error = await run().then(
    () => new Error('nothing was thrown'),
    (thrown) => thrown,
  )
  assert.match(String(error.message), message)
}

/** A zip archive of these members: path, data, method (0 stored, 8 deflated). */
function zip(members: readonly [path: string, data: Buffer, method: number][]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [path, data, method] of members) {
    const name = Buffer.from(path)
    const packed = method === 8 ? deflateRawSync(data) : data
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), common, tail, name]))
    locals.push(local)
    offset += local.length
  }
  const end = Buffer.alloc(18)
  end.writeUInt16LE(members.length, 4)
  end.writeUInt16LE(members.length, 6)
  end.writeUInt32LE(Buffer.concat(directory).length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, ...directory, Buffer.from('PK\x05\x06'), end])
}

test.run()
