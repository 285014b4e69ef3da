import '../support/packages.ts'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { configKeys, variableOf } from '../../src/config/keys.ts'
import {
  type ConfigSources,
  configDigest,
  loadConfig,
  loggable,
  loggedConfig,
  parseConfig,
} from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'rl-config-'))
test.after(() => rmSync(folder, { recursive: true }))

/** A policy behind an endpoint, with nobody that judges it. */
const ENDPOINT = [
  'policy.provider=openai',
  'policy.model=x',
  'rewardModel.mode=off',
  'learning.reward=outcome',
]

function fileWith(text: string): string {
  const file = join(folder, 'run.yaml')
  writeFileSync(file, text)
  return file
}

function refusal(sources: ConfigSources): RlError {
  try {
    loadConfig(sources)
  } catch (error) {
    if (error instanceof RlError) return error
    throw error
  }
  throw new Error('the config was taken')
}

test('without any source every key has its default, and config/co-trained.yaml says nothing else', () => {
  assert.equal(loadConfig({ file: 'config/co-trained.yaml' }), loadConfig({}))
})

test('every file under config/ is valid once it has its data', () => {
  for (const name of readdirSync('config').filter((file) => file.endsWith('.yaml'))) {
    const file = `config/${name}`
    const { source } = parse(readFileSync(file, 'utf8')).environment ?? {}
    loadConfig({ file, set: source === 'data' ? ['environment.data=somewhere'] : [] })
  }
})

test('every key has a description', () => {
  for (const { path, description } of configKeys()) assert.ok(description.length > 5, path.join('.'))
})

test('--set wins over the environment, which wins over the file', () => {
  const file = fileWith('run:\n  seed: 3\n  iterations: 4\n  evaluateEvery: 2\n')
  const env = { RL_RUN_ITERATIONS: '5', RL_RUN_EVALUATE_EVERY: '3', RL_TEST_DEADLINE_MS: '1' }
  const { run } = loadConfig({ file, env, set: ['run.evaluateEvery=6'] })
  assert.equal([run.seed, run.iterations, run.evaluateEvery], [3, 5, 6])
})

test('an unknown key is refused with file, line and the nearest right key', () => {
  const error = refusal({ file: fileWith('# a run\nrun:\n  sed: 3\n') })
  assert.match(error.message, /run\.yaml:3: unknown key 'run\.sed'/)
  assert.is(error.hint, "did you mean 'run.seed'?")
  assert.is(error.code, 'config.unknown-key')
})

test('a key in the wrong section is pointed to the right one', () => {
  assert.is(
    refusal({ file: fileWith('policy:\n  rolloutsPerTask: 3\n') }).hint,
    "did you mean 'environment.rolloutsPerTask'?",
  )
})

test('types of tasks are those of the setting', () => {
  const { environment } = loadConfig({ set: ['environment.taskTypes=[pick_two_obj_and_place]'] })
  assert.equal(environment.taskTypes, ['pick_two_obj_and_place'])
  const odd = refusal({ set: ['environment.taskTypes=[pick_two_objs_and_place]'] })
  assert.match(
    odd.message,
    /environment\.taskTypes: the setting 'alfworld' has no type 'pick_two_objs_and_place'/,
  )
  assert.is(odd.hint, 'did you mean pick_two_obj_and_place?')
  const none = refusal({ set: ['environment.name=gym', 'environment.gym.id=x', 'environment.taskTypes=[a]'] })
  assert.match(none.message, /the setting 'gym' has no types/)
})

test('random names are for settings that have them', () => {
  const set = 'environment.domainRandomization=true'
  assert.is(loadConfig({ set: [set] }).environment.domainRandomization, true)
  const none = refusal({ set: ['environment.name=gym', 'environment.gym.id=x', set] })
  assert.match(none.message, /environment\.domainRandomization: the setting 'gym' has no random names/)
})

test('unknown names in --set and in the environment are refused as such', () => {
  const set = refusal({ set: ['polcy.temperature=1'] })
  assert.match(set.message, /--set polcy\.temperature: unknown key 'polcy'/)
  assert.is(set.hint, "did you mean 'policy'?")
  const env = refusal({ env: { RL_POLICY_TEMPERATUR: '1' } })
  assert.match(env.message, /environment variable RL_POLICY_TEMPERATUR/)
  assert.is(env.hint, "did you mean 'RL_POLICY_TEMPERATURE'?")
})

