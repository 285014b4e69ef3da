/** Images of prompts as data URLs. An image is in many prompts (later steps, samples, the judge's), so the last ones are cached. */
import { RlError } from '../../errors.ts'
import type { ImageRef } from '../port.ts'

/** Most bytes of cached images. Their URLs take a third more. */
const KEPT_BYTES = 64 * 1024 * 1024

/** Resolves to a function that returns the URL of each of these images. */
export type DataUrls = (images: readonly ImageRef[]) => Promise<(image: ImageRef) => string>

/** @throws the function rejects with RlError `model.unsupported` if there is no `read`, and with the errors of `read` */
export function createDataUrls(read: ((image: ImageRef) => Promise<Uint8Array>) | undefined): DataUrls {
  /** In order of use, the latest last. Callers that ask at the same time share one read. */
  const kept = new Map<string, { readonly url: Promise<string>; readonly bytes: number }>()
  let bytes = 0

  function urlOf(image: ImageRef): Promise<string> {
    const known = kept.get(image.sha256)
    if (known) {
      kept.delete(image.sha256)
      kept.set(image.sha256, known)
      return known.url
    }
    if (!read)
      throw new RlError('a prompt has images, but readImage is not set', { code: 'model.unsupported' })
    const url = read(image).then(
      (file) => `data:${image.mediaType};base64,${Buffer.from(file).toString('base64')}`,
    )
    kept.set(image.sha256, { url, bytes: image.bytes })
    bytes += image.bytes
    url.catch(() => forget(image.sha256))
    for (const oldest of kept.keys()) {
      if (bytes <= KEPT_BYTES || oldest === image.sha256) break
      forget(oldest)
    }
    return url
  }

  function forget(sha256: string): void {
    bytes -= kept.get(sha256)?.bytes ?? 0
    kept.delete(sha256)
  }

  return async function dataUrls(images) {
    const urls = new Map(
      await Promise.all(images.map(async (image) => [image.sha256, await urlOf(image)] as const)),
    )
    return ({ sha256 }) => urls.get(sha256) ?? ''
  }
}
