const TOKEN =
  /[ \t\r\n]*(?:([{}[\],:])|("[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/y

/**
 * Returns the position at which a text stops to be valid JSON, in characters from its start. The engine's own
 * message does not always say it. Call it only for a text that `JSON.parse` refused.
 */
export function jsonErrorOffset(text: string): number {
  const closers: string[] = []
  let expected: 'value' | 'key' | 'colon' | 'next' | 'end' = 'value'
  let justOpened = false
  TOKEN.lastIndex = 0
  for (;;) {
    const start = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (!match) return start + (/^[ \t\r\n]*/.exec(text.slice(start, start + 10_000))?.[0].length ?? 0)
    const [token, mark, string] = match
    const at = start + token.length - (mark ?? string ?? token.trimStart()).length
    const closes: boolean =
      mark !== undefined && mark === closers.at(-1) && (expected === 'next' || justOpened)
    justOpened = false
    if (closes) {
      closers.pop()
      expected = closers.length ? 'next' : 'end'
    } else if (expected === 'value' && (mark === '{' || mark === '[')) {
      closers.push(mark === '{' ? '}' : ']')
      expected = mark === '{' ? 'key' : 'value'
      justOpened = true
    } else if (expected === 'value' && mark === undefined) expected = closers.length ? 'next' : 'end'
    else if (expected === 'key' && string !== undefined) expected = 'colon'
    else if (expected === 'colon' && mark === ':') expected = 'value'
    else if (expected === 'next' && mark === ',') expected = closers.at(-1) === '}' ? 'key' : 'value'
    else return at
  }
}
