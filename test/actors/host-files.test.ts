/** Files that a host reads from its own disk: the same as the head's, taken from the log, or refused with both digests. */
import '../../src/setting-packages.ts'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { filesRecorded } from '../../src/actors/head/record-files.ts'
import { compareFiles, withFilesOf } from '../../src/actors/host-files.ts'
import { ownFiles } from '../../src/actors/own-files.ts'
import { runFolder } from '../../src/broker/connection.ts'
import { type Config, configDigest, loggable, parseConfig } from '../../src/config.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { errorOf } from '../support/error-of.ts'
import { startHead, startProcess } from '../support/processes.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root

const started = (config: Config): NewEvent => ({
  type: 'RunStarted',
  data: {
    config: loggable(config),
    configDigest: configDigest(config),
    codeVersion: '0.0.0',
    seed: config.run.seed,
    parent: null,
  },
})

async function joined(run: string, config: Config) {
  const head = await startTestHead({ root, run })
  head.service.append([started(config), ...(await filesRecorded(config, head.log))])
  const bus = await connectBus(head.addressOf('environment'))
  const log = connectLog({ bus, run, actor: 'environment', apart: true })
  return {
    head,
    log,
    async close() {
      log.close()
      await bus.close()
      await head.close()
    },
  }
}

function withData(data: string): Config {
  return parseConfig({ environment: { source: 'data', data } })
}

async function keysOf(config: Config): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for await (const { key, sha256 } of ownFiles(config)) found[key] = sha256
  return found
}

/** A module that imports a file, and names another as its prompt. */
function moduleIn(folder: string): string {
  mkdirSync(folder, { recursive: true })
  cpSync('examples/tic-tac-toe/environment.ts', join(folder, 'environment.ts'))
  writeFileSync(join(folder, 'helper.ts'), "export const helper = 'a'\n")
  writeFileSync(join(folder, 'prompt.md'), 'Think.\n\n# User\n{{goal}}\n')
  appendFileSync(
    join(folder, 'environment.ts'),
    "\nimport './helper.ts'\nexport const prompt = new URL('./prompt.md', import.meta.url)\n",
  )
  return join(folder, 'environment.ts')
}

test('the digest of a module covers what it names, and no place of a host', async () => {
  const [a, b] = [temporaryFolder(), temporaryFolder()].map((folder) => moduleIn(join(folder, 'mine')))
  const digest = async (module: string) =>
    (await keysOf({ ...parseConfig({}), learning: { ...parseConfig({}).learning, module } }))[
      'learning.module'
    ]
  const same = await digest(a ?? '')
  assert.is(await digest(b ?? ''), same)
  appendFileSync(join(b ?? '', '..', 'prompt.md'), 'more')
  assert.is.not(await digest(b ?? ''), same)
  cpSync(join(a ?? '', '..', 'prompt.md'), join(b ?? '', '..', 'prompt.md'))
  assert.is(await digest(b ?? ''), same)
  appendFileSync(join(b ?? '', '..', 'helper.ts'), '// another')
  assert.is.not(await digest(b ?? ''), same)
})

test('small tasks that a host lacks come from the log, a folder or a file', async () => {
  const own = join(temporaryFolder(), 'tasks')
  mkdirSync(join(own, 'inner'), { recursive: true })
  writeFileSync(join(own, 'one.json'), '[1]')
  writeFileSync(join(own, 'inner', 'two.json'), '[2]')
  for (const data of [own, join(own, 'one.json')]) {
    const config = withData(data)
    const { head, log, close } = await joined(`data-${data === own ? 'folder' : 'file'}`, config)
    assert.is(await withFilesOf(log, config), config, 'what is there is used')
    renameSync(own, `${own}.away`)
    try {
      const place = (await withFilesOf(log, config)).environment.data ?? ''
      assert.is.not(place, data)
      assert.ok(place.startsWith(runFolder(log.run).folder))
      const one = data === own ? join(place, 'one.json') : place
      assert.is(readFileSync(one, 'utf8'), '[1]')
      assert.is(existsSync(join(place, 'inner', 'two.json')), data === own)
      writeFileSync(one, 'damaged')
      assert.is((await withFilesOf(log, config)).environment.data, place)
      assert.is(readFileSync(one, 'utf8'), '[1]', 'a damaged copy is made anew')
      assert.ok(verifyLog(head.log).ok)
    } finally {
      renameSync(`${own}.away`, own)
      await close()
    }
  }
})

