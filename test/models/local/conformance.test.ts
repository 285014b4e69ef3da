/**
 * Small models beside transformers and PEFT, both ways: what they write is opened here and gives their logits, greedy tokens, ids
 * and training step; what is written here gives ours there. SKIP where the Python lacks the packages
 * (test/models/conformance/requirements-torch.txt).
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { openBackend } from '../../../src/models/local/backend/backend.ts'
import { adapterOf, readModelFolder, readWeights } from '../../../src/models/local/checkpoint.ts'
import { exportAdapter, exportFolder } from '../../../src/models/local/export-folder.ts'
import { greedyDefaults } from '../../../src/models/local/generation-config.ts'
import { countTrained, lossGradients } from '../../../src/models/local/gradients.ts'
import { loraScale } from '../../../src/models/local/lora.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { type LocalModel, variable } from '../../../src/models/local/params.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { createTokenizer, type TokenizerFiles } from '../../../src/models/local/tokenizer.ts'
import { createTrainer } from '../../../src/models/local/trainer.ts'
import { logits, pack } from '../../../src/models/local/transformer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import type { ChatMessage } from '../../../src/models/port.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { byteTokenizer } from '../../support/byte-tokenizer.ts'
import { lacks, PYTHON } from '../../support/python.ts'

const SCRIPT = new URL('../conformance/reference.py', import.meta.url).pathname

type Logits = readonly (readonly number[])[]
type Expected = {
  readonly ids: readonly number[]
  readonly texts: readonly string[]
  readonly models: Readonly<
    Record<
      string,
      {
        readonly logits: Logits
        readonly greedy: readonly number[]
        readonly step: { loss: number; norm: number; name: string; after: readonly number[] }
        readonly tokenized: readonly (readonly number[])[]
        readonly files: readonly string[]
      }
    >
  >
  readonly adapters: Readonly<Record<string, Logits>> | null
}

const root = mkdtempSync(join(tmpdir(), 'conformance-'))
test.after(() => rmSync(root, { recursive: true }))

function python(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync(PYTHON, [SCRIPT, ...args], {
    ...{ input, encoding: 'utf8', maxBuffer: 2 ** 28, timeout: 300_000 },
    env: { ...process.env, OMP_NUM_THREADS: '1' },
  })
  assert.is(status, 0, stderr.slice(-2000))
  return stdout
}

const ask = <Answers>(requests: Readonly<Record<string, unknown>>): Answers =>
  JSON.parse(python(['ask'], JSON.stringify(requests)))

let made: Expected | null | undefined

/** Null where there is nothing to compare with. */
function expected(): Expected | null {
  if (made === undefined) {
    const missing = lacks('transformers', 'torch')
    if (missing) process.stdout.write(`SKIP conformance: ${missing}\n`)
    else python(['make', root])
    made = missing ? null : JSON.parse(readFileSync(join(root, 'expected.json'), 'utf8'))
  }
  return made ?? null
}

async function inMemory(folder: string): Promise<LocalModel> {
  await openBackend('wasm')
  const read = await readModelFolder(folder)
  const params = new Map<string, tf.Variable>()
  for await (const { name, values, shape } of readWeights(read)) params.set(name, variable(values, shape))
  const adapter = await adapterOf(read)
  for (const { name, values, shape } of adapter?.tensors ?? []) params.set(name, variable(values, shape))
  return { config: read.config, params, loraScale: adapter ? loraScale(adapter.lora) : 1 }
}

async function logitsIn(folder: string, ids: readonly number[]): Promise<Float32Array> {
  const model = await inMemory(folder)
  const out = tf.tidy(() => logits(model, pack([ids])))
  const values = Float32Array.from(await out.data())
  tf.dispose([out, ...model.params.values()])
  return values
}

/** Largest difference of the logits, which are of the order of 1 to 100. */
function farthest(got: ArrayLike<number>, wanted: Logits): number {
  const flat = wanted.flat()
  assert.is(got.length, flat.length)
  return flat.reduce((most, value, i) => Math.max(most, Math.abs(value - got[i])), 0)
}

