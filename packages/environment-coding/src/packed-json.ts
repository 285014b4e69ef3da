/** Data between the processes that run programs: JSON, deflated. */
import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Most bytes of the JSON. */
export const MOST_BYTES = 1 << 28

export const packJson = (data: unknown): Buffer => deflateRawSync(JSON.stringify(data), { level: 1 })

/** Throws if the bytes are not packed JSON, or unpack to more than `MOST_BYTES`. */
export const unpackJson = (bytes: Uint8Array): unknown =>
  JSON.parse(inflateRawSync(bytes, { maxOutputLength: MOST_BYTES }).toString())