test('a value of the wrong type names its place and what is expected', () => {
  const error = refusal({ file: fileWith('run:\n  iterations: many\n') })
  assert.match(error.message, /run\.yaml:2: run\.iterations: /)
  assert.match(error.hint ?? '', /Expected: integer/)
})

test('files that are missing or broken, and words without =, are refused', () => {
  assert.is(refusal({ file: join(folder, 'none.yaml') }).code, 'config.file')
  assert.match(refusal({ file: fileWith('run: [1\n') }).message, /run\.yaml:\d+: /)
  assert.is(refusal({ file: fileWith('- 1\n') }).code, 'config.yaml')
  assert.is(refusal({ set: ['run.seed'] }).code, 'config.usage')
  assert.is(refusal({ set: ['__proto__.x=1'] }).code, 'config.usage')
})

test('a text that YAML refuses for its first character is taken as it is by --set and variables', () => {
  const { environment } = loadConfig({ set: ['environment.module=@me/env'] })
  assert.is(environment.module, '@me/env')
  assert.is(loadConfig({ env: { RL_ENVIRONMENT_MODULE: '@me/env' } }).environment.module, '@me/env')
  assert.is(refusal({ set: ['environment.data=[1'] }).code, 'config.yaml')
})

test('a file in another encoding is refused as that', () => {
  const file = join(folder, 'wide.yaml')
  for (const [bytes, told] of [
    [Buffer.from('\ufeffrun:\n  seed: 3\n', 'utf16le'), /wide\.yaml:1: this is UTF-16LE/],
    [Buffer.from('run:\n  seed: 3\n', 'utf16le'), /wide\.yaml:1: this is UTF-16LE/],
    [
      Buffer.from('environment:\n  data: caf\xe9\n', 'latin1'),
      /wide\.yaml:2: byte 12 of the line \(0xE9\) is not UTF-8/,
    ],
  ] as const) {
    writeFileSync(file, bytes)
    assert.match(refusal({ file }).message, told)
  }
  writeFileSync(file, '\ufeffrun:\n  seed: 3\n')
  assert.is(loadConfig({ file }).run.seed, 3)
})

test("how a policy acts follows the setting's actions where nothing is said", () => {
  const texts = ['environment={name: coding}', 'rewardModel.judging=group']
  assert.is(loadConfig({ set: texts }).policy.acting, 'free')
  assert.is(loadConfig({}).policy.acting, 'choices')
  assert.is(
    loggedConfig({ ...loadConfig({ set: texts }), policy: loadConfig({}).policy }).policy.acting,
    'choices',
  )
})

test('a key is read under the name that it had before', () => {
  const sizeOf = (sources: ConfigSources) => loadConfig(sources).environment.minGroupSize
  assert.is(sizeOf({ file: fileWith('environment:\n  leastGroup: 3\n') }), 3)
  assert.is(sizeOf({ env: { RL_ENVIRONMENT_LEAST_GROUP: '3' } }), 3)
  const file = fileWith('environment:\n  minGroupSize: 5\n')
  assert.is(sizeOf({ file, set: ['environment.leastGroup=3'] }), 3)
  const freeOf = (sources: ConfigSources) => loadConfig(sources).run.expert.keepFreeMegabytes
  assert.is(freeOf({ file: fileWith('log:\n  keepFreeMegabytes: 7\n') }), 7)
  assert.is(freeOf({ set: ['log={keepFreeMegabytes: 7}'] }), 7)
  assert.is(loggedConfig({ log: { keepFreeMegabytes: 7 } }).run.expert.keepFreeMegabytes, 7)
  assert.match(refusal({ file: fileWith('log:\n  keep: 7\n') }).message, /run\.yaml:1: unknown key 'log'/)
  const { minGroupSize, ...environment } = loadConfig({}).environment
  assert.is(
    loggedConfig({ environment: { ...environment, leastGroup: minGroupSize + 1 } }).environment.minGroupSize,
    5,
  )
})

