/** The key of settings that show a screen. */
import type { z } from 'zod'
import { GRAMMARS } from './grammars/names.ts'

/**
 * Returns the key `grammar` of a setting.
 *
 * @example config: (zod) => ({ grammar: grammarKey(zod) })
 */
export const grammarKey = (zod: typeof z) =>
  zod
    .enum(GRAMMARS)
    .default('commands')
    .describe(
      'Form of actions: `commands` in words over shown elements, or a form of models that see (`policy.frames`).',
    )
