/** Forms of actions: words over shown elements, or the form of a model that sees. */
export const SCREEN_GRAMMARS = ['computer_use', 'ui-tars', 'pyautogui', 'computer_13'] as const
export const GRAMMARS = ['commands', ...SCREEN_GRAMMARS] as const
export type ScreenGrammar = (typeof SCREEN_GRAMMARS)[number]
export type Grammar = (typeof GRAMMARS)[number]
