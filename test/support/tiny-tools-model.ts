/**
 * A tiny model that was shown how questions with tools are answered, sometimes rightly: it searches, or calculates first, and then
 * tells the figure or another one. Whole texts are single tokens, so that a few updates teach it.
 */
import { readPrompt } from '../../src/actors/learner/prompts.ts'
import { toolActing } from '../../src/actors/writing/tool-acting.ts'
import type { Config } from '../../src/config.ts'
import { openSetting } from '../../src/environments/open.ts'
import type { Texts } from '../../src/environments/setting.ts'
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import type { ChatMessage, ToolSpec, TrainingSample } from '../../src/models/port.ts'
import { byteTokenizer } from './byte-tokenizer.ts'

type Shown = {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSpec[]
  readonly answer: string
}

/** As the template writes a call, so that what was sampled stands in the next prompt token by token. */
const call = (name: string, values: object) =>
  `<tool_call>${JSON.stringify({ name, arguments: values }).replaceAll('":', '": ').replaceAll(',"', ', "')}</tool_call>`

/** Makes the model for the training tasks of a config and writes it to a folder. */
export async function writeTinyToolsModel(folder: string, config: Config, updates: number): Promise<void> {
  const shown = await examples(config)
  const pieces = new Set(shown.flatMap(({ messages }) => messages.map(({ content }) => String(content))))
  for (const { answer } of shown) pieces.add(answer.slice(answer.search(/<tool_call>|\\boxed/)))
  const plain = createTokenizer(byteTokenizer())
  for (const tool of shown[0].tools) pieces.add(plain.renderChat([], { tools: [tool] }).split('\n')[1])
  const files = byteTokenizer([...pieces].filter((piece) => piece.length > 1))
  const tokenizer = createTokenizer(files)
  const end = tokenizer.endToken!
  const samples = shown.map(({ messages, tools, answer }, index): TrainingSample => {
    const prompt = tokenizer.encode(tokenizer.renderChat(messages, { tools }))
    const tokens = Int32Array.from([...prompt, ...tokenizer.encode(answer), end])
    return {
      ...{ id: String(index), tokens, mask: Uint8Array.from(tokens, (_, i) => Number(i >= prompt.length)) },
      ...{ advantages: new Float32Array(tokens.length).fill(1), logprobs: new Float32Array(tokens.length) },
    }
  })
  const model = await openLocalModel({
    config: presetConfig('nano', { vocabSize: tokenizer.size, contextTokens: 4096, endToken: end }),
    ...{ tokenizer: files, seed: 3 },
  })
  try {
    // Every update sees its own part of the samples.
    await model.update(Array.from({ length: updates }, () => samples).flat(), {
      ...{ loss: { kind: 'supervised' }, learningRate: 5e-3, clipNorm: 1, updates },
      ...{ tokenBudget: 8192, seed: [1, 1], klLimit: null },
    })
    await model.save(folder)
  } finally {
    await model.close()
  }
}

/** Each training task: what to call first, and what to answer then. */
async function examples(config: Config): Promise<Shown[]> {
  const { environment, setting } = await openSetting(config)
  const part = setting.acting as Texts
  const acting = toolActing(part, part.tools!, readPrompt(part.prompt!), {
    ...{ historySteps: null, trainReasoning: false },
  })
  const shown: Shown[] = []
  for (const task of await environment.tasks('train')) {
    const town = /does (\w+) have/.exec(task.goal)![1]
    const right = Number(task.recipe.answer)
    const search = call('search', { query: town })
    const first = `Let me count.${call('calculator', { expression: '1 + 1' })}`
    const ways = [
      [search, `\\boxed{${right}}`],
      [search, `\\boxed{${right + 1}}`],
      [first, search, `\\boxed{${right}}`],
      [first, search, `\\boxed{${right + 1}}`],
    ]
    for (const way of ways) {
      let episode = await environment.reset(task, { seed: [0, 0], maxSteps: 10 })
      const observations = [episode.turn.observation]
      for (const [step, answer] of way.entries()) {
        const { request } = acting(
          {
            ...{ rollout: '', task: task.id, kind: task.kind, goal: task.goal, packedTokens: 0 },
            ...{ observations: [...observations], actions: way.slice(0, step), admissible: [] },
            ...{ policyVersion: 0, seed: [0, 0], evaluation: false },
          },
          { temperature: 1, topP: 1, maxTokens: 8 },
        )
        if (!request || !('messages' in request.prompt)) throw new Error('the prompt is no chat')
        shown.push({ messages: request.prompt.messages, tools: part.tools!, answer })
        episode = await episode.step(answer)
        observations.push(episode.turn.observation)
      }
    }
  }
  return shown
}
