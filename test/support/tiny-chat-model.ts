/** A tiny local model that was shown how the prompts' answers look: random in what it says, right in its form mostly. */

import { readPrompt } from '../../src/actors/learner/prompts.ts'
import { numbered, promptedActing } from '../../src/actors/policy/prompted-acting.ts'
import { judgeRequest } from '../../src/actors/reward-model/prompted-judge.ts'
import { alfworldEnvironment } from '../../src/environments/alfworld/environment.ts'
import { goalOfSentence } from '../../src/environments/alfworld/tasks.ts'
import { textOf } from '../../src/models/content.ts'
import { supervisedSamples } from '../../src/models/local/fine-tune.ts'
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer, type TokenizerFiles } from '../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../src/models/local/word-tokenizer.ts'
import type { GenerateRequest, TextMessage } from '../../src/models/port.ts'
import { rng, seedOf } from '../../src/random.ts'

type Chat = { readonly messages: TextMessage[] }

/** Makes the model and writes it to a folder. */
export async function writeTinyChatModel(folder: string, updates: number): Promise<void> {
  const chats = await exampleChats()
  const texts = chats.flatMap(({ messages }) => messages.map(({ content }) => content))
  const files = withBoxes(trainWordTokenizer({ texts, maxWords: 1_500 }))
  const tokenizer = createTokenizer(files)
  const config = presetConfig('nano', {
    vocabSize: tokenizer.size,
    contextTokens: 4096,
    endToken: tokenizer.endToken,
  })
  const model = await openLocalModel({ config, tokenizer: files, seed: 3 })
  try {
    await model.update(
      chats.flatMap((chat, i) => supervisedSamples(chat, tokenizer, String(i))),
      {
        loss: { kind: 'supervised' },
        learningRate: 5e-3,
        clipNorm: 1,
        updates,
        tokenBudget: 8192,
        seed: [1, 1],
        klLimit: null,
      },
    )
    await model.save(folder)
  } finally {
    await model.close()
  }
}

/** A box is one piece of text; the tokenizer would part its marks by spaces. */
function withBoxes(files: TokenizerFiles): TokenizerFiles {
  const decoder = files.tokenizer.decoder as { readonly decoders: readonly unknown[] }
  const joined = [
    ['\\ ', '\\'],
    ['boxed {', 'boxed{'],
    ['{- ', '{-'],
  ].map(([text, content]) => ({ type: 'Replace', pattern: { String: text }, content }))
  return {
    ...files,
    tokenizer: { ...files.tokenizer, decoder: { ...decoder, decoders: [...decoder.decoders, ...joined] } },
  }
}

/** Prompts as the roles ask them, with answers of the right form. */
async function exampleChats(): Promise<Chat[]> {
  const environment = alfworldEnvironment({
    source: { kind: 'generated', seed: 5, counts: { train: 12, 'in-domain': 0, ood: 0 }, size: 'easy' },
  })
  const acting = promptedActing(readPrompt('alfworld-policy'), numbered, {
    historySteps: null,
    trainReasoning: false,
  })
  const judging = {
    ...{ prompt: readPrompt('alfworld-judge'), temperature: 1, topP: 1 },
    ...{ maxTokens: 8, historySteps: null },
  }
  const chats: Chat[] = []
  const answer = (request: GenerateRequest | null, content: string) => {
    if (request && 'messages' in request.prompt)
      chats.push({
        messages: [
          ...request.prompt.messages.map((message) => ({ ...message, content: textOf(message) })),
          { role: 'assistant', content },
        ],
      })
  }
  for (const [index, task] of (await environment.tasks('train')).entries()) {
    const random = rng(seedOf(7, 'chat', index))
    let episode = await environment.reset(task, { seed: [0, 0], maxSteps: 10 })
    const observations = [episode.turn.observation]
    const actions: string[] = []
    for (let step = 0; step < 3; step++) {
      const { admissible } = episode.turn
      const option = random.below(Math.min(10, admissible.length))
      const { id, kind, goal } = task
      const act = { rollout: '', task: id, kind, goal, packedTokens: 0, policyVersion: 0 }
      const { request } = acting(
        { ...act, observations, actions, admissible, seed: [0, 0], evaluation: false },
        { temperature: 1, topP: 1, maxTokens: 8 },
      )
      answer(request, `\\boxed{${option}}`)
      episode = episode.step(admissible[option])
      actions.push(admissible[option])
      observations.push(episode.turn.observation)
    }
    const text = { goal: task.goal, observations, actions }
    for (const step of actions.keys())
      answer(
        judgeRequest(text, [0, 0], judging, { step, index: 0, shown: step }),
        random.below(2) === 0 ? '\\boxed{1}' : '\\boxed{-1}',
      )
    const request = {
      ...{ task, direction: 'easier' as const, accuracy: 0, critique: '' },
      ...{ taken: [task.id], seed: seedOf(0) },
    }
    const rewrite = await environment.rewrite(request)
    if ('refused' in rewrite) continue
    const { object, target } = goalOfSentence(rewrite.task.goal)!
    const messages = readPrompt('alfworld-rewrite').render({
      ...(await environment.briefing!(request)),
      ...{ direction: 'easier', accuracy: '0 of 2', goal: task.goal, failures: FAILURE },
    })
    answer(
      { prompt: { messages }, maxTokens: 1, temperature: 1, seed: [0, 0] },
      `\\boxed{${object},${target}}`,
    )
    const failure = readPrompt('alfworld-failure').render({
      ...{ goal: task.goal, steps: '3', risky: 'none', history: observations.join('\n') },
    })
    answer(
      { prompt: { messages: failure }, maxTokens: 1, temperature: 1, seed: [0, 0] },
      `\\boxed{${FAILURE}}`,
    )
  }
  return chats
}

const FAILURE = 'It did not find the object.'
