/**
 * Programs outside of this checkout, e.g. cases of faults, may name a module by the place that it had in 0.2. They find it at its
 * present place. Node has no such hooks before 22.15.
 */
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

/** Folders below src/environments that are packages now, each with its place there. */
const MOVED = {
  coding: 'environment-coding/src',
  desktop: 'environment-desktop/src',
  screen: 'environment-desktop/src/screen',
  tools: 'environment-tools/src',
  web: 'environment-web/src',
}
const FORMER = new RegExp(`/src/environments/(${Object.keys(MOVED).join('|')})/`)

/** Resolves former places of modules to present ones, in this process. */
export function serveFormerPlaces() {
  module.registerHooks?.({ resolve: (name, context, next) => next(presentPlace(name), context) })
}

function presentPlace(name) {
  const place = name.replace(FORMER, (_, folder) => `/packages/${MOVED[folder]}/`)
  const path = place.startsWith('file:') ? fileURLToPath(place) : place
  return place !== name && existsSync(path) ? place : name
}
