/** Places on a screen that the text of an action names. They are guessed from its form, and serve looking alone. */

/** Shares of the screen's width and height, from 0 to 1. */
export type ClickMark = { readonly x: number; readonly y: number }

type Size = { readonly width: number; readonly height: number }

const MOST = 20
const MOST_LETTERS = 20_000
const NUMBER = String.raw`(-?\d{1,5}(?:\.\d{1,4})?)`
const PAIR = String.raw`${NUMBER}\s{0,4},\s{0,4}${NUMBER}`

/** Forms with coordinates from 0 to a number over the whole screen, and forms in pixels (0). */
const FORMS: readonly (readonly [form: RegExp, scale: number])[] = [
  // Qwen's tool call `computer_use`.
  [new RegExp(String.raw`"(?:start_)?coordinate"\s{0,4}:\s{0,4}\[\s{0,4}${PAIR}`, 'g'), 999],
  // UI-TARS.
  [new RegExp(String.raw`<point>\s{0,4}${NUMBER}[\s,]{1,4}${NUMBER}`, 'g'), 1000],
  [new RegExp(String.raw`_box\s{0,4}=\s{0,4}['"](?:<\|box_start\|>)?[[(]${PAIR}`, 'g'), 1000],
  // computer_13.
  [new RegExp(String.raw`"x"\s{0,4}:\s{0,4}${NUMBER}\s{0,4},\s{0,4}"y"\s{0,4}:\s{0,4}${NUMBER}`, 'g'), 0],
  // pyautogui.
  [
    new RegExp(
      String.raw`\.(?:\w{0,10}[cC]lick|moveTo|dragTo|mouseDown|mouseUp)\(\s{0,4}(?:x\s{0,4}=\s{0,4})?${NUMBER}\s{0,4},\s{0,4}(?:y\s{0,4}=\s{0,4})?${NUMBER}`,
      'g',
    ),
    0,
  ],
  // Commands over web pages.
  [new RegExp(String.raw`^\s{0,4}click-at\s{1,4}${NUMBER}\s{1,4}${NUMBER}`, 'g'), 0],
]

/**
 * Returns the places that an action names, in the order of its text. Those outside of the screen are left out.
 * @example clickMarks('pyautogui.click(50, 20)', { width: 100, height: 40 }) // [{ x: 0.5, y: 0.5 }]
 */
export function clickMarks(action: string, { width, height }: Size): readonly ClickMark[] {
  const text = action.slice(0, MOST_LETTERS)
  const found = FORMS.flatMap(([form, scale]) =>
    [...text.matchAll(form)].map((match) => ({
      at: match.index,
      x: Number(match[1]) / (scale === 0 ? width : scale),
      y: Number(match[2]) / (scale === 0 ? height : scale),
    })),
  )
  return found
    .filter(({ x, y }) => x >= 0 && x <= 1 && y >= 0 && y <= 1)
    .sort((a, b) => a.at - b.at)
    .slice(0, MOST)
    .map(({ x, y }) => ({ x, y }))
}
