/** The screen of an Xvfb in memory: a file in XWD's form, which the server keeps current. */
import { type FileHandle, open } from 'node:fs/promises'
import type { ScreenSize } from '../screen/action.ts'
import { faultError } from './sandbox.ts'

/** Pixels of four bytes: blue, green, red, unused. Rows come from the top. */
type Frame = ScreenSize & { readonly pixels: Buffer }

export type Framebuffer = {
  /** Reads into the given buffer, or into a new one. */
  readonly read: (into?: Buffer) => Promise<Frame>
  readonly bytes: number
  readonly close: () => Promise<void>
}

/** Opened once, before any program runs that could put something else in its place. */
export async function openFramebuffer(path: string, { width, height }: ScreenSize): Promise<Framebuffer> {
  const file = await open(path, 'r')
  const bytes = width * height * 4
  let offset: number
  try {
    offset = await pixelOffset(file, width, height)
  } catch (cause) {
    await file.close()
    throw cause
  }
  return {
    bytes,
    async read(into = Buffer.allocUnsafe(bytes)) {
      const { bytesRead } = await file.read(into, 0, bytes, offset)
      if (bytesRead !== bytes) throw faultError(`its screen has ${bytesRead} bytes in place of ${bytes}`)
      return { width, height, pixels: into }
    },
    close: () => file.close(),
  }
}

/**
 * Returns the offset of the pixels. The header must hold the expected values, or this is not our screen.
 * Words have the most significant byte first.
 */
async function pixelOffset(file: FileHandle, width: number, height: number): Promise<number> {
  const header = Buffer.alloc(100)
  await file.read(header, 0, header.length, 0)
  const word = (i: number) => header.readUInt32BE(4 * i)
  const [size, wide, high, bits, row, colours] = [word(0), word(4), word(5), word(11), word(12), word(19)]
  if (wide !== width || high !== height || bits !== 32 || row !== width * 4 || size > 4096 || colours > 4096)
    throw faultError(`its screen is ${wide}x${high} with ${bits} bits, expected ${width}x${height} with 32`)
  return size + colours * 12
}
