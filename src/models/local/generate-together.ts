import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { Prompt } from '../port.ts'
import { textAlong } from './choice-place.ts'
import type { ModelConfig } from './config.ts'
import type { LocalGeneration, LocalRequest, TokenEvent } from './messages.ts'
import { hasOpenPlace } from './open-places.ts'
import type { SampleResult } from './sampler/request.ts'
import type { Sampler } from './sampler.ts'
import type { Draw } from './sampling.ts'
import type { Tokenizer } from './tokenizer.ts'

/**
 * Samples the answers of all requests. If one of them fails, the others are cancelled.
 * @throws RlError `model.context` before anything is sampled if a prompt is far too long, and the errors of the sampler
 */
export async function generateTogether(
  { tokenizer, config, sampler }: { tokenizer: Tokenizer; config: ModelConfig; sampler: Sampler },
  requests: readonly LocalRequest[],
  signal: AbortSignal,
  onToken: ((event: TokenEvent) => void) | undefined,
): Promise<LocalGeneration[]> {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const prompts = requests.map(({ prompt }) => promptTokens(tokenizer, prompt, config))
  const results = requests.map(async (request, index) => {
    const prompt = itemAt(prompts, index)
    const result = await sampler.submit(
      {
        ...request,
        prompt,
        topP: request.topP ?? 1,
        stopTokens: [...(request.stopTokens ?? []), ...specialStops(tokenizer, request)],
        stopTexts: request.stopTexts ?? [],
        onToken: onToken && teller(index, prompt, onToken),
      },
      either,
    )
    return generation(tokenizer, request, prompt, result)
  })
  try {
    return await Promise.all(results)
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(results)
    throw error
  }
}

function promptTokens(tokenizer: Tokenizer, prompt: Prompt, { contextTokens }: ModelConfig): Int32Array {
  if ('tokens' in prompt) return Int32Array.from(prompt.tokens)
  const text =
    'text' in prompt
      ? prompt.text
      : tokenizer.renderChat(prompt.messages, { variables: prompt.template, tools: prompt.tools })
  const bytes = Buffer.byteLength(text)
  // Even with tokens of the longest kind the prompt would not fit. This check costs nothing.
  if (bytes > SHORTENED * tokenizer.mostTokenBytes * contextTokens)
    throw new RlError(`the prompt has ${bytes} bytes; the model's context length is ${contextTokens}`, {
      code: 'model.context',
      hint: 'shorten it',
    })
  return tokenizer.encode(text, { begin: 'text' in prompt })
}

/** Normal forms may make a text shorter by this factor. */
const SHORTENED = 4

function teller(index: number, prompt: Int32Array, onToken: (event: TokenEvent) => void) {
  let promptTokens: Int32Array | undefined = prompt
  return (draw: Draw, top: readonly Draw[]) => {
    onToken({ index, draw, top, promptTokens })
    promptTokens = undefined
  }
}

/** Texts have no special tokens. A special token as stop text is recognised by its id. */
function specialStops(tokenizer: Tokenizer, { stopTexts = [] }: LocalRequest): number[] {
  const ids = stopTexts.map((text) => tokenizer.tokenId(text))
  return ids.filter((id) => id !== undefined).filter((id) => tokenizer.isSpecial(id))
}

function generation(
  tokenizer: Tokenizer,
  { stopTexts = [], choices, entropies: told = false }: LocalRequest,
  prompt: Int32Array,
  { tokens, logprobs, entropies, finish, stopText, cachedTokens, top }: SampleResult,
): LocalGeneration {
  const whole =
    choices && hasOpenPlace(choices) ? textAlong(choices, tokens, tokenizer) : tokenizer.decode(tokens)
  const cut = stopText === null ? -1 : whole.indexOf(itemAt(stopTexts, stopText))
  const last = tokens.at(-1)
  const lastText = last === undefined ? '' : tokenizer.tokenText(last)
  const stoppedBy = stopText ?? (finish === 'stop' ? stopTexts.indexOf(lastText) : -1)
  return {
    text: cut < 0 ? whole : whole.slice(0, cut),
    finish,
    tokens,
    logprobs,
    ...(told ? { entropies } : {}),
    promptTokens: prompt,
    stopText: stopTexts[stoppedBy] ?? null,
    top,
    usage: { promptTokens: prompt.length, cachedTokens, completionTokens: tokens.length },
  }
}
