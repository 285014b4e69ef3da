/** Shows a run while it goes on: on a terminal a bar that is redrawn below the lines, in a pipe plain lines. */
import { WIDTH } from '../../../columns.ts'
import { forTerminal } from '../../../command-line.ts'
import type { LoggedEvent } from '../../../events/catalogue.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import { openWriter } from '../../../platform/output.ts'
import { barLine, follow, goOn, startProgress } from './progress.ts'

export type Display = {
  /** Takes an event. Events from before this head began are only counted: they were shown then. */
  readonly see: (event: LoggedEvent, isNew: boolean) => void
  /** Returns the position after which a resumed run is shown: only its open iteration. */
  readonly goOn: (log: LogReader) => number
  readonly say: (line: string) => void
  /** Takes the bar away. */
  readonly end: () => void
}

const REDRAW_MS = 200

/** `simulated`: every line says so. */
export function openDisplay(
  { iterations, simulated }: { readonly iterations: number | null; readonly simulated: boolean },
  output: NodeJS.WriteStream = process.stdout,
): Display {
  const write = openWriter(output)
  const mark = simulated ? ' | simulated' : ''
  const progress = startProgress(iterations, WIDTH - mark.length)
  const draws = output.isTTY === true
  let drawn = false

  function erase(): void {
    if (drawn) write('\r\x1b[2K')
    drawn = false
  }
  function draw(): void {
    if (progress.iteration < 0) return
    erase()
    write(`${barLine(progress)}${mark}`.slice(0, (output.columns ?? 80) - 1))
    drawn = true
  }
  function say(line: string): void {
    erase()
    write(`${forTerminal(line)}\n`)
  }
  const timer = draws ? setInterval(draw, REDRAW_MS) : undefined
  return {
    see(event, isNew) {
      const lines = follow(progress, event)
      if (isNew) for (const line of lines) say(`${line}${mark}`)
    },
    goOn: (log) => goOn(progress, log),
    say,
    end() {
      clearInterval(timer)
      erase()
    },
  }
}
