import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openSharedWeights } from '../../../src/models/local/backend/shared-weights.ts'
import { prepareWasm } from '../../../src/models/local/backend/wasm.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { cachePlace } from '../../../src/package.ts'
import { processText, THIS_PROCESS } from '../../../src/platform/process-id.ts'
import { SUPERVISED_STEP, tryBackend } from './fixtures.ts'

const folder = mkdtempSync(join(tmpdir(), 'shared-weights-'))
test.after(() => rmSync(folder, { recursive: true }))

const HOUSE = cachePlace('shared-weights', hostname())
const FLOATS = 500_000

/** What lies on files of this folder in this process, in kB: counted for each mapping, and each page counted once. */
function mapped(under: string): { counted: number; once: number; own: number } {
  const sums = { counted: 0, once: 0, own: 0 }
  let inside = false
  for (const line of readFileSync('/proc/self/smaps', 'utf8').split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) inside = line.includes(under)
    const [, key, kb] = /^(Rss|Pss|Anonymous):\s+(\d+) kB/.exec(line) ?? []
    if (!inside || key === undefined) continue
    sums[key === 'Rss' ? 'counted' : key === 'Pss' ? 'once' : 'own'] += Number(kb)
  }
  return sums
}

async function opened(name: string) {
  const heap = await prepareWasm()
  const under = join(folder, name)
  const shared = await openSharedWeights(heap, under)
  const tensor = heap.make([FLOATS])
  const values = () => heap.floats(heap.pointer(tensor), FLOATS)
  values().set(Float32Array.from({ length: FLOATS }, (_, i) => i / 7))
  return { heap, under, shared: shared!, tensor, values, before: values().slice() }
}

const linux = process.platform === 'linux' && (await tryBackend('wasm-blas'))

if (linux) {
  test('a weight keeps its values on a file, and what is written to it reaches neither the file nor others', async () => {
    const { under, shared, tensor, values, before } = await opened('plain')
    shared.share(tensor)
    assert.equal(values(), before)
    assert.ok(mapped(under).counted > (4 * FLOATS) / 1024 - 8)
    const [file] = readdirSync(under).filter((name) => !name.endsWith('.user'))
    const stored = readFileSync(join(under, file))
    values()[FLOATS / 2] = -1
    assert.equal(readFileSync(join(under, file)), stored)
    assert.ok(mapped(under).own <= 64, `${mapped(under).own} kB`)
    shared.close()
    assert.equal(readdirSync(under), [])
    assert.is(values()[FLOATS / 2], -1)
    assert.is(values()[FLOATS - 1], before[FLOATS - 1])
  })

  test('a file of other bytes under the same name is not used', async () => {
    const { under, shared, tensor, values, before } = await opened('damaged')
    shared.share(tensor)
    const [file] = readdirSync(under).filter((name) => !name.endsWith('.user'))
    const bytes = readFileSync(join(under, file))
    for (const wrong of [bytes.map((byte) => byte ^ 1), bytes.subarray(0, 100), Buffer.alloc(0)]) {
      rmSync(join(under, file))
      writeFileSync(join(under, file), wrong)
      shared.share(tensor)
      assert.equal(values(), before)
    }
    shared.close()
  })

  test('what a process of another container uses stays: nobody can look whether it lives', async () => {
    const under = join(folder, 'container')
    mkdirSync(under)
    const mark = `${processText({ ...THIS_PROCESS, place: '0000000000000000' })}-1.user`
    for (const name of [mark, 'used']) writeFileSync(join(under, name), 'weights')
    const { shared } = await opened('container')
    shared.close()
    assert.equal(readdirSync(under).sort(), [mark, 'used'])
  })

  test('what a killed process left goes with the next one', async () => {
    const under = join(folder, 'killed')
    mkdirSync(under)
    const [gone, former] = [`${processText({ ...THIS_PROCESS, pid: 4194305 })}-1.user`, '4194305-1.user']
    for (const mark of [gone, former]) writeFileSync(join(under, mark), '')
    utimesSync(join(under, former), 1, 1)
    writeFileSync(join(under, 'left'), 'weights')
    const { shared } = await opened('killed')
    assert.equal(
      readdirSync(under).map((name) => name.endsWith('.user')),
      [true],
    )
    shared.close()
    assert.equal(readdirSync(under), [])
  })

  test('no room and no folder leave the weight in memory', async () => {
    const { under, shared, tensor, values, before } = await opened('gone')
    rmSync(under, { recursive: true })
    shared.share(tensor)
    assert.equal(values(), before)
    assert.is(mapped(under).counted, 0)
    shared.close()
    writeFileSync(join(folder, 'file'), '')
    assert.is(await openSharedWeights(await prepareWasm(), join(folder, 'file')), undefined)
  })

  test('two adapters on one base have it in memory once, and compute and learn as one whose weights are its own', async () => {
    const files = trainWordTokenizer({ words: ['go to the cabinet', 'open fridge', 'look around'] })
    const tokenizer = createTokenizer(files)
    const shape = { vocabSize: tokenizer.size, contextTokens: 256, endToken: tokenizer.endToken }
    const config = { ...presetConfig('nano', shape), hiddenSize: 256, intermediateSize: 1024 }
    const base = join(folder, 'base')
    const whole = await openLocalModel({
      config,
      tokenizer: files,
      seed: 1,
      backend: 'wasm-blas',
      trains: true,
    })
    await whole.save(base)
    const lora = { rank: 4, alpha: 8, targets: ['q_proj', 'down_proj'], seed: 1 }
    const open = () => openLocalModel({ folder: base, lora, backend: 'wasm-blas', trains: true })
    const before = mapped(HOUSE)
    const models = [await open(), await open()]
    const tokens = Int32Array.from({ length: 64 }, (_, t) => 200 + (t % 7))
    const mask = Uint8Array.from(tokens, (_, t) => (t > 0 ? 1 : 0))
    const score = async (model: (typeof models)[number]) => (await model.score([{ tokens, mask }]))[0]
    const expected = await score(whole)
    for (const model of models) assert.equal(await score(model), expected)
    const both = mapped(HOUSE)
    const counted = both.counted - before.counted
    // 2 layers: three matrices of 1 MB and more each.
    assert.ok(counted > 2 * 2 * 3 * 1000, `${counted} kB`)
    assert.ok(both.once - before.once < 0.55 * counted, `${both.once - before.once} of ${counted} kB`)
    const sample = { id: 'one', tokens, mask, advantages: Float32Array.from(mask), logprobs: expected }
    await models[0].update([sample], SUPERVISED_STEP)
    assert.not.equal(await score(models[0]), expected)
    assert.equal(await score(models[1]), expected)
    assert.is(mapped(HOUSE).own, before.own)
    for (const model of [...models, whole]) await model.close()
  })
}

test.run()
