import { parseCommandLine, printJson, wholeNumber } from '../../command-line.ts'
import { explain, RlError } from '../../errors.ts'
import {
  type FineTuneRecord,
  fineTune,
  parseRecords,
  recordTexts,
  supervisedSamples,
} from '../../models/local/fine-tune.ts'
import { type LocalModelOptions, openLocalModel } from '../../models/local/model.ts'
import { isPreset, PRESET_NAMES, presetConfig } from '../../models/local/presets.ts'
import { createTokenizer } from '../../models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../models/local/word-tokenizer.ts'
import { seedOf } from '../../random.ts'
import { readText } from '../../text-file.ts'
import type { Command } from '../command.ts'
import { backendFlag, numberFlag, required } from '../model-flags.ts'

export const command: Command = {
  summary: 'supervised fine-tuning of a local model',
  help: `
rl model sft --model DIR | --config tiny|nano  --data FILE.jsonl --out DIR [options]

Each line of the data is {"prompt", "completion"}, {"messages": [{"role", "content"}]} (the assistant's messages are trained) or
{"text"}. --config starts a new model whose word-level tokenizer is trained on the data.

  --epochs N         1
  --batch N          16 (samples of one optimiser step)
  --lr X             1e-4, 1e-3 with --config (highest rate, after a warm-up, then a half cosine)
  --lora RANK        trains a low-rank adapter of this rank and writes it alone (--lora-alpha X, 2 RANK)
  --context N        512 (context of a new model)
  --token-budget N   4096 (most tokens in one pass)
  --weight-decay X   0.01
  --seed N           0
  --backend NAME     auto
  --json             prints one JSON object a step`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          model: { type: 'string' },
          config: { type: 'string' },
          data: { type: 'string' },
          out: { type: 'string' },
          epochs: { type: 'string', default: '1' },
          batch: { type: 'string', default: '16' },
          lr: { type: 'string' },
          lora: { type: 'string' },
          'lora-alpha': { type: 'string' },
          context: { type: 'string', default: '512' },
          'token-budget': { type: 'string', default: '4096' },
          'weight-decay': { type: 'string', default: '0.01' },
          seed: { type: 'string', default: '0' },
          backend: { type: 'string', default: 'auto' },
          json: { type: 'boolean', default: false },
        },
      },
      argv,
    )
    const file = required('--data', values.data)
    const out = required('--out', values.out)
    const seed = wholeNumber('--seed', values.seed)
    const options = {
      epochs: wholeNumber('--epochs', values.epochs, 1),
      batch: wholeNumber('--batch', values.batch, 1),
      learningRate: numberFlag('--lr', values.lr ?? (values.config === undefined ? '1e-4' : '1e-3'), 0),
      warmup: 0.05,
      tokenBudget: wholeNumber('--token-budget', values['token-budget'], 1),
      weightDecay: numberFlag('--weight-decay', values['weight-decay'], 0),
      seed: seedOf(seed, 'sft'),
    }
    const records = parseRecords(await readData(file), file)
    const source = sourceOf(values, records, seed)
    const model = await openLocalModel({
      ...source,
      backend: await backendFlag(values.backend),
      trains: true,
    })
    try {
      const { contextTokens, backend } = model.describe()
      const all = records.flatMap((record, i) => supervisedSamples(record, model.tokenizer, `line ${i + 1}`))
      const limit = Math.min(contextTokens, options.tokenBudget)
      const samples = all.filter(({ tokens }) => tokens.length <= limit)
      const say = (text: string) => process.stderr.write(`${text}\n`)
      say(`${samples.length} samples, ${model.ready.trainable.toLocaleString('en')} weights, ${backend}`)
      if (samples.length < all.length)
        say(`${all.length - samples.length} samples are longer than ${limit} tokens and left out`)
      if (samples.length === 0)
        throw new RlError(`${file} has no sample that fits`, { code: 'data.empty', hint: 'raise --context' })
      const started = performance.now()
      let tokens = 0
      await fineTune(model, samples, options, ({ step, steps, epoch, learningRate, metrics }) => {
        tokens += metrics.tokens
        const tokensPerSecond = Math.round((tokens / (performance.now() - started)) * 1000)
        if (values.json) printJson({ step, steps, epoch, learningRate, tokensPerSecond, ...metrics })
        else if (step === 1 || step === steps || step % 10 === 0)
          process.stdout.write(
            `step ${step}/${steps}  epoch ${epoch}  loss ${metrics.loss.toFixed(4)}  lr ${learningRate.toExponential(1)}  ${tokensPerSecond} trained tokens/s\n`,
          )
      })
      const sha256 = await model.save(out)
      if (values.json) printJson({ out, sha256 })
      else process.stdout.write(`${out}  sha256 ${sha256}\n`)
    } finally {
      await model.close()
    }
    return 0
  },
}

async function readData(file: string): Promise<string> {
  try {
    return await readText(file)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`--data: ${file} cannot be read: ${explain(cause)}`, { code: 'data.file', cause })
  }
}

type Flags = {
  readonly model?: string
  readonly config?: string
  readonly lora?: string
  readonly 'lora-alpha'?: string
  readonly context: string
}

function sourceOf(flags: Flags, records: readonly FineTuneRecord[], seed: number): LocalModelOptions {
  const { model, config, lora } = flags
  if ((model === undefined) === (config === undefined))
    throw new RlError('give either --model or --config', { code: 'cli.usage' })
  if (model !== undefined) {
    if (lora === undefined) return { folder: model }
    const rank = wholeNumber('--lora', lora, 1)
    const alpha = numberFlag('--lora-alpha', flags['lora-alpha'] ?? String(2 * rank), 0)
    return { folder: model, lora: { rank, alpha, targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj'], seed } }
  }
  if (config === undefined || !isPreset(config))
    throw new RlError(`--config is '${config}'`, {
      code: 'cli.usage',
      hint: `use ${PRESET_NAMES.join(' or ')}`,
    })
  const tokenizer = trainWordTokenizer({ texts: records.flatMap(recordTexts) })
  const { size, endToken } = createTokenizer(tokenizer)
  const contextTokens = wholeNumber('--context', flags.context, 8)
  return {
    config: presetConfig(config, { vocabSize: size, contextTokens, endToken }),
    tokenizer,
    seed,
    name: config,
  }
}
