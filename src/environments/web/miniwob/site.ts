import type { Site } from '../site.ts'
export async function folderSite(_: unknown): Promise<Site> {
  throw new Error('not yet')
}
