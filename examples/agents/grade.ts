/** An answer that is not in the form of the schema, or that never comes, is wrong. */
export const failure = (): boolean => false

/** An answer is right if it has the number. */
export function grade(task: { number: number }, result: { number?: string } | null): boolean {
  return result?.number === String(task.number)
}