test('folders that transformers writes give its logits, greedy tokens and token ids', async () => {
  const reference = expected()
  if (!reference) return
  for (const [name, { logits, greedy, tokenized, files }] of Object.entries(reference.models)) {
    const folder = join(root, name)
    assert.is(files.includes('model.safetensors.index.json'), name.includes('sharded'), name)
    const difference = farthest(await logitsIn(folder, reference.ids), logits)
    assert.ok(difference < 1e-4, `${name}: logits differ by ${difference}`)
    const model = await openLocalModel({ folder })
    const [{ tokens }] = await model.generate([
      { prompt: { tokens: reference.ids }, maxTokens: 12, temperature: 0, seed: [0, 0] },
    ])
    assert.equal([...tokens!], greedy, name)
    assert.equal(
      reference.texts.map((text) => [...model.encode(text)]),
      tokenized,
      name,
    )
    await model.close()
  }
})

test('one step of training has the loss, the gradient norm and the weights of PyTorch', async () => {
  const reference = expected()
  if (!reference) return
  for (const [name, { step }] of Object.entries(reference.models)) {
    const model = await inMemory(join(root, name))
    const tokens = Int32Array.from(reference.ids)
    const sample = {
      id: name,
      tokens,
      mask: Uint8Array.from(tokens, (_, t) => (t >= 10 ? 1 : 0)),
      advantages: new Float32Array(tokens.length).fill(1),
      logprobs: new Float32Array(tokens.length),
    }
    const batch = [{ sample, weight: 1 / countTrained(sample) }]
    const told = await lossGradients(model, [...model.params.keys()], batch, { kind: 'supervised' })
    const off = (got: number, wanted: number) => Math.abs(got - wanted) / wanted
    assert.ok(off(told.loss, step.loss) < 1e-6, `${name}: loss ${told.loss}, ${step.loss} there`)
    assert.ok(off(told.norm, step.norm) < 1e-6, `${name}: norm ${told.norm}, ${step.norm} there`)
    const trainer = createTrainer(model)
    await trainer.update([sample], {
      ...{ loss: { kind: 'supervised' }, learningRate: 1e-3, clipNorm: 1, updates: 1, tokenBudget: 64 },
      ...{ seed: [1, 1], klLimit: null },
    })
    const after = await model.params.get(step.name)!.data()
    for (const [i, value] of step.after.entries())
      assert.ok(Math.abs(after[i] - value) < 1e-5, `${name}: weight ${i} is ${after[i]}, ${value} there`)
    trainer.dispose()
    tf.dispose([...told.gradients.values(), ...model.params.values()])
  }
})

