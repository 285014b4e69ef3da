export type OverlongOptions = {
  /** Longest response in tokens. */
  readonly maxTokens: number
  /** Tokens before the limit over which the penalty grows from 0 to `factor`. */
  readonly bufferTokens: number
  readonly factor: number
}

/**
 * Soft penalty on long responses, added to the reward (GRPO-TCR): 0 up to `maxTokens - bufferTokens`, then linear to
 * -factor at `maxTokens` and beyond.
 */
export function overlongPenalty(
  tokens: number,
  { maxTokens, bufferTokens, factor }: OverlongOptions,
): number {
  const excess = tokens - (maxTokens - bufferTokens)
  if (excess <= 0) return 0
  return -factor * Math.min(1, excess / bufferTokens)
}
