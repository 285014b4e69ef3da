/** Documents as agents leave them. */
import { RlError } from 'rlanything/kit'

/** Reads a document of the agent's. Returns null if none can be read, which is no success of the agent. */
export function readOr<Read>(found: unknown, read: (bytes: Uint8Array) => Read): Read | null {
  if (!(found instanceof Uint8Array)) return null
  try {
    return read(found)
  } catch (error) {
    if (error instanceof RlError && (error.code === 'desktop.document' || error.code === 'desktop.xml'))
      return null
    throw error
  }
}
