/** Returns the text without white space at its ends, as Python's `str.strip()` does. TextWorld reads commands so. */
export function strip(text: string): string {
  let [from, to] = [0, text.length]
  while (from < to && isSpace(text.charCodeAt(from))) from++
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

/** White space of Python's `str.isspace`: unlike JavaScript's it has U+001C to U+001F and U+0085, and no U+FEFF. */
function isSpace(code: number): boolean {
  if ((code >= 0x1c && code <= 0x1f) || code === 0x85) return true
  return code !== 0xfeff && /\s/.test(String.fromCharCode(code))
}
