export type OverlongOptions = {
  /** Longest response in tokens. */
  readonly maxTokens: number
  /** Number of tokens before the limit over which the penalty grows from 0 to `factor`. */
  readonly bufferTokens: number
  readonly factor: number
}

/**
 * Returns a soft penalty on long responses, to be added to the reward (GRPO-TCR). It is 0 up to `maxTokens - bufferTokens`. Then
 * it falls linearly to -factor at `maxTokens`, and stays there.
 */
export function overlongPenalty(
  tokens: number,
  { maxTokens, bufferTokens, factor }: OverlongOptions,
): number {
  const excess = tokens - (maxTokens - bufferTokens)
  if (excess <= 0) return 0
  return -factor * Math.min(1, excess / bufferTokens)
}
