/** A local policy that is no preset: spoken to through its chat template and the prompts of config/prompts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
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

test.run()
