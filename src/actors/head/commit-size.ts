/** Most events of a commit. The head's loop stands still during a commit, so a small one is better if it costs no more. */
const SIZES = { small: 512, large: 1_024 } as const
type Size = keyof typeof SIZES

/** Small commits are kept while an event of theirs takes at most so many times as long as one of a large commit. */
const AS_CHEAP = 1.15
/** One in so many full commits has the other size, so that both are known. */
const TRIAL = 16
/** Weight of the newest commit in a mean. */
const NEWEST = 0.25

export type CommitSize = {
  /** Most events of the next commit. */
  readonly most: () => number
  /** Takes what a commit of `events` took, in milliseconds. One that was not full tells nothing. */
  readonly took: (events: number, ms: number) => void
}

/**
 * Chooses between two sizes by their time an event. On a disk whose sync is slow, that of small commits is longer: then they are
 * large.
 *
 * @example
 * const size = commitSize()
 * size.took(1_024, 10)
 * size.most() // 512: it was never tried
 */
export function commitSize(): CommitSize {
  const msAnEvent: { [size in Size]?: number } = {}
  let full = 0

  function best(): Size {
    const { small, large } = msAnEvent
    if (large === undefined) return 'large'
    return small === undefined || small <= AS_CHEAP * large ? 'small' : 'large'
  }

  return {
    most() {
      const size = best()
      const isTrial = full % TRIAL === TRIAL - 1
      return SIZES[isTrial ? other(size) : size]
    },
    took(events, ms) {
      if (events < SIZES.small) return
      const size = events < SIZES.large ? 'small' : 'large'
      const known = msAnEvent[size]
      msAnEvent[size] = known === undefined ? ms / events : known + NEWEST * (ms / events - known)
      full++
    },
  }
}

const other = (size: Size): Size => (size === 'small' ? 'large' : 'small')
