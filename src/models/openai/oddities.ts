/** What is odd about an endpoint's answers although none of them is wrong: told once each, since nothing else would show it. */
import type { GenerateRequest, Generation } from '../port.ts'

export type Oddities = {
  /** @param whole whether as many prompt tokens were counted as the prompt may have */
  readonly see: (request: GenerateRequest, generation: Generation, whole: boolean) => void
}

/** Prompts whose first answer is remembered for comparison. */
const REMEMBERED = 64
/** So many equal answers in a row, with other seeds and none that differed, are no chance. */
const SUSPICIOUS = 24

export function watchOddities(model: string, report: (message: string) => void): Oddities {
  const told = new Set<string>()
  const first = new Map<string, string>()
  let equal = 0
  let differed = false

  function tell(what: string): void {
    if (told.has(what)) return
    told.add(what)
    report(`${model}: ${what}`)
  }

  function compare({ prompt, temperature, seed }: GenerateRequest, text: string): void {
    if (temperature === 0 || differed || !('messages' in prompt)) return
    const key = JSON.stringify(prompt.messages)
    const answer = `${seed.join()} ${text}`
    const known = first.get(key)
    if (known === undefined) {
      first.set(key, answer)
      if (first.size > REMEMBERED) first.delete(first.keys().next().value as string)
    } else if (!known.endsWith(` ${text}`)) differed = true
    else if (known !== answer && ++equal === SUSPICIOUS)
      tell(
        `${equal} answers to prompts that were asked before were the same, at temperature ${temperature} and with other seeds: does it sample?`,
      )
  }

  return {
    see(request, generation, whole) {
      if (generation.finish === 'refused')
        return tell('it refused an answer, or a filter cut it: that is no action and no verdict')
      const { tokens, logprobs, promptTokens, usage } = generation
      if (usage.completionTokens > 0 && (!tokens || !promptTokens))
        tell('its answers tell no token ids (return_token_ids): nothing can be learned from them')
      else if (usage.completionTokens > 0 && !logprobs)
        tell('its answers tell no log-probs: nothing can be learned from them')
      if (!whole)
        tell(
          `it counted ${usage.promptTokens} prompt tokens where far more were expected: does it cut prompts without a word, as Ollama does beyond num_ctx? windowTokens shortens them by their oldest steps`,
        )
      compare(request, generation.text)
    },
  }
}
