export function isRecent(version: string): boolean
export function getNode(packed: readonly [name: string, integrity: string], why?: string): string
export function cacheFolder(): string
/** Says why the project cannot start, and ends the process. */
export function stop(message: string): never
