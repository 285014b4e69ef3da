/** A local policy that is no preset: spoken to through its chat template and the prompts of config/prompts. */
import '../../support/packages.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { TOOLS } from '../../../packages/environment-tools/src/environment.ts'
import { actWith, openLocalActor } from '../../../src/actors/policy/local-acting.ts'
import type { ActRequest } from '../../../src/actors/rollout/act.ts'
import { loadConfig } from '../../../src/config.ts'
import { alfworldWords } from '../../../src/environments/alfworld/words.ts'
import { openSetting } from '../../../src/environments/open.ts'
import { readInt32 } from '../../../src/events/columns.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { seedOf } from '../../../src/random.ts'
import { byteTokenizer } from '../../support/byte-tokenizer.ts'
import { errorOf } from '../../support/error-of.ts'

const root = mkdtempSync(join(tmpdir(), 'local-acting-'))
test.after(() => rmSync(root, { recursive: true }))

/** A model of random weights whose template has the switch of Qwen3. */
async function writeModel(folder: string, contextTokens: number): Promise<void> {
  const files = trainWordTokenizer({ words: alfworldWords() })
  const template = `${files.config.chat_template}{% if enable_thinking is defined and not enable_thinking %}quiet{% endif %}`
  const tokenizer = { ...files, config: { ...files.config, chat_template: template } }
  const { size, endToken } = createTokenizer(tokenizer)
  const model = await openLocalModel({
    config: presetConfig('nano', { vocabSize: size, contextTokens, endToken }),
    tokenizer,
    seed: 1,
  })
  await model.save(folder)
  await model.close()
}

for (const acting of ['numbered', 'free'] as const)
  test(`${acting}: the prompt is that of config/prompts in the model's template; one that is too long ends its own episode`, async () => {
    const folder = join(root, acting)
    await writeModel(folder, 900)
    const config = loadConfig({
      set: [
        `policy.model=${folder}`,
        `policy.acting=${acting}`,
        'policy.thinking=false',
        'environment.tasks=2',
        'policy.maxTokens=4',
      ],
    })
    const opened = await openSetting(config)
    const [task] = await opened.environment.tasks('train')
    const { turn } = await opened.environment.reset(task, { seed: seedOf(1), maxSteps: 10 })
    const act: ActRequest = {
      ...{ rollout: 'r', task: task.id, kind: task.kind, goal: task.goal, actions: [], packedTokens: 0 },
      ...{ observations: [turn.observation], admissible: turn.admissible, policyVersion: 0 },
      ...{ seed: seedOf(2), evaluation: false },
    }
    const long = { ...act, rollout: 'long', observations: [turn.observation.repeat(60)] }
    const actor = await openLocalActor(folder, config, opened)
    try {
      const sampling = { temperature: 1, topP: 1, maxTokens: 4 }
      const [reply, tooLong] = await actWith(actor, [act, long], () => sampling, new AbortController().signal)
      assert.is(tooLong.fits, false)
      assert.is(reply.fits, true)
      assert.is(reply.promptSha256?.length, 64)
      assert.ok(turn.admissible.includes(reply.action))
      const { promptLength, tokensI32 } = reply.tokens!
      const text = actor.model.decode(readInt32(tokensI32).slice(0, promptLength))
      assert.match(text, task.goal)
      assert.match(text, /assistant\s*quiet$/)
    } finally {
      await actor.model.close()
    }
  })

