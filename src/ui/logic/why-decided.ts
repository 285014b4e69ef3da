/** Says in plain sentences why a candidate took its parent's place, or did not. */

type Tally = { readonly successes: number; readonly n: number }

export type Decided = {
  readonly direction: 'harder' | 'easier'
  readonly accepted: boolean
  readonly reason: string
  readonly parent: Tally
  readonly candidate: Tally
  readonly low: number
  readonly high: number
  /** Probability that the rule holds, given what was measured. */
  readonly probability: number
  /** Probability that was asked for. Null if the measured shares alone decided. */
  readonly confidence: number | null
  /** Name of a user's own rule that decided, or null. */
  readonly ownRule: string | null
}

/**
 * Returns what was measured, what was asked for, and what followed.
 * @example whyDecided({ accepted: true, ... }) // ['Accepted: harder and within reach.', 'The old task was solved 8 of 8 times, ...', ...]
 */
export function whyDecided(decided: Decided): readonly string[] {
  const { accepted, reason, direction, parent, candidate, low, high, probability, confidence, ownRule } =
    decided
  const said = [
    `${accepted ? 'Accepted' : 'Rejected'}: ${reason}.`,
    `The old task was solved ${times(parent)}, so ${direction === 'harder' ? 'a harder' : 'an easier'} one was asked for. The new task was then solved ${times(candidate)}.`,
    direction === 'harder'
      ? `A harder task takes the place of the old one if it is solved less often, but still more often than ${percent(low)}.`
      : `An easier task takes the place of the old one if it is solved more often, but still less often than ${percent(high)}.`,
  ]
  if (ownRule !== null) return [...said.slice(0, 2), `This run decides by a rule of its own: ${ownRule}.`]
  if (candidate.n === 0) return said
  const rollouts = `${candidate.n} rollout${candidate.n === 1 ? ' says' : 's say'} little`
  const chance = `${percent(probability)} probable`
  if (confidence === null)
    return [
      ...said,
      `This run decides by the measured shares alone. ${capital(rollouts)}: by these figures the rule truly holds with a probability of ${percent(probability)}.`,
    ]
  return [
    ...said,
    `${capital(rollouts)}, so luck is counted in. By these figures it is ${chance} that the rule truly holds. The run asks for at least ${percent(confidence)}.`,
  ]
}

function times({ successes, n }: Tally): string {
  return n === 0 ? 'never played' : `${successes} of ${n} times`
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
