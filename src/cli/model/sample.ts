import { parseCommandLine, printJson, wholeNumber } from '../../command-line.ts'
import { RlError } from '../../errors.ts'
import { openLocalModel } from '../../models/local/model.ts'
import { createTextStream } from '../../models/local/server/text-stream.ts'
import { seedOf } from '../../random.ts'
import type { Command } from '../command.ts'
import { backendFlag, cacheBytes, cacheFlag, numberFlag, required } from '../model-flags.ts'

export const command: Command = {
  summary: 'text from a local model',
  help: `
rl model sample --model DIR --prompt TEXT | --chat TEXT [options]

--prompt continues the text as it is. --chat renders it as a user's message with the model's template.

  --max-tokens N     64
  --temperature T    1 (0 takes the likeliest token)
  --top-p P          1
  --stop TEXT        ends before this text (may be given several times)
  --seed N           0
  --n N              1 (number of texts)
  --backend NAME     auto
  --cache-megabytes N  256 (for keys and values; it bounds the length of a prompt with its text)
  --json             prints one JSON object a text, with token ids and log-probs`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          model: { type: 'string' },
          prompt: { type: 'string' },
          chat: { type: 'string' },
          'max-tokens': { type: 'string', default: '64' },
          temperature: { type: 'string', default: '1' },
          'top-p': { type: 'string', default: '1' },
          stop: { type: 'string', multiple: true, default: [] },
          seed: { type: 'string', default: '0' },
          n: { type: 'string', default: '1' },
          backend: { type: 'string', default: 'auto' },
          ...cacheFlag,
          json: { type: 'boolean', default: false },
        },
      },
      argv,
    )
    const folder = required('--model', values.model)
    if ((values.prompt === undefined) === (values.chat === undefined))
      throw new RlError('give either --prompt or --chat', { code: 'cli.usage' })
    const prompt =
      values.chat === undefined
        ? { text: values.prompt! }
        : { messages: [{ role: 'user' as const, content: values.chat }] }
    const options = {
      prompt,
      maxTokens: wholeNumber('--max-tokens', values['max-tokens']),
      temperature: numberFlag('--temperature', values.temperature, 0),
      topP: numberFlag('--top-p', values['top-p'], 0, 1),
      stopTexts: values.stop,
    }
    const seed = wholeNumber('--seed', values.seed)
    const requests = Array.from({ length: wholeNumber('--n', values.n, 1) }, (_, i) => ({
      ...options,
      seed: i === 0 ? seedOf(seed) : seedOf(seed, 'choice', i),
    }))
    const backend = await backendFlag(values.backend)
    const model = await openLocalModel({ folder, backend, cacheBytes: cacheBytes(values) })
    try {
      if (requests.length === 1 && !values.json) {
        const text = createTextStream((tokens) => model.decode(tokens), values.stop)
        const onToken = ({ draw }: { draw: { token: number } }) => process.stdout.write(text.push(draw.token))
        for (const generation of await model.sample(requests, { onToken }))
          process.stdout.write(`${text.end(generation.text)}\n`)
        return 0
      }
      for (const { text, finish, tokens, logprobs } of await model.sample(requests))
        if (values.json) printJson({ text, finish, tokens: [...tokens], logprobs: [...logprobs] })
        else process.stdout.write(`${text}\n`)
    } finally {
      await model.close()
    }
    return 0
  },
}
