/** Accessibility trees in the XML in which OSWorld's servers give them. */
import type { AccessibleNode } from '../computer.ts'
import { elementsOf, escapeXml, parseXml, type XmlElement } from './xml.ts'

const NAMESPACES: Readonly<Record<string, string>> = {
  st: 'state',
  attr: 'attributes',
  cp: 'component',
  doc: 'document',
  docattr: 'document/attributes',
  txt: 'text',
  val: 'value',
  act: 'action',
}
const BASE = 'https://accessibility.ubuntu.example.org/ns/'
const DECLARATIONS = Object.entries(NAMESPACES)
  .map(([prefix, name]) => ` xmlns:${prefix}="${BASE}${name}"`)
  .join('')
const PAIR = /^\((-?\d+), (-?\d+)\)$/

export function toXml(root: AccessibleNode): string {
  return element(root, DECLARATIONS)
}

function element(node: AccessibleNode, declarations = ''): string {
  const { role, name, description, states, box, value, text, children } = node
  const tag =
    role
      .replace(/[^A-Za-z0-9 _-]/g, '')
      .replaceAll(' ', '-')
      .replace(/^[^A-Za-z_]+/, '') || 'unknown'
  const attributes = [
    ` name="${escapeXml(name)}"`,
    ...(description === '' ? [] : [` description="${escapeXml(description)}"`]),
    ...states.map((state) => ` st:${state}="true"`),
    ...(box ? [` cp:screencoord="(${box.x}, ${box.y})" cp:size="(${box.width}, ${box.height})"`] : []),
    ...(value === null ? [] : [` val:value="${value}"`]),
  ].join('')
  const content = `${text === null ? '' : escapeXml(text)}${children.map((child) => element(child)).join('')}`
  return content === ''
    ? `<${tag}${declarations}${attributes}/>`
    : `<${tag}${declarations}${attributes}>${content}</${tag}>`
}

/** @throws RlError `desktop.xml` */
export function fromXml(source: string): AccessibleNode {
  return nodeOf(parseXml(source))
}

function nodeOf(element: XmlElement): AccessibleNode {
  const { name, attributes, content } = element
  const [place, size] = ['cp:screencoord', 'cp:size'].map((key) => PAIR.exec(attributes.get(key) ?? ''))
  const value = attributes.get('val:value')
  const text = content.filter((one) => typeof one === 'string').join('')
  return {
    role: name.replaceAll('-', ' '),
    name: attributes.get('name') ?? '',
    description: attributes.get('description') ?? '',
    states: [...attributes].flatMap(([key, on]) =>
      key.startsWith('st:') && on === 'true' ? [key.slice(3)] : [],
    ),
    box:
      place && size
        ? { x: Number(place[1]), y: Number(place[2]), width: Number(size[1]), height: Number(size[2]) }
        : null,
    text: text === '' ? null : text,
    value: value === undefined || !Number.isFinite(Number(value)) ? null : Number(value),
    children: elementsOf(element).map(nodeOf),
  }
}
