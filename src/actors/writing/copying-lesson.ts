/**
 * A small writer of unit tests first learns to repeat the examples of its prompt. Their tokens are drawn at random, so only looking
 * them up helps. Imitation alone does not teach it (docs/decisions/734-copying-lesson.md).
 */
import type { TestCase } from '../../environments/setting.ts'
import type { TrainingSample } from '../../models/port.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { answerSample, type TextCodec, textPrompt } from './packing.ts'

const MOST_EXAMPLES = 3
/** Most tokens of an input, and of an output. */
const MOST_TOKENS = 6

/** The different tokens of inputs and outputs, in the order in which they come up. */
export function valueTokens({ encode }: TextCodec, tests: readonly TestCase[]): number[] {
  return [...new Set(tests.flatMap(({ input, output }) => encode(`${input.trim()} ${output.trim()}`)))]
}

/** Prompts of one to three examples without a question, each answered by all of its examples. */
export function copyingLesson(
  codec: TextCodec,
  values: readonly number[],
  { count, seed }: { readonly count: number; readonly seed: Seed },
): TrainingSample[] {
  const { encode } = codec
  const [input, output, newline] = [encode('input'), encode('output'), encode('\n')]
  const prompt = textPrompt(codec, 'test', '')
  return Array.from({ length: count }, (_, index) => {
    const random = rng(seedOf(seed, 'copying', index))
    const some = () => Array.from({ length: 1 + random.below(MOST_TOKENS) }, () => random.pick(values))
    const examples = Array.from({ length: 1 + random.below(MOST_EXAMPLES) }, () => [
      ...[...input, ...some()],
      ...[...output, ...some(), ...newline],
    ]).flat()
    return answerSample(`copying-${index}`, [...examples, ...prompt], [...examples, codec.end])
  })
}
