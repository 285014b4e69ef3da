/** `rl model`: each command once, as a process, on a tiny folder. */
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { byteTokenizer } from '../support/byte-tokenizer.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
const folder = join(root, 'tiny')
const prompts = join(root, 'prompts.jsonl')

test.before(async () => {
  const tokenizer = byteTokenizer()
  const { size: vocabSize, endToken } = createTokenizer(tokenizer)
  const model = await openLocalModel({
    ...{ config: presetConfig('nano', { vocabSize, contextTokens: 256, endToken }), tokenizer },
    ...{ seed: 4, backend: 'wasm' as const },
  })
  await model.save(folder)
  await model.close()
  writeFileSync(prompts, '{"prompt": "go to", "chat": false}\n\n{"prompt": "look", "chat": true}\n')
})

async function rl(...words: string[]): Promise<{ status: number | null; output: string }> {
  const started = startProcess(['src/rl.ts', 'model', ...words])
  const status = await started.status
  return { status, output: started.output() }
}

test('generate writes a line a prompt, with ids, text and log-probs', async () => {
  const { status, output } = await rl('generate', '--model', folder, '--prompts', prompts, '--tokens', '5')
  assert.is(status, 0, output)
  // Libraries may say something on stderr.
  const lines = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  assert.is(lines.length, 2)
  for (const line of lines) {
    assert.equal(Object.keys(line), ['prompt_ids', 'greedy_ids', 'greedy_text', 'logprobs'])
    assert.ok(line.greedy_ids.length > 0 && line.greedy_ids.length <= 5)
    assert.is(line.logprobs.length, line.greedy_ids.length)
    assert.ok(line.logprobs.every((value: number) => value <= 0))
    assert.type(line.greedy_text, 'string')
  }
  assert.is(lines[0].prompt_ids.length, 'go to'.length)
  assert.ok(lines[1].prompt_ids.length > 'look'.length, 'the template stands around it')
})

test('generate takes a file of known answers, and one as Windows writes it', async () => {
  const file = join(root, 'known.jsonl')
  const lines = [
    { prompt: 'go', chat: true, rendered: '', prompt_ids: [1], greedy_ids: [2], smallest_top2_gap: 0.1 },
    { prompt: '', chat: true, greedy_text: '', logprobs: [] },
  ]
  writeFileSync(file, `\uFEFF${lines.map((line) => `${JSON.stringify(line)}\r\n`).join('')}`)
  const { status, output } = await rl('generate', '--model', folder, '--prompts', file, '--tokens', '2')
  assert.is(status, 0, output)
  assert.is(output.split('\n').filter((line) => line.startsWith('{"prompt_ids"')).length, 2)
})

test('info, sample and export do what they say', async () => {
  const info = await rl('info', '--model', folder)
  assert.is(info.status, 0, info.output)
  assert.match(info.output, /qwen/i)
  const sample = await rl('sample', '--model', folder, '--prompt', 'go to', '--max-tokens', '4')
  assert.is(sample.status, 0, sample.output)
  const out = join(root, 'out')
  const exported = await rl('export', '--model', folder, '--out', out, '--dtype', 'F16')
  assert.is(exported.status, 0, exported.output)
  assert.ok(existsSync(join(out, 'model.safetensors')))
})

test('wrong calls are told in one line', async () => {
  writeFileSync(join(root, 'wrong.jsonl'), '{"prompt": "a"}\n{"text": "b"}\n')
  writeFileSync(join(root, 'odd.jsonl'), '{"prompt": "a", "chatt": true}\n')
  writeFileSync(join(root, 'nothing.jsonl'), '{"prompt": ""}\n')
  writeFileSync(join(root, 'empty.jsonl'), '\n')
  symlinkSync(folder, join(root, 'link'))
  const adapted = join(root, 'adapted')
  const lora = { rank: 2, alpha: 4, targets: ['q_proj'], seed: 1 }
  const model = await openLocalModel({ folder, lora, backend: 'wasm' })
  await model.save(adapted)
  await model.close()
  for (const [words, status, told] of [
    [['generate', '--prompts', prompts], 2, /--model/],
    [
      ['generate', '--model', folder, '--prompts', join(root, 'wrong.jsonl')],
      1,
      /wrong\.jsonl:2 is not a prompt: prompt: /,
    ],
    [['generate', '--model', folder, '--prompts', prompts, '--tokens', 'x'], 2, /--tokens/],
    [
      ['generate', '--model', folder, '--prompts', join(root, 'odd.jsonl')],
      1,
      /odd\.jsonl:1 is not a prompt: .*"chatt"/,
    ],
    [
      ['generate', '--model', folder, '--prompts', join(root, 'nothing.jsonl')],
      1,
      /nothing\.jsonl:1 is not a prompt: prompt: it is empty/,
    ],
    [['generate', '--model', folder, '--prompts', join(root, 'empty.jsonl')], 1, /holds no prompt/],
    [['generate', '--model', folder, '--prompts', join(root, 'none.jsonl')], 1, /none\.jsonl cannot be read/],
    [['export', '--model', folder, '--out', `${folder}/../${basename(folder)}`], 2, /the model itself/],
    [['export', '--model', adapted, '--out', join(root, 'link')], 2, /the model's base/],
    [['info', '--model', join(root, 'nothing')], 1, /nothing/],
    [['generate', '--model', 'nobody/here', '--prompts', prompts], 1, /nobody\/here.*rl -- model get/s],
  ] as const) {
    const answer = await rl(...words)
    assert.is(answer.status, status, answer.output)
    assert.match(answer.output, told)
    assert.not.match(answer.output, /\n\s+at /)
  }
})

test.run()