test('a fine point may be written without the map that holds it, whatever gives it', () => {
  const betaOf = (sources: ConfigSources) => loadConfig(sources).policy.training.expert.beta1
  const short = fileWith('policy:\n  training:\n    beta1: 0.5\n')
  assert.is(betaOf({ file: short }), 0.5)
  assert.is(betaOf({ file: short, set: ['policy.training.expert.beta1=0.6'] }), 0.6)
  assert.is(betaOf({ env: { RL_POLICY_TRAINING_BETA1: '0.7' } }), 0.7)
  assert.is(betaOf({ env: { RL_POLICY_TRAINING_EXPERT_BETA1: '0.8' } }), 0.8)
  assert.match(
    refusal({ file: fileWith('learning:\n  overlong:\n    factor: -1\n') }).message,
    /run\.yaml:3: /,
  )
  assert.match(
    refusal({ set: ['environment.resetOptimizer=true'] }).hint ?? '',
    'training.expert.resetOptimizer',
  )
})

test('two names of one key with two values are refused by both names', () => {
  const message = (one: string, two: string) => `${one} and ${two} are the same key, and their values differ`
  const both = (value: number) =>
    fileWith(`policy:\n  training:\n    expert: { beta1: 0.4 }\n    beta1: ${value}\n`)
  const error = refusal({ file: both(0.5) })
  assert.is(
    error.message,
    `${both(0.5)}:4: ${message('policy.training.expert.beta1', 'policy.training.beta1')}`,
  )
  assert.is(error.code, 'config.invalid')
  assert.is(error.hint, 'keep policy.training.expert.beta1')
  assert.is(loadConfig({ file: both(0.4) }).policy.training.expert.beta1, 0.4)
  const [former, present] = ['environment.leastGroup', 'environment.minGroupSize']
  assert.is(
    refusal({ set: [`${former}=3`, `${present}=5`] }).message,
    `--set ${present}: ${message(former, present)}`,
  )
  const env = { RL_ENVIRONMENT_LEAST_GROUP: '3', RL_ENVIRONMENT_MIN_GROUP_SIZE: '5' }
  assert.match(refusal({ env }).message, /environment\.leastGroup and environment\.minGroupSize are the same/)
  assert.match(refusal({ set: ['environment={leastGroup: 3, minGroupSize: 5}'] }).message, /are the same key/)
  assert.is(loadConfig({ set: [`${present}=3`, `${present}=5`] }).environment.minGroupSize, 5)
  assert.is(loggedConfig({ environment: { leastGroup: 3, minGroupSize: 5 } }).environment.minGroupSize, 5)
})

test('a log of an older run is read with all keys where they stood', () => {
  const config = loadConfig({ set: ['policy.training.beta1=0.5', 'learning.overlong.factor=2'] })
  const flat = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const { expert = {}, ...usual } = value as Readonly<Record<string, unknown>>
    return Object.fromEntries(
      Object.entries({ ...usual, ...(expert as object) }).map(([key, inner]) => [key, flat(inner)]),
    )
  }
  const { keepFreeMegabytes, ...run } = flat(config.run) as Record<string, unknown>
  const logged = { ...(flat(config) as object), run, log: { keepFreeMegabytes } }
  assert.equal(loggedConfig(logged), config)
})

test('keys of a setting that stood in the section itself are read, whatever gives them', () => {
  const webOf = (sources: ConfigSources) =>
    (loadConfig(sources).environment as unknown as { web: { scale: number; pages: number } }).web
  const old = fileWith('environment:\n  name: web\n  scale: 3\n  pages: 5\n')
  assert.is(webOf({ file: old }).scale, 3)
  const { scale, pages } = webOf({ file: old, set: ['environment.web.scale=4'] })
  assert.equal([scale, pages], [4, 5])
  assert.is(webOf({ file: old, set: ['environment.scale=2'] }).scale, 2)
  const present = fileWith('environment:\n  web: { scale: 3 }\n')
  assert.is(webOf({ file: present, set: ['environment.scale=2', 'environment.name=web'] }).scale, 2)
  assert.is(webOf({ env: { RL_ENVIRONMENT_SCALE: '2' }, set: ['environment.name=web'] }).scale, 2)
  assert.is(webOf({ env: { RL_ENVIRONMENT_WEB_SCALE: '2' }, set: ['environment.name=web'] }).scale, 2)
  const logged = loggedConfig({
    rewardModel: { mode: 'off' },
    learning: { reward: 'outcome' },
    environment: { name: 'coding', tests: 4, sandbox: { provider: 'bwrap' } },
  })
  const { coding } = logged.environment as unknown as { coding: { tests: number; sandbox: object } }
  assert.is(coding.tests, 4)
  assert.equal(
    { ...coding.sandbox, provider: 'auto' },
    (
      loadConfig({ set: ['environment.name=coding', 'rewardModel.mode=off', 'learning.reward=outcome'] })
        .environment as unknown as {
        coding: { sandbox: object }
      }
    ).coding.sandbox,
  )
  const wrong = refusal({ file: fileWith('environment:\n  name: web\n  scale: 99\n') })
  assert.match(wrong.message, /run\.yaml:3: environment\.web\.scale/)
})

