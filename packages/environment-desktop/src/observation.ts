/** A desktop as text: the shown elements that have a name, and the admissible actions. */
import type { AccessibleNode } from './computer.ts'
import type { Target } from './grammars/commands.ts'

const MOST_LINES = 100
const MOST_TEXT = 400
const SPOKEN = ['focused', 'checked', 'selected', 'pressed', 'expanded']
/** Roles of elements that only hold others. */
const SILENT =
  /^(filler|panel|scroll pane|root pane|layered pane|separator|unknown|scroll bar|redundant object)$/

/** Whose value says something. */
const VALUED = /^(slider|spin button|progress bar)$/

/** Writes one element a line, `role "name" states = text`. */
export function observationOf(tree: AccessibleNode): string {
  const lines: string[] = []
  const visit = ({ role, name, text, value, states, children }: AccessibleNode, own: string): void => {
    const shown = plain(text ?? '')
    const label = plain(name)
    const isTold = (label !== '' || (shown !== '' && shown !== own)) && !SILENT.test(role) && label !== own
    if (isTold && lines.length < MOST_LINES) {
      const marks = states.filter((state) => SPOKEN.includes(state))
      const content =
        shown !== '' && shown !== label
          ? ` = ${JSON.stringify(shown)}`
          : value !== null && VALUED.test(role)
            ? ` = ${value}`
            : ''
      lines.push(
        [role, ...(label === '' ? [] : [JSON.stringify(label.slice(0, 80))]), ...marks].join(' ') + content,
      )
    }
    for (const child of children) visit(child, label === '' ? own : label)
  }
  for (const program of tree.children) visit(program, '')
  return lines.join('\n')
}

/** Without the placeholders of embedded elements. */
function plain(text: string): string {
  return text.replaceAll('\ufffc', '').slice(0, MOST_TEXT)
}

const KEYS = [
  ...['enter', 'tab', 'escape', 'delete', 'backspace', 'up', 'down', 'left', 'right', 'home', 'end', 'f2'],
  ...[
    'ctrl+a',
    'ctrl+c',
    'ctrl+v',
    'ctrl+x',
    'ctrl+s',
    'ctrl+z',
    'ctrl+home',
    'ctrl+end',
    'ctrl+n',
    'alt+f4',
  ],
  ...['shift+end', 'shift+home', 'shift+delete', 'ctrl+shift+n', 'ctrl+shift+s', 'ctrl+h'],
]

/**
 * Returns admissible commands in a fixed order: clicks, texts (of the task, and quoted in its goal), keys,
 * the end.
 */
export function admissibleIn(
  targets: readonly Target[],
  texts: readonly string[],
  goal: string,
): readonly string[] {
  const quoted = [...goal.matchAll(/'([^'\n]{1,200})'|"([^"\n]{1,200})"/g)].map(
    ([, one, other]) => one ?? other,
  )
  return [
    ...new Set([
      ...targets.flatMap(({ label, node: { role } }) =>
        role === 'icon' ? [`click ${label}`, `double-click ${label}`] : [`click ${label}`],
      ),
      ...[...texts, ...quoted].map((text) => `type ${text}`),
      ...KEYS.map((key) => `press ${key}`),
      ...['wait', 'done', 'fail'],
    ]),
  ]
}
