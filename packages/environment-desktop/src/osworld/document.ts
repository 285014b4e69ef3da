/** Reads text documents (.docx, .odt): their paragraphs and tables. Also writes a plain one to begin with. */
import { RlError } from 'rlanything/kit'
import { descendants, elementsOf, escapeXml, parseXml, textIn, type XmlElement } from './xml.ts'
import { memberText, readZip, writeZip } from './zip.ts'

export type TextDocument = {
  /** Paragraphs of the body, without those in tables. */
  readonly paragraphs: readonly string[]
  /** Rows of cells' texts. */
  readonly tables: readonly (readonly (readonly string[])[])[]
}

/** @throws RlError `desktop.document`, `desktop.xml` */
export function readDocument(bytes: Uint8Array): TextDocument {
  const members = readZip(bytes)
  const word = memberText(members, 'word/document.xml')
  if (word !== null) return wordDocument(parseXml(word))
  const open = memberText(members, 'content.xml')
  if (open !== null) return openDocument(parseXml(open))
  throw new RlError('the document is neither .docx nor .odt', { code: 'desktop.document' })
}

function wordDocument(root: XmlElement): TextDocument {
  const [body] = descendants(root, 'w:body')
  if (!body) throw new RlError('the document has no body', { code: 'desktop.document' })
  const table = (element: XmlElement) =>
    elementsOf(element, 'w:tr').map((row) =>
      elementsOf(row, 'w:tc').map((cell) => elementsOf(cell, 'w:p').map(wordText).join('\n')),
    )
  return { paragraphs: elementsOf(body, 'w:p').map(wordText), tables: elementsOf(body, 'w:tbl').map(table) }
}

const WORD_BREAKS: Readonly<Record<string, string>> = { 'w:tab': '\t', 'w:br': '\n', 'w:cr': '\n' }

function wordText(element: XmlElement): string {
  if (element.name === 'w:t') return textIn(element)
  return elementsOf(element)
    .map((one) =>
      one.name === 'w:pPr' || one.name === 'w:rPr' ? '' : (WORD_BREAKS[one.name] ?? wordText(one)),
    )
    .join('')
}

function openDocument(root: XmlElement): TextDocument {
  const [body] = descendants(root, 'office:text')
  if (!body) throw new RlError('the document has no text', { code: 'desktop.document' })
  const isParagraph = ({ name }: XmlElement) => name === 'text:p' || name === 'text:h'
  const table = (element: XmlElement) =>
    [...descendants(element, 'table:table-row')].map((row) =>
      elementsOf(row, 'table:table-cell').map((cell) =>
        elementsOf(cell).filter(isParagraph).map(openText).join('\n'),
      ),
    )
  return {
    paragraphs: elementsOf(body).filter(isParagraph).map(openText),
    tables: elementsOf(body, 'table:table').map(table),
  }
}

function openText(element: XmlElement): string {
  return element.content
    .map((one) => {
      if (typeof one === 'string') return one
      if (one.name === 'text:s')
        return ' '.repeat(Math.min(1000, Number(one.attributes.get('text:c') ?? 1) || 1))
      return { 'text:tab': '\t', 'text:line-break': '\n' }[one.name] ?? openText(one)
    })
    .join('')
}

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'

/** A .docx of plain paragraphs. */
export function writeDocument(paragraphs: readonly string[]): Uint8Array {
  const body = paragraphs
    .map((text) => `<w:p><w:r><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r></w:p>`)
    .join('')
  return writeZip({
    '[Content_Types].xml': `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    '_rels/.rels': `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `${HEAD}<w:document xmlns:w="${WORD}"><w:body>${body}</w:body></w:document>`,
  })
}