test('deadlines must grow from a call to scoring', () => {
  const error = refusal({ set: ['run.deadlines.stepSeconds=30'] })
  assert.match(error.message, /run\.deadlines\.stepSeconds: 30 is not more than llmCallSeconds \(60\)/)
})

test('a time that no timer can wait for is refused, and read in the log of an older run', () => {
  for (const key of [
    'run.deadlines.trainingSeconds',
    'run.expert.heartbeatSeconds',
    'policy.publish.expert.ackSeconds',
  ]) {
    const { code, message } = refusal({ set: [`${key}=2e6`] })
    assert.is(code, 'config.invalid')
    assert.match(message, new RegExp(`--set ${key}: ${key}: 2000000 is more than 1000000 seconds`))
    loadConfig({ set: [`${key}=1e6`] })
  }
  loadConfig({ set: [...ENDPOINT, 'policy.extraBody.keepSeconds=2e6'] })
  assert.is(parseConfig({ run: { deadlines: { trainingSeconds: 2e6 } } }).run.deadlines.trainingSeconds, 2e6)
})

test('an address that fetch does not speak is refused with how to write it, and read in the log of an older run', () => {
  const judge = ['rewardModel.provider=openai', 'rewardModel.model=x', 'rewardModel.mode=fixed']
  for (const [set, key] of [
    [[...ENDPOINT, 'policy.baseUrl=localhost:8000/v1'], 'policy.baseUrl'],
    [[...ENDPOINT, 'policy.baseUrl=ftp://me:secret@x/v1'], 'policy.baseUrl'],
    [[...judge, 'rewardModel.baseUrl=localhost:8000/v1'], 'rewardModel.baseUrl'],
    [['adaptation.provider=openai', 'adaptation.baseUrl=localhost:8000/v1'], 'adaptation.baseUrl'],
    [[...ENDPOINT, 'policy.publish.replicas=["http://x/v1", "x:8000/v1"]'], 'policy.publish.replicas.1'],
    [[...ENDPOINT, 'policy.baseUrl=127.0.0.1:8000/v1'], 'policy.baseUrl'],
  ] as const) {
    const { code, message, hint } = refusal({ set })
    assert.is(code, 'config.invalid', key)
    assert.match(message, `${key}: `)
    assert.match(hint ?? '', 'http://localhost:8000/v1')
    assert.not.match(message, 'secret')
  }
  loadConfig({ set: [...ENDPOINT, 'policy.baseUrl=HTTPS://x:8000/v1'] })
  const { policy } = parseConfig({ policy: { baseUrl: 'localhost:8000/v1' } })
  assert.is(policy.baseUrl, 'localhost:8000/v1')
})

test('a field that the call sets itself is refused in extraBody by name, and read in the log of an older run', () => {
  for (const [field, hint] of [
    ['messages', 'leave messages out'],
    ['stream', 'leave stream out'],
    ['n', 'leave n out'],
    ['logprobs', 'leave logprobs out'],
    ['model', 'use policy.model'],
    ['max_tokens', 'use policy.maxTokens'],
    ['temperature', 'use policy.temperature'],
    ['reasoning_effort', 'use policy.expert.reasoningEffort'],
  ] as const) {
    const error = refusal({ set: [...ENDPOINT, `policy.extraBody.${field}=1`] })
    assert.is(error.code, 'config.invalid')
    assert.match(error.message, `policy.expert.extraBody: '${field}' is set by the call itself`)
    assert.match(error.hint ?? '', hint)
  }
  const adaptation = ['adaptation.provider=openai', 'adaptation.extraBody={top_p: 0.9}']
  loadConfig({ set: adaptation })
  loadConfig({ set: [...ENDPOINT, 'policy.extraBody={top_k: 5, constructor: 1}'] })
  assert.equal(parseConfig({ policy: { extraBody: { n: 2 } } }).policy.expert.extraBody, { n: 2 })
})

