/** Reports odd answers of an endpoint, each oddity once. None of these answers is wrong, so nothing else would show them. */
import type { GenerateRequest, Generation } from '../port.ts'
import { NO_IDS, whyUntrainable } from '../trained-answer.ts'

export type Oddities = {
  /** @param whole whether the counted number of prompt tokens is plausible for the prompt */
  readonly see: (request: GenerateRequest, generation: Generation, whole: boolean) => void
}

/** Number of prompts whose first answer is remembered for comparison. */
const REMEMBERED = 64
/** This many equal answers in a row, with different seeds and no other answer, are no chance. */
const SUSPICIOUS = 24

export function watchOddities(model: string, report: (message: string) => void): Oddities {
  const told = new Set<string>()
  const first = new Map<string, string>()
  let equal = 0
  let differed = false

  /** @param kind only the first oddity of a kind is reported */
  function tell(what: string, kind = what): void {
    if (told.has(kind)) return
    told.add(kind)
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
      const { usage } = generation
      const why = whyUntrainable(generation, model)
      // The answer is empty, so no ids are missing.
      if (why && (why.kind !== NO_IDS || usage.completionTokens > 0)) tell(why.text, why.kind)
      if (generation.finish === 'refused') return
      if (!whole)
        tell(
          `it counted ${usage.promptTokens} prompt tokens, but far more were expected: does it cut prompts silently, as Ollama does beyond num_ctx? windowTokens shortens them by their oldest steps`,
        )
      compare(request, generation.text)
    },
  }
}
