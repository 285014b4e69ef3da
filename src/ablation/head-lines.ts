/** Lines that the head of a run prints, as an ablation reads them. */

/** Whether a line says that the run's cold starts are made. */
export function isPlaying(line: string): boolean {
  return /^(evaluation of policy|iteration \d)/.test(line)
}

/** Returns a choice of a head's lines: what a person waits for, and of cold starts one line a minute. */
export function toldLines(): (line: string) => boolean {
  let toldMs = performance.now()
  return (line) => {
    if (/^(evaluation|stalled|failed|iteration \d*[05]\/)/.test(line)) return true
    if (!line.includes('cold start: ') || performance.now() - toldMs < 60_000) return false
    toldMs = performance.now()
    return true
  }
}