test('an alias of nothing, of itself, or of very much is refused with the file', () => {
  const bomb = [
    'a: &a [1, 1, 1, 1]',
    ...'bcdefghij'.split('').map((name, i) => {
      const before = 'abcdefghi'[i]
      return `${name}: &${name} [*${before}, *${before}, *${before}, *${before}]`
    }),
  ]
  for (const text of ['run:\n  seed: *nothing\n', bomb.join('\n'), 'policy:\n  extraBody: &me {x: *me}\n']) {
    const { code, message } = refusal({ file: fileWith(text) })
    assert.is(code, 'config.yaml')
    assert.match(message, /run\.yaml: /)
  }
  assert.is(refusal({ set: ['policy.extraBody=&me {x: *me}'] }).code, 'config.yaml')
  const shared = 'policy:\n  extraBody: {a: &a {x: 1}, b: *a}\n'
  assert.equal(loadConfig({ file: fileWith(shared), set: ENDPOINT }).policy.expert.extraBody, {
    a: { x: 1 },
    b: { x: 1 },
  })
})

test('keys that contradict each other are refused', () => {
  const pairs = [
    ['environment.source=data'],
    ['environment.minGroupSize=9'],
    ['rewardModel.normalisation=within-step', 'rewardModel.samples=1'],
    ['adaptation.low=0.9'],
    ['rewardModel.mode=off'],
    ['evaluation.splits=[train]'],
    ['evaluation.splits=[nowhere]'],
    ['run.maxStaleness=60'],
    ['rewardModel.accuracyRange=[0.8, 0.2]'],
  ]
  for (const set of pairs) assert.is(refusal({ set }).code, 'config.invalid', set[0])
  loadConfig({ set: ['rewardModel.mode=off', 'learning.reward=outcome'] })
})

test('screens are shown by settings that have one, to models that see, and acted on by those alone', () => {
  const pages = 'environment={name: web, grammar: computer_use}'
  const seeing = [...ENDPOINT, 'policy.acting=free', 'policy.frames=3']
  assert.is(loadConfig({ set: [pages, ...seeing] }).policy.frames, 3)
  loadConfig({ set: ['environment={name: web}', 'environment.frames=true'] })
  for (const [set, told] of [
    [['environment.frames=true'], /environment.frames: the setting 'alfworld' shows no screen/],
    [[pages, 'policy.frames=3'], /policy.frames: local models read text alone/],
    [
      [pages, ...seeing, 'rewardModel.mode=fixed', 'rewardModel.frames=true'],
      /rewardModel.frames: local models read text alone/,
    ],
    [[pages, ...ENDPOINT], /policy.frames: actions are places on a screen/],
    [['environment={name: web}', ...seeing], /policy.frames: the setting takes actions in words/],
  ] as const)
    assert.match(refusal({ set }).message, told)
})

test('a config is frozen, all the way down', () => {
  const config = loadConfig({}) as { run: { deadlines: { stepSeconds: number } } }
  assert.throws(() => {
    config.run.deadlines.stepSeconds = 1
  }, TypeError)
})

test('a zero with a sign is a zero, as its log would hold it', () => {
  const { run, policy } = loadConfig({ set: ['run.seed=-0', 'policy.temperature=-0'] })
  assert.ok(Object.is(run.seed, 0))
  assert.ok(Object.is(policy.temperature, 0))
})

test('passwords in addresses are redacted', () => {
  const config = loadConfig({ set: [...ENDPOINT, 'policy.baseUrl=https://me:secret@host/v1'] })
  assert.not.match(JSON.stringify(loggable(config)), /secret/)
  assert.match(JSON.stringify(loggable(config)), /https:\/\/\[redacted\]@host/)
  const { policy } = loggable(
    loadConfig({ set: [...ENDPOINT, 'policy.baseUrl=https://me:se@cret@host/v1'] }),
  ) as typeof config
  assert.is(policy.baseUrl, 'https://[redacted]@host/v1')
})