/** What the message names of a kind of adapter that is refused. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'rank-pattern': /rank_pattern/,
  'alpha-pattern': /alpha_pattern/,
  dora: /use_dora/,
  pissa: /init_lora_weights/,
  olora: /init_lora_weights/,
  bias: /bias/,
  'saved-modules': /modules_to_save/,
  embedding: /embed_tokens/,
  'new-tokens': /trainable_token_indices/,
  loha: /peft_type/,
  ia3: /peft_type/,
  adalora: /peft_type/,
}

test('adapters of PEFT act as there, or are refused by the name of what is not read', async () => {
  const reference = expected()
  if (!reference) return
  if (!reference.adapters) {
    process.stdout.write(`SKIP adapters: ${lacks('peft')}\n`)
    return
  }
  const plain = reference.models.qwen2.logits
  for (const [name, wanted] of Object.entries(reference.adapters)) {
    const got = await logitsIn(join(root, 'adapters', name), reference.ids).catch((error: unknown) => {
      assert.instance(error, RlError, `${name}: ${error}`)
      return error as RlError
    })
    if (got instanceof RlError) {
      assert.match(got.message, REFUSED[name] ?? /./, name)
      assert.ok(name in REFUSED, `${name} is refused: ${got.message}`)
      continue
    }
    assert.not.ok(name in REFUSED, `${name} was to be refused`)
    const difference = farthest(got, wanted)
    assert.ok(difference < 1e-4, `${name}: logits differ by ${difference}`)
    assert.ok(farthest(wanted.flat(), plain) > 0.01, `${name} changes nothing`)
  }
})

test('what is exported opens there: weights, adapters, merged adapters, and the ids of its tokenizer', async () => {
  const reference = expected()
  if (!reference) return
  const { ids } = reference
  const requests: Record<string, unknown> = {}
  const ours: Record<string, Float32Array> = {}
  for (const name of Object.keys(reference.models)) {
    const folder = join(root, `export-${name}`)
    await exportFolder(join(root, name), folder, 'F32')
    requests[name] = { logits: folder, ids }
    requests[`${name} ids`] = { tokenize: folder, texts: reference.texts }
    ours[name] = await logitsIn(folder, ids)
  }
  const model = await openLocalModel({
    folder: join(root, 'qwen3'),
    lora: { rank: 4, alpha: 8, targets: ['q_proj', 'down_proj'], seed: 3 },
  })
  const tokens = Int32Array.from(ids)
  await model.update(
    [
      {
        ...{ id: 'one', tokens, mask: Uint8Array.from(tokens, (_, t) => (t > 0 ? 1 : 0)) },
        ...{ advantages: new Float32Array(tokens.length).fill(1), logprobs: new Float32Array(tokens.length) },
      },
    ],
    {
      ...{ loss: { kind: 'supervised' }, learningRate: 0.05, clipNorm: null, updates: 1, tokenBudget: 64 },
      ...{ seed: [1, 1], klLimit: null },
    },
  )
  const adapter = join(root, 'export-adapter')
  await model.save(adapter)
  await model.close()
  const merged = join(root, 'export-merged')
  await exportFolder(adapter, merged, 'F32')
  const alone = join(root, 'export-alone')
  await exportAdapter(adapter, alone, 'F32')
  ours.adapter = await logitsIn(adapter, ids)
  requests.adapter = reference.adapters
    ? { adapter: alone, base: join(root, 'qwen3'), ids }
    : { logits: merged, ids }
  ours.merged = ours.adapter
  requests.merged = { logits: merged, ids }
  const answers = ask<Record<string, Logits>>(requests)
  for (const [name, values] of Object.entries(ours)) {
    const difference = farthest(values, answers[name])
    assert.ok(difference < 1e-4, `${name}: logits differ by ${difference}`)
  }
  for (const [name, { tokenized }] of Object.entries(reference.models))
    assert.equal(answers[`${name} ids`] as unknown, tokenized, name)
})

/** A folder of a tokenizer alone, as transformers reads it. */
function tokenizerFolder(name: string, files: TokenizerFiles): string {
  const folder = join(root, name)
  mkdirSync(folder)
  const write = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value))
  write('config.json', { model_type: 'llama' })
  write('tokenizer.json', files.tokenizer)
  write('tokenizer_config.json', files.config)
  return folder
}

