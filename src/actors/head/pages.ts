/** Pages of a run in the browser, beside its head. They are opened from outside, and read the run as tools do. */
import { explain } from '../../errors.ts'
import { inColumns } from './terminal/plan.ts'

export type Pages = {
  readonly link: string
  /** Number of open connections of browsers. */
  readonly open: () => number
  readonly close: () => Promise<void>
}

/** Opens the pages of a run, as it is named. */
export type OpenPages = (run: string) => Promise<Pages>

/** Opens the pages, and tells their link. */
export type ShowPages = (run: string, say: (line: string) => void) => Promise<void>

/** Status of a run that a person interrupted. */
export const INTERRUPTED = 130

/**
 * Runs a head beside its pages. If a person at a terminal still looks at its end, the pages stay until Ctrl-C.
 *
 * @param open null if there are to be none
 * @param interrupted resolves at the next Ctrl-C
 * @param head gets what opens the pages and tells their link. Resolves with its exit status.
 */
export async function besidePages(
  open: OpenPages | null,
  interrupted: () => Promise<unknown>,
  head: (show: ShowPages) => Promise<number>,
): Promise<number> {
  const opened: Pages[] = []
  try {
    const status = await head(async (run, say) => {
      try {
        const pages = await open?.(run)
        if (pages === undefined) return
        opened.push(pages)
        for (const line of [...inColumns('look', pages.link), '']) say(line)
      } catch (error) {
        say(`there are no pages of this run: ${explain(error)}`)
      }
    })
    const isSeen = process.stdout.isTTY && opened.some((pages) => pages.open() > 0)
    if (status !== INTERRUPTED && isSeen) {
      process.stdout.write('\n  the pages stay open; Ctrl-C ends them\n')
      await interrupted()
    }
    return status
  } finally {
    for (const pages of opened) await pages.close()
  }
}