test('large tasks are not sent: a host with others is refused with both digests', async () => {
  const data = join(temporaryFolder(), 'large.json')
  writeFileSync(data, Buffer.alloc(17 * 1024 * 1024))
  const config = withData(data)
  const { log, close } = await joined('large', config)
  const there = (await keysOf(config))['environment.data'] ?? ''
  appendFileSync(data, 'x')
  const here = (await keysOf(config))['environment.data'] ?? ''
  const error = await errorOf(withFilesOf(log, config))
  assert.is(error.code, 'host.other-files')
  for (const part of [data, here, there]) assert.match(error.message, part)
  rmSync(data)
  const missing = await errorOf(withFilesOf(log, config))
  assert.match(missing.message, `${data} is not on this host; the head has SHA-256 ${there}`)
  await close()
})

test('a prompt that a module names by a made path is compared as well', async () => {
  const folder = temporaryFolder()
  const module = join(folder, 'environment.ts')
  const prompt = join(folder, 'numbered.md')
  writeFileSync(prompt, 'A prompt.\n\n# User\n{{goal}}\n')
  writeFileSync(
    module,
    readFileSync('examples/tic-tac-toe/environment.ts', 'utf8').replace(
      "kind: 'choices'",
      `kind: 'choices', prompts: { numbered: ${JSON.stringify(folder)} + '/' + 'numbered.md', free: '' }`,
    ),
  )
  const { openConfig } = await import('../../src/config.ts')
  const config = await openConfig({ set: [`environment.module=${module}`] })
  const { log, close } = await joined('prompts', config)
  const keys: string[] = []
  for await (const { key, result } of compareFiles(log, config)) {
    assert.is(result, 'same')
    keys.push(key)
  }
  assert.equal(keys, ['environment.module', 'tic-tac-toe.acting.prompts.numbered'])
  appendFileSync(prompt, 'more')
  const error = await errorOf(withFilesOf(log, config))
  assert.is(error.code, 'host.other-files')
  assert.match(error.message, prompt)
  await close()
})

test('a role with another module is refused at its start, and the check of a host shows it', async () => {
  const folder = temporaryFolder()
  const module = moduleIn(folder)
  const runs = temporaryFolder()
  const set = [`environment.module=${module}`, 'environment.tasks=6', 'run.iterations=1']
  const head = startHead(runs, 'mine', set, {}, ['--cluster', '127.0.0.1', '--roles', 'policy'])
  await until('a head', () => existsSync(runFolder('mine', runs).connection))
  const file = join(temporaryFolder(), 'environment.join')
  const written = startProcess(['src/rl.ts', 'join', 'mine', '--role', 'environment', '-o', file], {
    RL_RUNS: runs,
  })
  assert.is(await written.status, 0, written.output())
  const doctor = () => startProcess(['src/rl.ts', 'doctor', '--join', file], { RL_RUNS: temporaryFolder() })
  const fine = doctor()
  assert.is(await fine.status, 0, fine.output())
  assert.match(fine.output(), /files +environment\.module: [0-9a-f]{12}, as on the head's host/)

  appendFileSync(join(folder, 'helper.ts'), '// changed on the other host\n')
  const role = startProcess(['src/main.ts', '--join', file], { RL_RUNS: temporaryFolder() })
  assert.is(await role.status, 1, role.output())
  assert.match(
    role.output(),
    /environment\.module: .*environment\.ts is not the head's: SHA-256 [0-9a-f]{64} here, [0-9a-f]{64}\s+there/,
  )
  const told = doctor()
  assert.is(await told.status, 1)
  assert.match(told.output(), /is not the head's/)

  rmSync(module)
  const lacking = startProcess(['src/main.ts', '--join', file], { RL_RUNS: temporaryFolder() })
  assert.is(await lacking.status, 1, lacking.output())
  assert.match(lacking.output(), /there is no file .*environment\.ts; the head has SHA-256 [0-9a-f]{64}/)

  head.process.kill('SIGTERM')
  await head.status
  const log = openLogReader(runFolder('mine', runs).log)
  const recorded = [...log.events({ types: ['OwnFilesRecorded'] })]
  assert.is(recorded.length, 1)
  assert.not.match(JSON.stringify(recorded[0]?.data), folder)
  log.close()
})

test.run()
