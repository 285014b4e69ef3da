export function grade(_: unknown, result: unknown) {
  return result === 'right'
}
