/**
 * A strict reader of XML, for foreign trees and documents. It allows no own entities and no external parts,
 * and is bounded.
 */
import { itemAt, RlError } from 'rlanything/kit'

export type XmlElement = {
  /** Name with its prefix, e.g. `w:p`. */
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  /** Elements and texts in their order. */
  readonly content: readonly (XmlElement | string)[]
}

const MOST_DEPTH = 256
const MOST_ELEMENTS = 2_000_000
const NAME = /[A-Za-z_:\u0080-\uffff][\w:.\-\u0080-\uffff]*/y
const ATTRIBUTE = /\s+([A-Za-z_:\u0080-\uffff][\w:.\-\u0080-\uffff]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y
const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({ lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }),
)

type Open = { name: string; attributes: Map<string, string>; content: (XmlElement | string)[] }

/**
 * Returns the root element.
 * @throws RlError `desktop.xml` with the place
 */
export function parseXml(source: string): XmlElement {
  let at = source.charCodeAt(0) === 0xfeff ? 1 : 0
  let elements = 0
  const fail = (wanted: string): never => {
    throw new RlError(`XML: expected ${wanted} at character ${at}`, { code: 'desktop.xml' })
  }
  const skipTo = (end: string, what: string) => {
    const found = source.indexOf(end, at)
    if (found < 0) fail(what)
    const skipped = source.slice(at, found)
    at = found + end.length
    return skipped
  }
  const top: Open = { name: '', attributes: new Map(), content: [] }
  const open: Open[] = [top]
  const innermost = () => itemAt(open, open.length - 1)

  while (at < source.length) {
    const inside = innermost()
    if (source[at] !== '<') {
      const next = source.indexOf('<', at)
      const text = source.slice(at, next < 0 ? source.length : next)
      if (inside !== top) inside.content.push(plain(text, fail))
      else if (text.trim() !== '') fail('an element')
      at += text.length
    } else if (source.startsWith('<!--', at)) {
      at += 4
      skipTo('-->', 'the end of a comment')
    } else if (source.startsWith('<![CDATA[', at)) {
      at += 9
      inside.content.push(skipTo(']]>', 'the end of CDATA'))
    } else if (source.startsWith('<?', at)) skipTo('?>', 'the end of an instruction')
    else if (source.startsWith('<!', at)) fail('no document type')
    else if (source.startsWith('</', at)) {
      at += 2
      NAME.lastIndex = at
      const name = NAME.exec(source)?.[0] ?? ''
      if (open.length === 1 || name !== inside.name) fail(`</${inside.name}>`)
      at += name.length
      if (skipTo('>', '>').trim() !== '') fail('>')
      open.pop()
    } else {
      at++
      NAME.lastIndex = at
      const name = NAME.exec(source)?.[0] ?? fail('a name')
      at += name.length
      if (++elements > MOST_ELEMENTS) fail(`at most ${MOST_ELEMENTS} elements`)
      if (open.length > MOST_DEPTH) fail(`at most ${MOST_DEPTH} levels`)
      const element: Open = { name, attributes: new Map(), content: [] }
      for (ATTRIBUTE.lastIndex = at; ; ATTRIBUTE.lastIndex = at) {
        const found = ATTRIBUTE.exec(source)
        if (!found) break
        const key = itemAt(found, 1)
        if (element.attributes.has(key)) fail(`${key} once`)
        element.attributes.set(key, plain(found[2] ?? itemAt(found, 3), fail))
        at += found[0].length
      }
      while (/\s/.test(source[at] ?? '')) at++
      if (inside === top && top.content.length > 0) fail('one root')
      inside.content.push(element)
      if (source.startsWith('/>', at)) at += 2
      else if (source[at] === '>') {
        at++
        open.push(element)
      } else fail('>')
    }
  }
  const [root] = top.content
  if (open.length > 1) fail(`</${innermost().name}>`)
  return typeof root === 'object' ? root : fail('an element')
}

function plain(text: string, fail: (wanted: string) => never): string {
  if (!text.includes('&')) return text
  return text.replace(
    /&(#x[0-9a-fA-F]{1,6}|#\d{1,7}|\w{1,8})?(;?)/g,
    (_, name: string | undefined, end: string) => {
      if (name === undefined || end === '') return fail('&amp;')
      if (name[0] !== '#') return ENTITIES.get(name) ?? fail('a known entity')
      const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
      return code <= 0x10ffff ? String.fromCodePoint(code) : fail('a character')
    },
  )
}

/** Returns its elements of a name, or all without a name. */
export function elementsOf({ content }: XmlElement, name?: string): readonly XmlElement[] {
  return content.filter(
    (one): one is XmlElement => typeof one === 'object' && (name === undefined || one.name === name),
  )
}

/** Every element of a name below, in the order of the document. */
export function* descendants(element: XmlElement, name: string): Generator<XmlElement> {
  for (const one of elementsOf(element)) {
    if (one.name === name) yield one
    yield* descendants(one, name)
  }
}

/** All text below. */
export function textIn(element: XmlElement): string {
  return element.content.map((one) => (typeof one === 'string' ? one : textIn(one))).join('')
}

/**
 * Returns text for an element or an attribute in double quotes. Characters that XML cannot hold are left out.
 */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replace(/[&<>"]/g, (c) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[c]};`)
}
