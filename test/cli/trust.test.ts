/** Modules that a log names: nobody's run executes them by being looked at, gone on with or forked, unless its own user began it. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkActing, checkModules, markOwn } from '../../src/actors/head/own-runs.ts'
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
const place = temporaryFolder()
const mark = join(place, 'ran')
const original = unpackFixture(root)
let modules = 0

/** A module that leaves a mark if it is run, in a folder. */
function moduleIn(folder: string): string {
  const file = join(folder, `notes-${modules++}.mjs`)
  const lists = [
    'projections',
    'stepRewards',
    'advantages',
    'groupFilters',
    'taskSamplers',
    'acceptanceRules',
  ]
  const text = `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(mark)}, 'x')\n`
  writeFileSync(file, `${text}${lists.map((name) => `export const ${name} = []`).join('\n')}\n`)
  return file
}

/** The committed run under another name, whose config names the module. */
function gift(run: string, change: (config: Record<string, Record<string, unknown>>) => void): RunFolder {
  return copyRun(original, runFolder(run, root), {
    change(event) {
      if (event.type !== 'RunStarted') return event
      const config = structuredClone(event.data.config) as Record<string, Record<string, unknown>>
      change(config)
      return { ...event, data: { ...event.data, config } }
    },
  })
}

/** What a command prints, and whether the module ran. */
async function call(...words: readonly string[]) {
  rmSync(mark, { force: true })
  const started = startProcess(words, { RL_RUNS: root })
  return { status: await started.status, output: started.output(), ran: existsSync(mark) }
}

const rl = (...words: readonly string[]) => call('src/rl.ts', ...words)

const LOOKS = [
  'why R step 1/train-00000/0#0',
  'replay R --until 5',
  'rescore R --set learning.lambda=0.5',
  `export R --format jsonl -o ${join(place, 'rows')}`,
  'whatif R --steps 1',
  'eval --run R --tasks 1',
]
const READS = ['why R version policy/1', 'attest R', 'diff R R', 'eval --logged R', 'log R tail', 'status R']

const outside = moduleIn(place)
for (const [name, change] of [
  ['rules', (config) => (config.learning = { ...config.learning, module: outside })],
  ['setting', (config) => (config.environment = { ...config.environment, module: outside })],
  ['figures', (config) => (config.projections = { modules: [outside] })],
] as const satisfies readonly (readonly [string, Parameters<typeof gift>[1]])[]) {
  gift(name, change)
  test(`a run of somebody else that names ${name} of its own runs nothing`, async () => {
    const calls = [
      ...LOOKS.map((words) => ({ words, refused: true })),
      ...READS.map((words) => ({ words, refused: false })),
    ]
    for (const { words, refused } of name === 'rules' ? calls : calls.slice(0, 2)) {
      const { status, output, ran } = await rl(...words.replaceAll(' R', ` ${name}`).split(' '))
      assert.not(ran, words)
      if (refused) {
        assert.is(status, 1, output)
        assert.match(output, `names code that is not run by looking at it: ${outside}`)
        assert.match(output, '--trust')
      } else assert.not.match(output, '--trust')
    }
    const head = await call('src/main.ts', '--role', 'head', '--run', name)
    assert.not(head.ran, head.output)
    assert.match(head.output, '--trust')
  })
}

for (const [name, key, value] of [
  ['server', 'policy.baseUrl', 'http://127.0.0.1:9/v1'],
  ['replica', 'policy.publish.replicas.0', 'http://127.0.0.1:9/v1'],
  ['rewriter', 'adaptation.expert.apiKeyEnv', 'AWS_SECRET_ACCESS_KEY'],
  ['page', 'environment.web.browser', '/tmp/any'],
  ['interpreter', 'environment.coding.sandbox.expert.python', '/tmp/any'],
  ['machine', 'environment.desktop.servers.0', 'http://127.0.0.1:9'],
  ['tasks', 'environment.mcp.taskServers', true],
] as const) {
  gift(name, (config) => put(config, key, value))
  test(`a run of somebody else does not reach what it names: ${key}`, async () => {
    for (const words of [
      ['src/main.ts', '--role', 'head', '--run', name],
      ['src/rl.ts', 'eval', '--run', name, '--tasks', '1'],
    ]) {
      const { status, output } = await call(...words)
      assert.is(status, 1, output)
      const line = output.replaceAll(/\s+/g, ' ')
      assert.match(line, `names servers, variables or programs of its own: ${key} "${value}"`)
      assert.match(line, '--trust')
    }
  })
}

/** Sets a value of a config by its path. Numbers are places of a list. */
function put(config: Record<string, unknown>, key: string, value: unknown): void {
  const [name, ...rest] = key.split('.')
  if (rest.length === 0) config[name] = value
  else if (rest[0] === '0') config[name] = [value]
  else {
    const inner = { ...(config[name] as Record<string, unknown> | undefined) }
    config[name] = inner
    put(inner, rest.join('.'), value)
  }
}

test("whether a run reaches servers is its own user's matter", () => {
  const own = gift('reaching', (config) => put(config, 'policy.baseUrl', 'http://name:word@127.0.0.1:9/v1'))
  const log = openLogReader(own.log)
  assert.throws(() => checkActing(log, false), /policy\.baseUrl "http:\/\/\*\*\*@127/)
  checkActing(log, true)
  checkModules(log, false)
  markOwn(log)
  checkActing(log, false)
  log.close()
})

test('--trust runs what is named', async () => {
  assert.ok((await rl('replay', 'rules', '--until', '5', '--trust')).ran)
  assert.ok((await rl('projections', 'figures', 'show', 'accuracy', '--trust')).ran)
})

test('the own run needs no word, nor does its fork; a copy of it in another place does', async () => {
  const own = gift('own', (config) => (config.projections = { modules: [outside] }))
  const log = openLogReader(own.log)
  markOwn(log)
  log.close()
  const shown = await rl('projections', 'own', 'show', 'accuracy')
  assert.ok(shown.ran, shown.output)
  assert.is((await rl('fork', 'own', '--at', '20', '--as', 'branch')).status, 0)
  assert.ok((await rl('projections', 'branch', 'show', 'accuracy')).ran)
  const copy = copyRun(own, runFolder('copy', root), {})
  assert.ok(existsSync(copy.log))
  assert.not((await rl('projections', 'copy', 'show', 'accuracy')).ran)
})

test('what lies in the folder of a run needs the word for an own run too', async () => {
  const inside = moduleIn(original.folder)
  const own = gift('inside', (config) => (config.projections = { modules: [inside] }))
  const log = openLogReader(own.log)
  markOwn(log)
  log.close()
  const refused = await rl('projections', 'inside', 'show', 'accuracy')
  assert.not(refused.ran)
  assert.match(refused.output, 'lies in the folder of a run')
  assert.ok((await rl('projections', 'inside', 'show', 'accuracy', '--trust')).ran)
})

test.run()
