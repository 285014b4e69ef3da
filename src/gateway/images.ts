/** Images in agents' messages. They become blobs of the run, and the log refers to them. */
import { sha256Of } from '../events/blobs.ts'
import type { LogClient } from '../events/log-client.ts'

export type ImageKeeper = {
  /** Returns a message as JSON. The data URL of each image becomes `blob:<sha256>;<media type>`. */
  readonly write: (message: unknown) => string
  /** Returns the files of all images so far, each once. */
  readonly files: () => readonly Uint8Array[]
}

const DATA_URL = /^data:(image\/[a-z0-9.+-]{1,40});base64,([a-z0-9+/=\s]+)$/i

/** Fields in which a part has its image. Any other field is text, whatever it looks like. */
const IMAGE_FIELDS: ReadonlySet<string> = new Set(['url', 'image_url'])

export function imageKeeper(): ImageKeeper {
  const files = new Map<string, Uint8Array>()

  function withoutImage(field: string, value: unknown): unknown {
    if (typeof value !== 'string' || !IMAGE_FIELDS.has(field)) return value
    const [, mediaType, data] = DATA_URL.exec(value) ?? []
    if (mediaType === undefined || data === undefined) return value
    const bytes = Buffer.from(data, 'base64')
    const sha256 = sha256Of(bytes)
    files.set(sha256, bytes)
    return `blob:${sha256};${mediaType.toLowerCase()}`
  }

  return {
    write: (message) => JSON.stringify(message, withoutImage),
    files: () => [...files.values()],
  }
}

/** Stores the images. Call it before the event that names them is appended. */
export async function keepImages(log: LogClient, files: readonly Uint8Array[]): Promise<void> {
  for (const bytes of files) await log.putBlob(bytes)
}
