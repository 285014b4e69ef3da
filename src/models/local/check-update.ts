import { RlError } from '../../errors.ts'
import type { TrainingSample, UpdateOptions } from '../port.ts'
import type { ScoredSample } from './gradients.ts'
import { type LocalModel, trainedNames } from './params.ts'

/** @throws RlError `model.options` with the rule */
export function checkOptions({ config, params }: LocalModel, options: UpdateOptions): void {
  const refuse = (name: string, value: unknown, rule: string) => {
    throw new RlError(`update: ${name} is ${value}`, { code: 'model.options', hint: rule })
  }
  if (!(options.learningRate >= 0 && Number.isFinite(options.learningRate)))
    refuse('learningRate', options.learningRate, 'give a finite number of 0 or more')
  if (!(Number.isInteger(options.updates) && options.updates >= 1))
    refuse('updates', options.updates, 'give 1 or more')
  if (!(options.tokenBudget >= 1)) refuse('tokenBudget', options.tokenBudget, 'give 1 or more')
  const { temperature = 1, layers = config.layers } = options
  if (!(Number.isInteger(layers) && layers >= 1 && layers <= config.layers))
    refuse('layers', layers, `give 1 to ${config.layers}, or leave it out for all`)
  if (trainedNames(params, config.layers - layers).length === 0)
    refuse('layers', layers, 'the adapter is on none of them')
  if (!(temperature > 0)) refuse('temperature', temperature, 'give more than 0')
  if (options.clipNorm !== null && !(options.clipNorm > 0))
    refuse('clipNorm', options.clipNorm, 'give more than 0, or null')
}

/** @throws RlError `model.sample` for a sample that does not fit the model, the budget or its own mask */
export function checkSample(
  { config }: LocalModel,
  sample: ScoredSample & Partial<TrainingSample>,
  budget: number,
): void {
  const { tokens, mask, advantages, logprobs, referenceLogprobs, allowed } = sample
  const length = tokens.length
  const refuse = (what: string, hint: string) => {
    throw new RlError(`sample ${sample.id ?? ''}: ${what}`, { code: 'model.sample', hint })
  }
  for (const [name, array] of Object.entries({ mask, advantages, logprobs, referenceLogprobs }))
    if (array && array.length !== length)
      refuse(`${name} has length ${array.length}, tokens ${length}`, 'lengths must agree')
  if (length > config.contextTokens)
    refuse(`${length} tokens in a context of ${config.contextTokens}`, 'cut or drop it')
  if (length > budget) refuse(`${length} tokens exceed tokenBudget ${budget}`, 'raise tokenBudget')
  if (mask[0])
    refuse('its first token is trained, but nothing predicts it', 'begin with a token that is not trained')
  if (!allowed) return
  for (let t = 0; t < length; t++) {
    const ids = allowed.tokens.subarray(allowed.offsets[t], allowed.offsets[t + 1])
    if (mask[t] && ids.length > 0 && !ids.includes(tokens[t]!))
      refuse(
        `token ${tokens[t]} at ${t} is not among the allowed ones`,
        'keep what was allowed when it was sampled',
      )
  }
}
