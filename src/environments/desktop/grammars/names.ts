/** In what form actions may be written. */
export const GRAMMARS = ['commands', 'computer_use', 'ui-tars', 'pyautogui', 'computer_13'] as const
export type Grammar = (typeof GRAMMARS)[number]