test('the digest depends on values, not on the order of keys, and survives the event', () => {
  const one = loadConfig({ file: fileWith('run: {seed: 3, iterations: 4}\n') })
  const two = loadConfig({ file: fileWith('run: {iterations: 4, seed: 3}\n') })
  assert.is(configDigest(one), configDigest(two))
  assert.is(configDigest(parseConfig(JSON.parse(JSON.stringify(loggable(one))))), configDigest(one))
  assert.is.not(configDigest(one), configDigest(loadConfig({})))
})

test('what a new run would not do is refused, and read in the log of an older one', () => {
  const endpoint = ['rewardModel.provider=openai', 'rewardModel.model=x', 'rewardModel.baseUrl=http://x/v1']
  for (const [set, words] of [
    [endpoint, /rewardModel\.mode: 'co-trained'.*nobody trains/],
    [['rewardModel.mode=off', 'learning.reward=progress'], /rewardModel\.mode: 'off' measures no progress/],
    [
      ['policy.template={enable_thinking: false}'],
      /policy\.expert\.template: is read by models behind an endpoint alone/,
    ],
    [
      ['rewardModel.reasoningEffort=low'],
      /rewardModel\.expert\.reasoningEffort: is read by models behind an endpoint alone/,
    ],
    [
      ['policy.windowTokens=8192'],
      /policy\.expert\.windowTokens: is read by models behind an endpoint alone/,
    ],
    [[...ENDPOINT, 'policy.thinking=false'], /policy\.thinking: is read by local/],
    [['policy.baseUrl=http://x/v1'], /policy\.baseUrl: is read by models behind an endpoint alone/],
    [
      ['policy.provider=openai', 'policy.model=x'],
      /rewardModel\.mode: a local judge begins with the weights/,
    ],
    [['rewardModel.model=other'], /rewardModel\.model: 'other' would not be opened/],
    [
      [...ENDPOINT, 'policy.trainer=external', 'policy.extraBody={guided_choice: [a, b]}'],
      /policy\.expert\.extraBody: 'guided_choice' restricts what is sampled/,
    ],
    [
      [...endpoint, 'rewardModel.trainer=external', 'rewardModel.extraBody={guided_regex: a+}'],
      /rewardModel\.expert\.extraBody: 'guided_regex' restricts what is sampled/,
    ],
    [['environment.data=games'], /environment\.data: 'games' would not be read/],
  ] as const) {
    assert.throws(() => loadConfig({ set }), words)
    assert.throws(() => loadConfig({ set }), /--set|config/)
  }
  assert.is(loadConfig({ set: ['policy.model=tiny'] }).policy.model, 'tiny')
  assert.is(loadConfig({ set: [...endpoint, 'rewardModel.trainer=external'] }).rewardModel.mode, 'co-trained')
  const { rewardModel, learning } = parseConfig({
    rewardModel: { provider: 'openai', mode: 'off' },
    learning: { reward: 'progress' },
  })
  assert.equal([rewardModel.mode, learning.reward], ['off', 'progress'])
})

