/** Counts the notes that this page has kept, so that what shows notes is fetched anew. */
import { signal } from '@preact/signals'

export const noted = signal(0)
