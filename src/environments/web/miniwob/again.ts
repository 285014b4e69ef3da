/**
 * Pages that can be started again without being loaded anew: random play on a page that had episodes before gave what it gives on a
 * fresh one, in every step of every seed tried (`rl web check --again` makes this list). All others are loaded for each episode.
 */
export const AGAIN: ReadonlySet<string> = new Set([])