const letters = byteTokenizer()
const byteModel = letters.tokenizer.model as { vocab: Record<string, number> }
/** Merges across every place at which text may be cut. */
const PAIRS = [
  '1 2',
  '2 3',
  '. .',
  ', .',
  'a .',
  'Ġ 1',
  'Ġ .',
  'Ġ a',
  'a b',
  'Ġ Ġ',
  'Ġa b',
  "' s",
  'Ċ Ċ',
  'b Ġ',
  'Ù £',
]
const byteVocab = { ...byteModel.vocab }
for (const [i, pair] of PAIRS.entries()) byteVocab[pair.replace(' ', '')] = 258 + i
const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
const cut = (behavior: string, pattern: object, invert = false) => ({
  ...{ type: 'Split', pattern, behavior, invert },
})
/** What stands before the bytes. */
const PRE_TOKENIZERS: Readonly<Record<string, readonly object[]>> = {
  'gpt-2': [{ ...byteLevel, use_regex: true }],
  'gpt-2 prefixed': [{ ...byteLevel, add_prefix_space: true, use_regex: true }],
  'each digit': [
    { type: 'Digits', individual_digits: true },
    { ...byteLevel, use_regex: true },
  ],
  digits: [{ type: 'Digits', individual_digits: false }, byteLevel],
  punctuation: [{ type: 'Punctuation', behavior: 'Isolated' }, byteLevel],
  'punctuation together': [{ type: 'Punctuation', behavior: 'Contiguous' }, byteLevel],
  'punctuation behind': [{ type: 'Punctuation', behavior: 'MergedWithPrevious' }, byteLevel],
  words: [{ type: 'Whitespace' }, byteLevel],
  'no white space': [{ type: 'WhitespaceSplit' }, byteLevel],
  ...Object.fromEntries(
    ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'].flatMap((behavior) => [
      [`split ${behavior}`, [cut(behavior, { String: 'a' }), byteLevel]],
      [`split ${behavior} by expression`, [cut(behavior, { Regex: '[.,]|\\s' }), byteLevel]],
    ]),
  ),
  'split Isolated inverted': [cut('Isolated', { Regex: '\\w+' }, true), byteLevel],
  'split Removed inverted': [cut('Removed', { Regex: '\\w+' }, true), byteLevel],
}
const PIECES = [
  'ab 12 3,. a..b  a',
  "a's ½ ٣12 a!?",
  ' \uFEFFa\u0085 b\u00a0.',
  'a\n\n a b .b,a',
  '',
  '  ',
  '¿ab? …a',
]

function byteFiles(pretokenizers: readonly object[]): TokenizerFiles {
  return {
    tokenizer: {
      ...{ version: '1.0', truncation: null, padding: null, normalizer: null, post_processor: null },
      added_tokens: ['<|im_start|>', '<|im_end|>'].map((content, i) => ({
        ...{ id: 256 + i, content, special: true, single_word: false },
        ...{ lstrip: false, rstrip: false, normalized: false },
      })),
      pre_tokenizer: { type: 'Sequence', pretokenizers },
      decoder: byteLevel,
      model: {
        ...{ type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null },
        ...{ end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false },
        ...{ vocab: byteVocab, merges: PAIRS.map((pair) => pair.split(' ')) },
      },
    },
    config: { tokenizer_class: 'PreTrainedTokenizerFast', eos_token: '<|im_end|>' },
  }
}

test('every way of cutting a text gives the ids of AutoTokenizer', () => {
  const missing = lacks('transformers')
  if (missing) {
    process.stdout.write(`SKIP ways of cutting: ${missing}\n`)
    return
  }
  const requests: Record<string, object> = {}
  for (const [name, pretokenizers] of Object.entries(PRE_TOKENIZERS))
    requests[name] = { tokenize: tokenizerFolder(name, byteFiles(pretokenizers)), texts: PIECES }
  const there = ask<Record<string, number[][]>>(requests)
  for (const [name, pretokenizers] of Object.entries(PRE_TOKENIZERS)) {
    const { encode } = createTokenizer(byteFiles(pretokenizers))
    assert.equal(
      PIECES.map((text) => [...encode(text)]),
      there[name],
      name,
    )
  }
})

