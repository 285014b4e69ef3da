/** Lines of a stream that may be hostile. A line is bounded before anything reads it. */
const LINE_FEED = 0x0a

export type BoundedLines = {
  readonly take: (part: Buffer) => void
  /** Ignores all that comes later. */
  readonly stop: () => void
}

/**
 * Cuts a stream into lines.
 *
 * @example const lines = boundedLines(1024, { line: (text) => print(text), tooLong: () => child.end() })
 */
export function boundedLines(
  mostBytes: number,
  { line, tooLong }: { readonly line: (line: Buffer) => void; readonly tooLong: () => void },
): BoundedLines {
  let parts: Buffer[] = []
  let size = 0
  let stopped = false

  function stop(): void {
    stopped = true
    parts = []
  }

  return {
    stop,
    take(part) {
      for (let rest = part; !stopped && rest.length > 0; ) {
        const end = rest.indexOf(LINE_FEED)
        const piece = end < 0 ? rest : rest.subarray(0, end)
        size += piece.length
        if (size > mostBytes) {
          stop()
          tooLong()
          return
        }
        parts.push(piece)
        if (end < 0) return
        const whole = Buffer.concat(parts)
        parts = []
        size = 0
        line(whole)
        rest = rest.subarray(end + 1)
      }
    },
  }
}
