export function isRecent(version: string): boolean
export function getNode(packed: readonly [name: string, integrity: string], why?: string): string
