/**
 * The file of a BatchReady, format `rl-batch/1`: one msgpack map, columns as little-endian bytes whose element type ends the
 * name. docs/external-trainers.md describes it to other languages.
 */
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import {
  float32Column,
  int32Column,
  readFloat32,
  readInt32,
  readUint8,
  toColumn,
} from '../../events/columns.ts'
import { pack, unpackUntrusted } from '../../events/msgpack.ts'
import { itemAt } from '../../item-at.ts'
import type { TrainingSample } from '../../models/port.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'

export const BATCH_FORMAT = 'rl-batch/1'

const column = z.instanceof(Uint8Array)
const segmentSchema = z.strictObject({
  /** Rollout and first step, e.g. `3/train-00012/5#0`. */
  id: z.string(),
  /** Version that sampled it. It is older than the parent if rollouts may be stale. */
  policyVersion: z.int().nonnegative(),
  /** Int32 [T]. */
  tokensI32: column,
  /** Uint8 [T]: the loss mask, 1 if a token was sampled and is trained. */
  maskU8: column,
  /** Float32 [T]: log-probs at sampling of the tokens whose mask is 1. */
  logprobsF32: column,
  /** Float32 [T]: advantages of the tokens whose mask is 1. */
  advantagesF32: column,
  /** Float32 [T]: log-probs of the KL reference. If absent, those at sampling are used. */
  referenceLogprobsF32: column.optional(),
  /**
   * Int32 [T + 1] and values: tokens allowed at each position. An empty range allows all. Absent if all tokens were
   * allowed.
   */
  allowedOffsetsI32: column.optional(),
  allowedI32: column.optional(),
  /** Int32: first position of each step, ascending. Only for `aggregate: step`. */
  stepStartsI32: column.optional(),
})
const fileSchema = z.strictObject({
  format: z.literal(BATCH_FORMAT),
  run: z.string(),
  version: z.int().positive(),
  parentVersion: z.int().nonnegative(),
  segments: z.array(segmentSchema),
})

export type BatchFile = {
  readonly run: string
  readonly version: number
  readonly parentVersion: number
  readonly samples: readonly (TrainingSample & { readonly policyVersion: number })[]
}

export function encodeBatch({ run, version, parentVersion, samples }: BatchFile): Uint8Array {
  return pack({
    format: BATCH_FORMAT,
    run,
    version,
    parentVersion,
    segments: samples.map(
      ({
        id,
        policyVersion,
        tokens,
        mask,
        logprobs,
        advantages,
        referenceLogprobs,
        allowed,
        stepStarts,
      }) => ({
        id,
        policyVersion,
        tokensI32: int32Column(tokens),
        maskU8: toColumn(mask),
        logprobsF32: float32Column(logprobs),
        advantagesF32: float32Column(advantages),
        ...(referenceLogprobs ? { referenceLogprobsF32: float32Column(referenceLogprobs) } : {}),
        ...(allowed
          ? { allowedOffsetsI32: int32Column(allowed.offsets), allowedI32: int32Column(allowed.tokens) }
          : {}),
        ...(stepStarts ? { stepStartsI32: int32Column(stepStarts) } : {}),
      }),
    ),
  })
}

/**
 * Reads the file of a BatchReady. All columns are copied.
 * @throws RlError `batch.bad-file`
 * @example const { samples } = decodeBatch(await readFile('batch.msgpack'))
 */
export function decodeBatch(bytes: Uint8Array): BatchFile {
  const parsed = safeParse(fileSchema, unpackUntrusted(bytes))
  if (!parsed.success) {
    const issue = firstIssue(parsed.error)
    throw new RlError(
      `the batch is not of format ${BATCH_FORMAT}: ${issue.path.join('.')} ${issue.message}`,
      {
        code: 'batch.bad-file',
      },
    )
  }
  const { run, version, parentVersion, segments } = parsed.data
  return { run, version, parentVersion, samples: segments.map(sampleOf) }
}

function sampleOf(segment: z.infer<typeof segmentSchema>): BatchFile['samples'][number] {
  checkColumns(segment)
  return {
    id: segment.id,
    policyVersion: segment.policyVersion,
    tokens: readInt32(segment.tokensI32),
    mask: readUint8(segment.maskU8),
    logprobs: readFloat32(segment.logprobsF32),
    advantages: readFloat32(segment.advantagesF32),
    ...(segment.referenceLogprobsF32 ? { referenceLogprobs: readFloat32(segment.referenceLogprobsF32) } : {}),
    ...(segment.allowedOffsetsI32 && segment.allowedI32
      ? { allowed: { offsets: readInt32(segment.allowedOffsetsI32), tokens: readInt32(segment.allowedI32) } }
      : {}),
    ...(segment.stepStartsI32 ? { stepStarts: readInt32(segment.stepStartsI32) } : {}),
  }
}

/**
 * Checks the columns. With other lengths than the tokens', or with wrong ranges, other tokens would be restricted than
 * at sampling.
 */
function checkColumns(segment: z.infer<typeof segmentSchema>): void {
  const refuse = (what: string): never => {
    throw new RlError(`segment ${segment.id} of the batch: ${what}`, {
      code: 'batch.bad-file',
      hint: 'docs/external-trainers.md says what its columns hold',
    })
  }
  const { length } = segment.maskU8
  for (const name of ['tokensI32', 'logprobsF32', 'advantagesF32', 'referenceLogprobsF32'] as const) {
    const bytes = segment[name]?.length ?? 4 * length
    if (bytes !== 4 * length) refuse(`${name} has ${bytes} bytes for ${length} tokens`)
  }
  const { allowedOffsetsI32, allowedI32, stepStartsI32 } = segment
  const starts = stepStartsI32 ? readInt32(stepStartsI32) : []
  const odd = starts.findIndex((start, i) => start <= (starts[i - 1] ?? -1) || start >= length)
  if (odd >= 0) refuse(`stepStartsI32 has ${starts[odd]} at ${odd}, of ${length} tokens`)
  const trained = stepStartsI32 ? segment.maskU8.indexOf(1) : length
  if (trained >= 0 && trained < (starts[0] ?? length)) refuse(`token ${trained} is trained, and of no step`)
  if (!allowedOffsetsI32 !== !allowedI32) refuse('allowedOffsetsI32 and allowedI32 belong together')
  if (!allowedOffsetsI32 || !allowedI32) return
  if (allowedOffsetsI32.length !== 4 * (length + 1))
    refuse(`allowedOffsetsI32 has ${allowedOffsetsI32.length} bytes for ${length} tokens`)
  const offsets = readInt32(allowedOffsetsI32)
  if (offsets[0] !== 0) refuse(`allowedOffsetsI32 begins with ${offsets[0]}`)
  const falling = offsets.findIndex((offset, t) => t > 0 && offset < itemAt(offsets, t - 1))
  if (falling > 0) refuse(`allowedOffsetsI32 falls at ${falling}`)
  const end = itemAt(offsets, length)
  if (4 * end !== allowedI32.length)
    refuse(`allowedOffsetsI32 ends with ${end}, allowedI32 has ${allowedI32.length} bytes`)
}
