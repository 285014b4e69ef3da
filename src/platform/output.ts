/**
 * Standard output and standard error belong to their reader. The reader may go, stop reading, or keep them on
 * a full disk.
 */

/** How Node writes to the stream, for pipes and terminals. */
type Handle = { readonly setBlocking?: (blocking: boolean) => unknown }

/** Most bytes that are kept for a reader that has stopped. */
const MOST_WAITING_BYTES = 1 << 20

/**
 * For a process that works without readers: a head, a role, a server. Output that cannot be written is lost. It takes back
 * `endWithoutReaders`.
 */
export function goOnWithoutReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners('error').on('error', () => {})
}

/**
 * For a process that only tells. Without a reader it ends in silence. Without room it says so on one line.
 */
export function endWithoutReaders(name: string): void {
  process.stderr.on('error', () => {})
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(process.exitCode ?? 0)
    process.stderr.write(`${name}: standard output cannot be written: ${message}\n`)
    process.exit(1)
  })
}

/**
 * Returns the function that writes. A write to a pipe or a terminal normally blocks the whole process until
 * it is read. Writes to this stream never block again. The bytes kept for a stopped reader are bounded.
 */
export function openWriter(output: NodeJS.WriteStream): (text: string) => void {
  const { _handle: handle } = output as unknown as { readonly _handle?: Handle | null }
  handle?.setBlocking?.(false)
  return function write(text) {
    if (output.writableLength < MOST_WAITING_BYTES) output.write(text)
  }
}

/** Ends the process once all printed output is on its way. */
export function exitWhenWritten(): void {
  process.stdout.write('', () => process.exit())
}
