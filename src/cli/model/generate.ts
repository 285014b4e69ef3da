import { z } from 'zod'
import { parseCommandLine, printJson, wholeNumber } from '../../command-line.ts'
import { explain, RlError } from '../../errors.ts'
import { greedyDefaults } from '../../models/local/generation-config.ts'
import { openLocalModel } from '../../models/local/model.ts'
import { readModelFolder } from '../../models/local/model-folder.ts'
import { readText } from '../../text-file.ts'
import type { Command } from '../command.ts'
import { backendFlag, cacheBytes, cacheFlag, required } from '../model-flags.ts'

/** Fields of known answers, which are ignored. So a file of answers can be used as it is. */
const TOLD = ['rendered', 'prompt_ids', 'greedy_ids', 'greedy_text', 'logprobs', 'smallest_top2_gap']
const promptSchema = z
  .strictObject({
    prompt: z.string(),
    chat: z.boolean().default(false),
    ...Object.fromEntries(TOLD.map((key) => [key, z.unknown().optional()])),
  })
  .refine(({ prompt, chat }) => chat || prompt !== '', { path: ['prompt'], error: 'it is empty' })

export const command: Command = {
  summary: 'greedy continuations of many prompts, with token ids and log-probs',
  help: `
rl model generate --model PATH --prompts FILE.jsonl [--tokens 32] [--backend NAME] [--cache-megabytes 256]

PATH is a Hugging Face folder, an adapter on one, or a GGUF file. A line of the file is {"prompt": "...", "chat": true}.
With chat the model's template renders the prompt as a user's message. Without it the text is used as it is. Keys of
answers (${TOLD.join(', ')}) are ignored.
A repetition_penalty of the folder's generation_config.json is applied, as in transformers. Log-probs are of the logits
before it. Writes a JSON line a prompt, in order: {prompt_ids, greedy_ids, greedy_text, logprobs}. The text shows special
tokens.`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          model: { type: 'string' },
          prompts: { type: 'string' },
          tokens: { type: 'string', default: '32' },
          backend: { type: 'string', default: 'auto' },
          ...cacheFlag,
        },
      },
      argv,
    )
    const file = required('--prompts', values.prompts)
    const maxTokens = wholeNumber('--tokens', values.tokens, 1)
    const text = await readText(file).catch((cause: unknown) => {
      if (cause instanceof RlError) throw cause
      throw new RlError(`--prompts: ${file} cannot be read: ${explain(cause)}`, { code: 'data.file', cause })
    })
    const prompts = readPrompts(text, file)
    const folder = required('--model', values.model)
    const defaults = greedyDefaults((await readModelFolder(folder)).generation, folder)
    const backend = await backendFlag(values.backend)
    const model = await openLocalModel({ folder, backend, cacheBytes: cacheBytes(values) })
    try {
      const generations = await model.sample(
        prompts.map(({ prompt, chat }) => ({
          prompt: chat ? { messages: [{ role: 'user' as const, content: prompt }] } : { text: prompt },
          maxTokens,
          temperature: 0,
          ...defaults,
          seed: [0, 0] as const,
        })),
      )
      for (const { promptTokens, tokens, logprobs } of generations)
        printJson({
          prompt_ids: [...promptTokens],
          greedy_ids: [...tokens],
          greedy_text: model.tokenizer.decode(tokens, { special: true }),
          logprobs: [...logprobs],
        })
    } finally {
      await model.close()
    }
    return 0
  },
}

function readPrompts(jsonl: string, source: string): z.infer<typeof promptSchema>[] {
  const withoutByteOrderMark = jsonl.replace(/^\uFEFF/, '')
  const prompts = withoutByteOrderMark.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    try {
      return [promptSchema.parse(JSON.parse(line))]
    } catch (cause) {
      const [issue] = cause instanceof z.ZodError ? cause.issues : []
      const why = issue ? `: ${[...issue.path, issue.message].join(': ')}` : ': it is no JSON'
      throw new RlError(`${source}:${i + 1} is not a prompt${why}`, {
        code: 'data.record',
        hint: 'a line is {"prompt": "...", "chat": true or false}',
        cause,
      })
    }
  })
  if (prompts.length > 0) return prompts
  throw new RlError(`${source} holds no prompt`, {
    code: 'data.record',
    hint: 'a line is {"prompt": "...", "chat": true or false}',
  })
}
