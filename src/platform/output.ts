/** Standard output and standard error belong to whoever watches: he may go, stop reading, or keep them on a full disk. */

/** Where a stream is written to, as Node has it for pipes and terminals. */
type Handle = { readonly setBlocking?: (blocking: boolean) => unknown }

/** More than that is not kept for a reader that has stopped. */
const MOST_WAITING_BYTES = 1 << 20

/** For what does its work whether somebody reads or not: a head, a role, a server. What cannot be written is lost. */
export function goOnWithoutReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
}

/** For what only tells: without a reader it ends in silence, and without room it says so on one line. */
export function endWithoutReaders(name: string): void {
  process.stderr.on('error', () => {})
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(process.exitCode ?? 0)
    process.stderr.write(`${name}: standard output cannot be written: ${message}\n`)
    process.exit(1)
  })
}

/**
 * A write waits for a reader of a pipe or a terminal, and all else in the process with it. Writes to the stream wait no more from
 * here on; what a reader that has stopped leaves waiting is bounded. Returns the function that writes.
 */
export function openWriter(output: NodeJS.WriteStream): (text: string) => void {
  const { _handle: handle } = output as unknown as { readonly _handle?: Handle | null }
  handle?.setBlocking?.(false)
  return function write(text) {
    if (output.writableLength < MOST_WAITING_BYTES) output.write(text)
  }
}

/** Ends the process when what was printed is on its way. */
export function exitWhenWritten(): void {
  process.stdout.write('', () => process.exit())
}
