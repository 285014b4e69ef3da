/** Waiting for Ctrl-C. */

/**
 * Resolves at the first Ctrl-C or SIGTERM, so that what is in hand can end. The second one ends the process at once, with status
 * 130. A process that was started with a channel ends as at Ctrl-C if its parent is gone.
 */
export function interrupted(): Promise<'SIGINT' | 'SIGTERM'> {
  return new Promise((resolve) => {
    let asked = false
    const stop = (signal: 'SIGINT' | 'SIGTERM') => {
      if (asked) process.exit(130)
      asked = true
      resolve(signal)
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
    const parentGone = () => {
      if (!asked) stop('SIGINT')
    }
    process.once('disconnect', parentGone)
    // Else the listener keeps a process whose work is done.
    process.channel?.unref()
    // Its parent may have gone while this process loaded. Without a channel `connected` is undefined.
    if (process.connected === false) parentGone()
  })
}