test('a prompt that would not fit loses its oldest steps first, and keeps the task and the first observation', async () => {
  const folder = join(root, 'shortened')
  await writeModel(folder, 900)
  const config = loadConfig({
    set: [`policy.model=${folder}`, 'policy.acting=numbered', 'environment.tasks=2', 'policy.maxTokens=4'],
  })
  const opened = await openSetting(config)
  const [task] = await opened.environment.tasks('train')
  const { turn } = await opened.environment.reset(task, { seed: seedOf(1), maxSteps: 10 })
  const actOf = (steps: number): ActRequest => ({
    ...{ rollout: `of ${steps}`, task: task.id, kind: task.kind, goal: task.goal, packedTokens: 0 },
    ...{ actions: Array.from({ length: steps }, (_, i) => turn.admissible[i % turn.admissible.length]) },
    ...{ observations: [turn.observation, ...Array.from({ length: steps }, () => 'Nothing happens.')] },
    ...{ admissible: turn.admissible, policyVersion: 0, seed: seedOf(2), evaluation: false },
  })
  let shortened = 0
  const actor = await openLocalActor(folder, config, opened, { onShortened: () => shortened++ })
  try {
    const sampling = { temperature: 1, topP: 1, maxTokens: 4 }
    const { signal } = new AbortController()
    const [short, long] = await actWith(actor, [actOf(2), actOf(90)], () => sampling, signal)
    assert.equal([short.fits, long.fits, shortened], [true, true, 1])
    const promptOf = ({ tokens }: typeof long) => readInt32(tokens!.tokensI32).slice(0, tokens!.promptLength)
    assert.ok(promptOf(long).length + sampling.maxTokens <= 900)
    assert.ok(promptOf(long).length > 850, 'no more is left out than must be')
    const text = actor.model.decode(promptOf(long))
    assert.match(text, /earlier steps are left out/)
    assert.match(text, task.goal)
    assert.not.match(actor.model.decode(promptOf(short)), /earlier steps are left out/)
  } finally {
    await actor.model.close()
  }
})

test('tools are told by the chat template, and a model whose template tells none is refused', async () => {
  const files = byteTokenizer()
  const { size, endToken } = createTokenizer(files)
  const shape = presetConfig('nano', { vocabSize: size, contextTokens: 4096, endToken })
  const write = async (folder: string, chatTemplate: string) => {
    const model = await openLocalModel({ config: shape, tokenizer: { ...files, chatTemplate }, seed: 1 })
    await model.save(folder)
    await model.close()
  }
  const telling = join(root, 'telling')
  const silent = join(root, 'silent')
  await write(telling, String(files.config.chat_template))
  await write(silent, '{% for message in messages %}{{ message.content }}{% endfor %}')
  const configOf = (folder: string) =>
    loadConfig({
      set: ['environment.name=tools', `policy.model=${folder}`, 'policy.acting=free', 'environment.tasks=2'],
    })

  const config = configOf(telling)
  const opened = await openSetting(config)
  const [task] = await opened.environment.tasks('train')
  const act: ActRequest = {
    ...{ rollout: 'r', task: task.id, kind: task.kind, goal: task.goal, actions: [], packedTokens: 0 },
    ...{ observations: ['asked'], admissible: [], policyVersion: 0, seed: seedOf(2), evaluation: false },
  }
  const actor = await openLocalActor(telling, config, opened)
  try {
    const sampling = { temperature: 1, topP: 1, maxTokens: 4 }
    const [reply] = await actWith(actor, [act], () => sampling, new AbortController().signal)
    const { promptLength, tokensI32 } = reply.tokens!
    const text = actor.model.decode(readInt32(tokensI32).slice(0, promptLength))
    for (const tool of TOOLS) assert.ok(text.includes(tool.description), tool.name)
    const messages = [{ role: 'user', content: task.goal }] as const
    const one = { prompt: { messages, tools: TOOLS }, maxTokens: 1, temperature: 1, seed: seedOf(3) }
    const [{ promptTokens }] = await actor.model.generate([one])
    assert.match(actor.model.decode(promptTokens!), TOOLS[0].description)
  } finally {
    await actor.model.close()
  }
  const { code, message } = await errorOf(openLocalActor(silent, configOf(silent), opened))
  assert.is(code, 'model.unsupported')
  assert.match(message, /silent: its chat template tells no tools/)
  const thinking = { ...config, policy: { ...config.policy, thinking: true } }
  const switched = await errorOf(openLocalActor(telling, thinking, opened))
  assert.match(switched.message, /policy\.thinking: the chat template of .* has no such switch/)
})

test.run()
