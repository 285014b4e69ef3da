import type { TrainingSample } from '../../models/port.ts'
import { isLearnable } from '../../models/trained-answer.ts'

/**
 * Returns the samples that a pass can take, and the number of others. A sample is left out and counted if it is too
 * long, or if nothing can be learned from it. Examples are unknown token ids and columns that disagree. Such a sample
 * ends no update.
 *
 * @param most number of tokens of the longest sample that fits
 * @param vocabulary number of token ids of the model; unknown if absent
 */
export function fittingSamples(
  samples: readonly TrainingSample[],
  most: number,
  vocabulary?: number,
): { readonly samples: readonly TrainingSample[]; readonly counted: Readonly<Record<string, number>> } {
  const short = samples.filter(({ tokens }) => tokens.length <= most)
  const fitting = short.filter((sample) => isLearnable(sample, vocabulary))
  const tooLong = samples.length - short.length
  const unlearnable = short.length - fitting.length
  return {
    samples: fitting,
    counted: {
      ...(tooLong > 0 ? { droppedTooLong: tooLong } : {}),
      ...(unlearnable > 0 ? { droppedUnlearnable: unlearnable } : {}),
    },
  }
}
