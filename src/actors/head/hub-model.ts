/** Fetches a policy's model that is named as on a hub (`OWNER/NAME`), before the roles start. */
import type { PolicyConfig } from '../../config-schema/sections.ts'
import { type HubModel, isHubName } from '../../models/hub.ts'
import { describeCopy, fetchCopy, type HubCopy, hubOptions, progressLines } from '../../models/hub-folder.ts'
import { isPreset } from '../../models/local/presets.ts'
import type { ModelProvider } from '../../models/provider.ts'

/**
 * Returns null if the policy's model is no model of a hub.
 *
 * @throws RlError `model.hub` if it is not here and the hub cannot describe it
 */
export async function hubCopyOf({ model }: PolicyConfig, { trains }: ModelProvider): Promise<HubCopy | null> {
  if (!trains || isPreset(model) || !isHubName(model)) return null
  return describeCopy(model, hubOptions())
}

/** Returns false if it was interrupted. The next start goes on from there. */
export async function fetchHere(
  model: HubModel,
  folder: string,
  interrupted: Promise<unknown>,
  say: (line: string) => void,
): Promise<boolean> {
  const stop = new AbortController()
  const fetching = fetchCopy(model, folder, { ...hubOptions(), signal: stop.signal }, progressLines(say))
  const isWhole = await Promise.race([fetching.then(() => true), interrupted.then(() => false)])
  if (!isWhole) {
    stop.abort(new Error('interrupted'))
    await fetching.catch(() => {})
  }
  return isWhole
}
