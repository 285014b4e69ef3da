/** What a view shows: an episode so far. */

/** What an agent read at one moment. */
export type Moment = { readonly observation: string; readonly admissible: readonly string[] }

export type History = {
  readonly first: Moment
  /** Commands given since, each with what was read then. */
  readonly steps: readonly { readonly command: string; readonly after: Moment }[]
}

export function latest({ first, steps }: History): Moment {
  return steps.length > 0 ? steps[steps.length - 1].after : first
}

/** The observation without ALFWorld's welcome line. */
export function withoutWelcome(observation: string): string {
  return observation.startsWith('-= Welcome') ? observation.split('\n\n').slice(1).join('\n') : observation
}
