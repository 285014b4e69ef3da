/**
 * A text cut at what stands between a tag and its end, such as `<tool_call>...</tool_call>`, in time that grows with its length
 * alone: a model may write anything, a thousand empty lines or open tags included. A body ends at the first end behind it; a
 * tag that is never closed is text.
 * @returns bodies: between the tags, as written; between: the texts around them, one more
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
