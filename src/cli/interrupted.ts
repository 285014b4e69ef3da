/** Waiting for Ctrl-C, for commands that serve until then. */

/** Resolves at the first Ctrl-C, so that what is in hand can end. The second one ends the process at once. */
export function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    const stop = () => {
      if (asked) process.exit(130)
      asked = true
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}
