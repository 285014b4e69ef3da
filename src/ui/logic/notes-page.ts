/** Notes of people on a run. */

export type Note = {
  /** When it was written, in ms since 1970. */
  readonly time: number
  /** Position of the event, or the last one of the log when a note on the run was written. */
  readonly position: number
  readonly about: 'run' | 'event'
  readonly text: string
}

/** Notes, the newest first. `total` counts those too that are left out. */
export type NotesPage = { readonly total: number; readonly notes: readonly Note[] }
