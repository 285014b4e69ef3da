/** The steps of a run: with which iteration its budget of played steps ends. */

/**
 * Returns true if the iteration that begins now is the last one. Its end is expected nearest to the budget: a further one would
 * miss by more. An iteration is assumed to play as many steps as the mean of the completed ones.
 *
 * @param played steps of the completed iterations
 * @param budget steps of the whole run; without it there is no end
 */
export function stepsEnd(
  played: number,
  completed: number,
  iteration: number,
  budget: number | undefined,
): boolean {
  if (budget === undefined || completed < 1) return false
  return (played / completed) * (iteration + 0.5) >= budget
}