test('keys that nothing would read are refused in a new run, and read in the log of an older one', () => {
  const folder = ['policy.model=some/folder']
  const adapter = [...folder, 'policy.lora.rank=4']
  const texts = ['environment={name: coding}', 'rewardModel.judging=group']
  const judge = ['rewardModel.provider=openai', 'rewardModel.mode=fixed', 'rewardModel.model=x']
  for (const [set, words] of [
    [['policy.lora.rank=4'], /policy\.lora\.rank: is read by local models that begin with a folder/],
    [
      [...ENDPOINT, 'policy.lora.rank=4'],
      /policy\.lora\.rank: is read by local models that begin with a folder/,
    ],
    [[...folder, 'policy.lora.alpha=4'], /policy\.lora\.alpha: is read by low-rank adapters/],
    [
      [...folder, 'policy.lora.targets=[q_proj]'],
      /policy\.lora\.expert\.targets: is read by low-rank adapters/,
    ],
    [
      [...adapter, 'policy.lora.targets=[q_proj, foo]'],
      /policy\.lora\.expert\.targets: no module is named foo/,
    ],
    [['policy.acting=numbered'], /policy\.acting: 'numbered' is for models that read prompts/],
    [['policy.acting=free'], /policy\.acting: 'free' is for models that read prompts/],
    [[...texts, 'policy.acting=numbered'], /policy\.acting: 'numbered' is for models that read prompts/],
    [['policy.thinking=false'], /policy\.thinking: is read by local models that act by prompts/],
    [[...folder, 'policy.thinking=false'], /policy\.thinking: is read by local models that act by prompts/],
    [
      [...folder, 'policy.coldStart.updates=4'],
      /policy\.coldStart\.updates: is read by models that are taught/,
    ],
    [
      [...texts, 'policy.acting=free', ...adapter, 'policy.coldStart.batch=4'],
      /policy\.coldStart\.expert\.batch: is read by models that are taught/,
    ],
    [
      [...ENDPOINT, 'policy.coldStart.batch=4'],
      /policy\.coldStart\.expert\.batch: is read by models that are taught/,
    ],
    [
      [...judge, 'rewardModel.coldStart.rollouts=4'],
      /rewardModel\.coldStart\.rollouts: is read by models that are taught/,
    ],
    [
      [...folder, 'policy.acting=free', 'policy.contextTokens=64'],
      /policy\.contextTokens: is read by models that choose/,
    ],
    [[...ENDPOINT, 'policy.contextTokens=64'], /policy\.contextTokens: is read by models that choose/],
    [['policy.historySteps=3'], /policy\.historySteps: is read by models that are asked/],
    [[...folder, 'policy.historySteps=3'], /policy\.historySteps: is read by models that are asked/],
    [['policy.promptPrice=1'], /policy\.expert\.promptPrice: is read by models behind an endpoint alone/],
    [['policy.concurrency=4'], /policy\.expert\.concurrency: is read by models behind an endpoint alone/],
    [['rewardModel.maxCalls=4'], /rewardModel\.expert\.maxCalls: is read by models behind an endpoint alone/],
    [
      ['policy.training.constantTokens=64'],
      /policy\.training\.expert\.constantTokens: is read by aggregate: constant/,
    ],
    [
      ['rewardModel.training.constantTokens=64'],
      /rewardModel\.training\.expert\.constantTokens: is read by agg/,
    ],
  ] as const) {
    const { code, message } = refusal({ set })
    assert.is(code, 'config.invalid')
    assert.match(message, words)
    assert.match(message, /^--set/)
  }
  for (const set of [
    [...adapter, 'policy.lora.alpha=3', 'policy.lora.targets=[q_proj, self_attn.v_proj]'],
    [...adapter, 'policy.coldStart.updates=4', 'policy.acting=choices', 'policy.contextTokens=64'],
    [...folder, 'policy.acting=numbered', 'policy.thinking=false', 'policy.historySteps=3'],
    [...judge, 'policy.historySteps=3'],
    [...ENDPOINT, 'policy.historySteps=3', 'policy.concurrency=4', 'policy.maxCalls=9'],
    [...texts, 'policy.acting=free', 'policy.contextTokens=64'],
    ['policy.training.aggregate=constant', 'policy.training.constantTokens=64'],
    ['policy.provider=simulated', 'rewardModel.mode=off', 'learning.reward=outcome', ...adapter],
  ])
    loadConfig({ set })
  const { policy } = parseConfig({ policy: { lora: { rank: 4, targets: ['foo'] }, concurrency: 2 } })
  assert.equal([policy.lora.rank, policy.lora.expert.targets, policy.expert.concurrency], [4, ['foo'], 2])
})

test('variables of different keys have different names', () => {
  const names = configKeys().map(({ path }) => variableOf(path))
  assert.is(new Set(names).size, names.length)
})

test('whatever a file holds, it is taken or refused with an RlError', () => {
  const word = fc.constantFrom('run', 'seed', 'policy', 'training', 'x', '__proto__', 'deadlines')
  const value = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null), fc.array(fc.integer()))
  const tree = fc.dictionary(word, fc.oneof(value, fc.dictionary(word, value)))
  fc.assert(
    fc.property(tree, (values) => {
      try {
        parseConfig(values)
      } catch (error) {
        assert.instance(error, RlError)
      }
    }),
    { numRuns: 500 },
  )
})

test('the ready files hold no key twice', () => {
  for (const file of readdirSync('config').filter((file) => file.endsWith('.yaml')))
    parse(readFileSync(`config/${file}`, 'utf8'), { uniqueKeys: true })
})

test.run()
