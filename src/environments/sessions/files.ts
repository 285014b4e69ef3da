/** Files in results of tools, e.g. pictures. A text names each by its digest, and the run keeps it under that name. */
import { createHash } from 'node:crypto'

/** Characters of a digest that a model reads. */
const SHOWN = 16

/**
 * Returns how a text names a file.
 *
 * @param data the file in base64
 * @param files takes the file
 * @example namedFile('image', 'image/png', 'AAAA', []) // '[image: image/png, 3 bytes, blob 709e80c88487a241]'
 */
export function namedFile(kind: string, mediaType: string, data: string, files: Uint8Array[]): string {
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'))
  files.push(bytes)
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, SHOWN)
  return `[${kind}: ${mediaType}, ${bytes.byteLength} bytes, blob ${digest}]`
}
