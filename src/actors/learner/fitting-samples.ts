import type { TrainingSample } from '../../models/port.ts'
import { isLearnable } from '../../models/trained-answer.ts'

/**
 * The samples that a pass can take, and how many it cannot: one that is too long, or of which nothing can be learned (token ids that
 * the model has not, columns that disagree), is left out and counted. It ends no update.
 * @param most tokens of the longest that fits
 * @param vocabulary how many token ids the model has; unknown if absent
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
