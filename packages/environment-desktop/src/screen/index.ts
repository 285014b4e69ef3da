/** `import { parseAnswer } from '@rlanything/environment-desktop/screen'`: actions on a screen, in the forms that models write them. */
export {
  actionError,
  type Button,
  type Point,
  type ScreenAction,
  type ScreenSize,
  withinReach,
} from './action.ts'
export { parseAnswer, seeingBy } from './answer.ts'
export type { Grammar } from './grammars/names.ts'
export { isKey, keyName, withShift } from './keys.ts'
export { pngSize } from './png.ts'
export { grammarKey } from './section.ts'
