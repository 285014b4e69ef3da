/**
 * Cuts a text at each tag with its body, such as `<tool_call>...</tool_call>`. The time is linear in the
 * text's length: a model may write anything, e.g. a thousand open tags. A body ends at the first closing tag
 * after it. A tag that is never closed is text.
 *
 * @returns bodies: the texts inside tags, as written. between: the texts around them, one more than bodies.
 * @example cutAtTags('a <b>c</b> d', 'b') // { between: ['a ', ' d'], bodies: ['c'] }
 */
export function cutAtTags(
  text: string,
  tag: string,
): { readonly between: readonly string[]; readonly bodies: readonly string[] } {
  const [opening, closing] = [`<${tag}>`, `</${tag}>`]
  const between: string[] = []
  const bodies: string[] = []
  let at = 0
  for (;;) {
    const open = text.indexOf(opening, at)
    const close = open < 0 ? -1 : text.indexOf(closing, open + opening.length)
    if (close < 0) return { between: [...between, text.slice(at)], bodies }
    between.push(text.slice(at, open))
    bodies.push(text.slice(open + opening.length, close))
    at = close + closing.length
  }
}