/** The shape of SentencePiece: spaces as U+2581, bytes for what the vocabulary lacks. */
function pieceFiles(more: object, config: object = {}): TokenizerFiles {
  const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
  const pieces = ['▁', 'a', 'b', 'c', '.', '▁a', '▁▁', 'ab', '▁ab', 'b▁']
  const vocab = Object.fromEntries(
    ['<unk>', '<s>', '</s>', ...bytes, ...pieces].map((text, id) => [text, id]),
  )
  const merges = [
    ['▁', '▁'],
    ['▁', 'a'],
    ['a', 'b'],
    ['▁a', 'b'],
    ['▁', 'ab'],
    ['b', '▁'],
  ]
  return {
    tokenizer: {
      ...{ version: '1.0', truncation: null, padding: null, normalizer: null, pre_tokenizer: null },
      added_tokens: ['<unk>', '<s>', '</s>'].map((content, id) => ({
        ...{
          id,
          content,
          special: true,
          single_word: false,
          lstrip: false,
          rstrip: false,
          normalized: false,
        },
      })),
      post_processor: {
        type: 'TemplateProcessing',
        single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
        pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
        special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
      },
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          ...[{ type: 'ByteFallback' }, { type: 'Fuse' }],
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
      model: {
        ...{ type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null },
        ...{
          end_of_word_suffix: null,
          fuse_unk: true,
          byte_fallback: true,
          ignore_merges: false,
          vocab,
          merges,
        },
      },
      ...more,
    },
    config: {
      ...{
        tokenizer_class: 'PreTrainedTokenizerFast',
        bos_token: '<s>',
        eos_token: '</s>',
        unk_token: '<unk>',
      },
      ...config,
    },
  }
}

const metaspace = { type: 'Metaspace', replacement: '▁' }
const legacy = [
  { type: 'Prepend', prepend: '▁' },
  { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
]
const PIECE_FILES: Readonly<Record<string, TokenizerFiles>> = {
  'first, whole': pieceFiles({ pre_tokenizer: { ...metaspace, prepend_scheme: 'first', split: false } }),
  'always, cut': pieceFiles({ pre_tokenizer: { ...metaspace, prepend_scheme: 'always', split: true } }),
  'never, cut': pieceFiles({ pre_tokenizer: { ...metaspace, prepend_scheme: 'never' } }),
  legacy: pieceFiles({ normalizer: { type: 'Sequence', normalizers: legacy } }),
  'no begin': pieceFiles({ pre_tokenizer: metaspace }, { add_bos_token: false }),
  'begin and end': pieceFiles({ pre_tokenizer: metaspace }, { add_bos_token: true, add_eos_token: true }),
  'end alone': pieceFiles({ pre_tokenizer: metaspace, post_processor: null }, { add_eos_token: true }),
  'special by name': pieceFiles(
    { pre_tokenizer: metaspace },
    { additional_special_tokens: ['ab'], image_token: '▁a', add_eos_token: true },
  ),
  'a token of the config': pieceFiles(
    { pre_tokenizer: metaspace },
    {
      added_tokens_decoder: {
        0: { content: '<unk>', special: true },
        1: { content: '<s>', special: true },
        2: { content: '</s>', special: true },
        268: { content: 'b▁', special: true },
      },
    },
  ),
}
const SPACED = ['ab  ab c.', '<s>ab</s> ab', ' é🙂 b', '', 'ab▁ab\n', 'b▁a b a']

test('tokenizers of SentencePiece give the ids of AutoTokenizer, with what is put around a text, and its texts', () => {
  const missing = lacks('transformers')
  if (missing) {
    process.stdout.write(`SKIP tokenizers of SentencePiece: ${missing}\n`)
    return
  }
  const requests: Record<string, object> = {}
  const ids = [
    [4, 198, 172, 260],
    [261, 264, 2, 259, 260],
    [259, 259, 261],
  ]
  for (const [name, files] of Object.entries(PIECE_FILES)) {
    const folder = tokenizerFolder(name, files)
    requests[name] = { tokenize: folder, texts: SPACED, special: true }
    requests[`${name} texts`] = { decode: folder, ids }
  }
  const there = ask<Record<string, unknown>>(requests)
  for (const [name, files] of Object.entries(PIECE_FILES)) {
    const { encode, decode } = createTokenizer(files)
    assert.equal(
      SPACED.map((text) => [...encode(text, { begin: true })]),
      there[name],
      name,
    )
    assert.equal(
      ids.map((tokens) => decode(tokens)),
      there[`${name} texts`],
      name,
    )
  }
})

test('chats are rendered as transformers does: with tools, calls, their answers, and named templates', () => {
  const missing = lacks('transformers', 'jinja2')
  if (missing) {
    process.stdout.write(`SKIP chats: ${missing}\n`)
    return
  }
  const plain = [
    '{{ bos_token }}{% if tools is defined and tools is not none %}{{ tools | tojson }}{% endif %}{% if pad_token is defined %}PAD{% endif %}',
    '{% for m in messages %}[{{ m.role }}{% if m.name %} {{ m.name }}{% endif %}{% if m.tool_call_id %} {{ m.tool_call_id }}{% endif %}]',
    '{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.id }}:{{ c.function.name }}={{ c.function.arguments | tojson }}{% endfor %}',
    '{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}',
  ].join('')
  const tool = { name: 'add', description: 'é', parameters: { type: 'object', properties: {} } }
  const calls = [{ id: 'c1', name: 'add', arguments: { a: 1, b: 'ü' } }]
  const messages: ChatMessage[] = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: '', toolCalls: calls },
    { role: 'tool', content: '3', toolCallId: 'c1', toolName: 'add' },
  ]
  const theirs = [
    { role: 'user', content: 'hi' },
    {
      ...{ role: 'assistant', content: '' },
      tool_calls: calls.map(({ id, ...rest }) => ({ id, type: 'function', function: rest })),
    },
    { role: 'tool', content: '3', tool_call_id: 'c1', name: 'add' },
  ]
  const named = [
    { name: 'default', template: plain },
    { name: 'tool_use', template: `TOOLS ${plain}` },
  ]
  const requests: Record<string, object> = {}
  const ours: Record<string, string[]> = {}
  for (const [name, chat_template] of [
    ['one template', plain],
    ['named templates', named],
  ] as const) {
    const files = pieceFiles({}, { chat_template })
    const chats = [{ messages: theirs }, { messages: theirs, tools: [{ type: 'function', function: tool }] }]
    requests[name] = { render: tokenizerFolder(name, files), chats }
    const { renderChat } = createTokenizer(files)
    ours[name] = [renderChat(messages), renderChat(messages, { tools: [tool] })]
  }
  assert.equal(ask<unknown>(requests), ours)
})

