import { fileURLToPath } from 'node:url'

/** Path of a prompt of this package. */
export function promptFile(name: string): string {
  return fileURLToPath(new URL(`../prompts/${name}.md`, import.meta.url))
}
