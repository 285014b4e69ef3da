/** A config that names its model as on a hub: the head fetches it from a server on loopback with the hub's routes, then plays. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { hubFolder } from '../src/models/hub-folder.ts'
import { startHead } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'
import { writeTinyChatModel } from './support/tiny-chat-model.ts'

const NAME = `rlanything-test/chat-${process.pid}`
const root = temporaryFolder()
const model = join(root, 'served')
const FILES = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'model.safetensors',
]

/** Files that were asked for, in order. */
const served: string[] = []
const server = createServer((request, response) => {
  const path = new URL(request.url ?? '', 'http://hub').pathname
  if (path === `/api/models/${NAME}/revision/main`) {
    const siblings = FILES.map((rfilename) => {
      const content = readFileSync(join(model, rfilename))
      const sha256 = createHash('sha256').update(content).digest('hex')
      return { rfilename, lfs: { sha256, size: content.length } }
    })
    response.end(JSON.stringify({ sha: 'abcdef1234', cardData: { license: 'apache-2.0' }, siblings }))
    return
  }
  const file = FILES.find((name) => path === `/${NAME}/resolve/abcdef1234/${name}`)
  if (file === undefined) {
    response.writeHead(404).end()
    return
  }
  served.push(file)
  response.end(readFileSync(join(model, file)))
})

test.before(async () => {
  await writeTinyChatModel(model, 30)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
test.after(() => {
  server.close()
  rmSync(dirname(hubFolder(NAME)), { recursive: true, force: true })
})

const SETTINGS = [
  ...[`policy.model=${NAME}`, 'policy.acting=numbered', 'rewardModel.mode=off'],
  ...['learning.reward=outcome', 'adaptation.enabled=false', 'run.iterations=1', 'evaluation.splits=[]'],
  ...['environment.tasks=2', 'environment.tasksPerIteration=1', 'environment.rolloutsPerTask=2'],
  ...['environment.maxSteps=2', 'environment.minGroupSize=2'],
]

test('its size and licence stand in the plan, then it is fetched, once for all runs', async () => {
  const { port } = server.address() as AddressInfo
  const env = { HF_ENDPOINT: `http://127.0.0.1:${port}` }
  const first = startHead(root, 'first', SETTINGS, env)
  assert.is(await first.status, 0, first.output())
  // The plan is wrapped at the columns of a terminal.
  assert.match(
    first.output().replace(/\s+/g, ' '),
    new RegExp(`policy +local ${NAME} \\([\\d.]+ MB, licence apache-2.0, to be fetched into .*models`),
  )
  assert.match(first.output(), /^model\.safetensors 100 % of [\d.]+ MB$/m)
  assert.equal(served, FILES)
  assert.ok(existsSync(join(hubFolder(NAME), 'model.safetensors')))
  // Without the hub it is here all the same.
  server.closeAllConnections()
  const second = startHead(root, 'second', SETTINGS, { HF_ENDPOINT: 'http://127.0.0.1:9' })
  assert.is(await second.status, 0, second.output())
  assert.match(second.output().replace(/\s+/g, ' '), /licence apache-2.0, in .*models/)
  assert.is(served.length, FILES.length)
})

test('what is not here and nobody serves is told with what to put where', async () => {
  const head = startHead(root, 'none', [...SETTINGS, 'policy.model=nobody/has-it'], {
    HF_ENDPOINT: 'http://127.0.0.1:9',
  })
  assert.is(await head.status, 1)
  assert.match(
    head.output(),
    /nobody\/has-it: .* cannot be reached.*tokenizer\.json.*\.cache\/models\/nobody\/has-it/s,
  )
})

test.run()
