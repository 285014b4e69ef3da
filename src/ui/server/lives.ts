/** Whether the heads of runs live, asked anew after two seconds at the earliest. */

import { headLives } from '../../actors/head/run-state.ts'
import type { RunFolder } from '../../broker/connection.ts'

const KNOWN_MS = 2_000

const known = new Map<string, { readonly at: number; readonly lives: Promise<boolean> }>()

export function knownLives(folder: RunFolder, now = Date.now()): Promise<boolean> {
  const last = known.get(folder.folder)
  if (last && now - last.at < KNOWN_MS) return last.lives
  const lives = headLives(folder).catch(() => false)
  known.set(folder.folder, { at: now, lives })
  return lives
}
