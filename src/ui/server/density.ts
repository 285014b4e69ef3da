/** The strip at the foot of a run's pages: events by type in equal parts of the log, ends of iterations, and marks. */
import type { RunFolder } from '../../broker/connection.ts'
import type { EventType } from '../../events/catalogue.ts'
import type { DensityPage } from '../logic/answers.ts'
import type { Note } from '../logic/notes-page.ts'
import { TURNING, textOf } from './notable.ts'
import { readNotes } from './notes.ts'
import type { OpenRun } from './open-runs.ts'
import { runRows } from './run-rows.ts'

const PARTS = 160
const MOST_MARKS = 400
const MOST_NOTES = 100

const KINDS: Partial<Record<EventType, DensityPage['marks'][number]['kind']>> = {
  StallDetected: 'stall',
  RunFailed: 'failure',
  WorkFailed: 'failure',
  ActorFailed: 'failure',
}

/** Returns the last notes. The list of notes tells why they cannot be read; here there are none then. */
function notesOf(folder: RunFolder): readonly Note[] {
  try {
    return readNotes(folder).slice(-MOST_NOTES)
  } catch {
    return []
  }
}

const NONE = { built: 1, width: 1, types: [], counts: [] }

export async function densityPage({ folder, log, past }: OpenRun): Promise<DensityPage> {
  const counted = past
    .askSoon('counts', { parts: PARTS })
    .then((found) => found ?? { ...NONE, built: 0 })
    // Deciders that cannot read the log cost the bars. They are not asked for again.
    .catch(() => NONE)
  const own = [...log.events({ types: TURNING })].map((event) => ({
    position: event.position,
    kind: KINDS[event.type] ?? (event.type === 'RunStarted' && event.position > 1 ? 'fork' : 'turn'),
    text: `${event.type}: ${textOf(event).slice(0, 200)}`,
    run: null,
  }))
  const forks = (await runRows()).flatMap(({ run, parent }) =>
    parent?.run === folder.run
      ? [{ position: parent.position, kind: 'fork' as const, text: `run ${run} begins here`, run }]
      : [],
  )
  const notes = notesOf(folder).map(({ position, text }) => ({
    ...{ position, kind: 'note' as const, text: text.slice(0, 200), run: null },
  }))
  return {
    position: log.head().position,
    ...(await counted),
    ends: [...log.events({ types: ['IterationCompleted'] })].map(({ data, position }) => ({
      iteration: data.iteration,
      position,
    })),
    marks: [...own, ...forks, ...notes].slice(-MOST_MARKS),
  }
}
