/** One model in memory that many use: each finds the weights of the version that it asked for. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { residentModel } from '../../../src/actors/learner/resident-model.ts'
import type { TrainableModel } from '../../../src/models/port.ts'

/** Turns of the event loop in which the works below end many times over. */
const TURNS = 500

/** Each opened model has its own weights. A work is told what they are. */
function openWithSpares(spares: number) {
  const loads: string[] = []
  const opened = (trained: boolean) => async (folder: string) => {
    const face = { holds: '', trained, model: {} as unknown as TrainableModel }
    const load = async (from: string) => {
      loads.push(from)
      await new Promise(setImmediate)
      face.holds = from
    }
    face.model = { load, async close() {} } as unknown as TrainableModel
    await load(folder)
    return face
  }
  const folderOf = async (version: number) => `v${version}`
  const resident = residentModel({ folderOf, open: opened(true), spares, openSpare: opened(false) })
  return { resident, loads }
}

function openCounting() {
  let holds = ''
  let loads = 0
  const take = async (folder: string) => {
    loads++
    await new Promise(setImmediate)
    holds = folder
  }
  const resident = residentModel({
    folderOf: async (version) => `v${version}`,
    async open(folder) {
      await take(folder)
      return { model: { load: take, async close() {} } as unknown as TrainableModel }
    },
  })
  return { resident, holds: () => holds, loads: () => loads }
}

test('users of two versions at a time all get their weights, each by one load at most', async () => {
  const { resident, holds, loads } = openCounting()
  const seen: string[] = []
  const asked = [1, 2, 1, 2, 2, 1]
  const all = asked.map((version) =>
    resident.use(version, async () => {
      await new Promise(setImmediate)
      seen.push(`${version} ${holds()}`)
      return version
    }),
  )
  let done = false
  void Promise.all(all).then(() => {
    done = true
  })
  for (let turn = 0; turn < TURNS && !done; turn++) await new Promise(setImmediate)
  assert.ok(done, `${seen.length} of ${asked.length} were served after ${loads()} loads`)
  assert.equal(await Promise.all(all), asked)
  assert.equal(seen.sort(), ['1 v1', '1 v1', '1 v1', '2 v2', '2 v2', '2 v2'])
  assert.ok(loads() <= asked.length)
})

test('users of one version share its weights, a change waits for them, and a work that fails is its own fault', async () => {
  const { resident, holds, loads } = openCounting()
  const order: string[] = []
  const using = (name: string) =>
    resident.use(0, async () => {
      await new Promise(setImmediate)
      order.push(name)
    })
  const failing = resident.use(0, () => Promise.reject(new Error('own'))).catch(({ message }) => message)
  const first = [using('a'), using('b')]
  await first[0]
  const change = resident.change(0, 1, async () => {
    order.push('change')
  })
  const after = resident.use(1, async () => order.push('after'))
  await Promise.all([...first, change, after])
  assert.is(await failing, 'own')
  assert.equal(order, ['a', 'b', 'change', 'after'])
  assert.is(loads(), 1)
  assert.is(holds(), 'v0')
  await resident.close()
})

test('users of two versions that take turns load each once if there is a spare', async () => {
  for (const spares of [0, 1]) {
    const { resident, loads } = openWithSpares(spares)
    for (let turn = 0; turn < 4; turn++)
      for (const version of [1, 2])
        assert.is(await resident.use(version, async ({ holds }) => holds), `v${version}`)
    assert.is(loads.length, spares === 0 ? 8 : 2)
    await resident.close()
  }
})

test('an earlier version is used while the next one is made, and the oldest spare gives way', async () => {
  const { resident, loads } = openWithSpares(2)
  await resident.ready(3)
  const used: string[] = []
  const use = (version: number) =>
    resident.use(version, async ({ holds, trained }) => void used.push(`${holds} ${trained}`))
  await resident.change(3, 4, async () => {
    await use(3)
    await use(2)
    await use(3)
  })
  await use(4)
  await use(1)
  await use(3)
  assert.equal(used, ['v3 false', 'v2 false', 'v3 false', 'v3 true', 'v1 false', 'v3 false'])
  assert.equal(loads, ['v3', 'v3', 'v2', 'v1'])
  await resident.close()
})

test('weights that are missing are no fault of the work that asks: it waits, and what is broken is told', async () => {
  const resident = residentModel({
    folderOf: (version) => Promise.reject(new Error(`version ${version} is missing`)),
    open: () => Promise.reject(new Error('nothing is opened')),
  })
  const messageOf = (error: unknown) => (error as Error).message
  assert.is(await resident.ready(3).catch(messageOf), 'version 3 is missing')
  let settled = false
  const end = () => {
    settled = true
  }
  resident.use(4, async () => {}).then(end, end)
  assert.is(messageOf(await resident.broken), 'version 4 is missing')
  for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate)
  assert.is(settled, false)
  await resident.close()
})

test.run()
