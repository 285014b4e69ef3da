/** A report is one file that holds the answers itself. It asks no server. */

type Report = {
  /** Path that the file opens. */
  readonly start: string
  /** Answers by their address. */
  readonly answers: Readonly<Record<string, unknown>>
}

const held = document.getElementById('report')

/** Whether this page is a report. */
export const isReport = held !== null

let report: Report | null = null

/** Unpacks the answers of a report. */
export async function openReport(): Promise<void> {
  if (held === null || report !== null) return
  const bytes = Uint8Array.from(atob(held.textContent ?? ''), (letter) => letter.charCodeAt(0))
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  report = (await new Response(unpacked).json()) as Report
}

/** Path that a report opens. */
export function startOfReport(): string {
  return held?.dataset.start ?? '/'
}

/** Returns an answer of the report, or undefined if it has none for the address. */
export function answerOf(url: string): unknown {
  return report !== null && Object.hasOwn(report.answers, url) ? report.answers[url] : undefined
}
