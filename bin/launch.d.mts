export function isRecent(version: string): boolean
export function getNode(packed: readonly [name: string, integrity: string], why?: string): string
export function launch(entry: string, args: readonly string[]): Promise<void>
