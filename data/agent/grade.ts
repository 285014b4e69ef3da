/** Says how well the agent did: true or false, a number from 0 to 1, or { abstained: 'why' }. */
export function grade(task: { answer: number }, result: string | null) {
  const [said] = /-?\d+/.exec(result ?? '') ?? []
  return Number(said) === task.answer
}