test('a penalty of generation_config.json acts in greedy texts as in transformers', async () => {
  const reference = expected()
  if (!reference) return
  const folder = join(root, 'penalised')
  cpSync(join(root, 'qwen3'), folder, { recursive: true })
  writeFileSync(
    join(folder, 'generation_config.json'),
    JSON.stringify({ eos_token_id: 1, repetition_penalty: 1.3 }),
  )
  const { ids } = reference
  const { tokens } = ask<{ tokens: number[] }>({ tokens: { greedy: folder, ids, count: 24 } })
  const model = await openLocalModel({ folder })
  const [generation] = await model.generate([
    {
      ...{ prompt: { tokens: ids }, maxTokens: 24, temperature: 0, seed: [0, 0] as const },
      ...greedyDefaults((await readModelFolder(folder)).generation, folder),
    },
  ])
  await model.close()
  assert.equal([...generation.tokens!], tokens)
})

for (const preset of ['tiny', 'nano'] as const)
  test(`${preset}: AutoTokenizer gives the ids of the export's own tokenizer`, async () => {
    const missing = lacks('transformers')
    if (missing) {
      process.stdout.write(`SKIP ids of ${preset}: ${missing}\n`)
      return
    }
    const tokenizer = trainWordTokenizer({ words: ['go to the cabinet', 'open fridge', 'look around'] })
    const { size, endToken, encode } = createTokenizer(tokenizer)
    const config = presetConfig(preset, { vocabSize: size, contextTokens: 64, endToken })
    const model = await openLocalModel({ config, tokenizer, seed: 1, backend: 'wasm' })
    const folder = join(root, preset)
    await model.save(folder)
    await model.close()
    const texts = ['go to the cabinet 12', "don't stop! x=-5", 'zyx (a)', 'a/b_c - 7']
    texts.push('<|im_start|>user\nlook<|im_end|>')
    const { ids } = ask<{ ids: unknown }>({ ids: { tokenize: folder, texts } })
    assert.equal(
      ids,
      texts.map((text) => [...encode(text)]),
    )
  })

test.run()
