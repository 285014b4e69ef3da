/** generation_config.json: a model's default options of decoding. */
import { RlError } from '../../errors.ts'

/** Keys that change a greedy continuation, with the values that have no effect. */
const CHANGING: Readonly<Record<string, readonly unknown[]>> = {
  num_beams: [1],
  penalty_alpha: [0],
  dola_layers: [],
  guidance_scale: [1],
  token_healing: [],
  no_repeat_ngram_size: [0],
  encoder_no_repeat_ngram_size: [0],
  encoder_repetition_penalty: [1],
  min_length: [0],
  min_new_tokens: [0],
  bad_words_ids: [],
  sequence_bias: [],
  forced_bos_token_id: [],
  forced_eos_token_id: [],
  suppress_tokens: [],
  begin_suppress_tokens: [],
  exponential_decay_length_penalty: [],
  watermarking_config: [],
  stop_strings: [],
  max_time: [],
}

/**
 * Returns the options that change greedy decoding, as in transformers: a repetition penalty acts even without random draws.
 * @throws RlError `model.config` with the name of a key that would change the continuation and is not implemented
 */
export function greedyDefaults(
  generation: Readonly<Record<string, unknown>>,
  source: string,
): { readonly repetitionPenalty: number } {
  const refuse = (key: string) =>
    new RlError(
      `${source}: generation_config.json: ${key}: ${JSON.stringify(generation[key])} is not implemented`,
      { code: 'model.config', hint: 'remove the key from the file' },
    )
  for (const [key, without] of Object.entries(CHANGING))
    if (!asksNothing(generation[key]) && !without.includes(generation[key])) throw refuse(key)
  const { repetition_penalty: penalty = 1 } = generation
  if (penalty === null) return { repetitionPenalty: 1 }
  if (typeof penalty !== 'number' || !(penalty > 0)) throw refuse('repetition_penalty')
  return { repetitionPenalty: penalty }
}

/** Returns whether a value has no effect: absent, null, false, or an empty list or map. */
function asksNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
