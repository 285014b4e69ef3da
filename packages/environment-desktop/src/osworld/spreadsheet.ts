/**
 * Reads workbooks (.xlsx): values of cells, as far as tasks are judged by them. Also writes a plain one to
 * begin with.
 */
import { itemAt, RlError } from 'rlanything/kit'
import { descendants, elementsOf, escapeXml, parseXml, textIn, type XmlElement } from './xml.ts'
import { memberText, readZip, writeZip } from './zip.ts'

type CellValue = string | number | boolean

export type Sheet = {
  readonly name: string
  /** Values by address, e.g. `B2`. A formula has its last computed value. */
  readonly values: ReadonlyMap<string, CellValue>
  /** Without the sign of equality. */
  readonly formulas: ReadonlyMap<string, string>
  /** The first cell that scrolls, e.g. `A2`. Null if nothing is frozen. */
  readonly frozen: string | null
}

/**
 * Returns the sheets in the order of the workbook.
 * @throws RlError `desktop.document`, `desktop.xml`
 */
export function readWorkbook(bytes: Uint8Array): readonly Sheet[] {
  const members = readZip(bytes)
  const book = part(members, 'xl/workbook.xml')
  const targets = new Map(
    elementsOf(part(members, 'xl/_rels/workbook.xml.rels'), 'Relationship').map(({ attributes }) => [
      attributes.get('Id'),
      attributes.get('Target') ?? '',
    ]),
  )
  const strings = memberText(members, 'xl/sharedStrings.xml')
  const shared = strings === null ? [] : elementsOf(parseXml(strings), 'si').map(richText)
  return [...descendants(book, 'sheet')].map(({ attributes }) => {
    const target = targets.get(attributes.get('r:id')) ?? ''
    const path = target.startsWith('/') ? target.slice(1) : `xl/${target}`
    return readSheet(attributes.get('name') ?? '', part(members, path), shared)
  })
}

function part(members: ReadonlyMap<string, Uint8Array>, path: string): XmlElement {
  const text = memberText(members, path)
  if (text === null) throw new RlError(`the workbook has no ${path}`, { code: 'desktop.document' })
  return parseXml(text)
}

/** Returns a text without the readings of Asian scripts beside it. */
function richText(element: XmlElement): string {
  return elementsOf(element)
    .filter(({ name }) => name === 't' || name === 'r')
    .map((one) => (one.name === 't' ? textIn(one) : elementsOf(one, 't').map(textIn).join('')))
    .join('')
}

function readSheet(name: string, root: XmlElement, shared: readonly string[]): Sheet {
  const [values, formulas] = [new Map<string, CellValue>(), new Map<string, string>()]
  for (const cell of descendants(root, 'c')) {
    const address = cell.attributes.get('r') ?? ''
    const [formula] = elementsOf(cell, 'f')
    if (formula) formulas.set(address, textIn(formula))
    const value = cellValue(cell, shared)
    if (value !== null) values.set(address, value)
  }
  const [pane] = descendants(root, 'pane')
  const frozen = pane?.attributes.get('state')?.startsWith('frozen')
    ? (pane.attributes.get('topLeftCell') ?? null)
    : null
  return { name, values, formulas, frozen }
}

function cellValue(cell: XmlElement, shared: readonly string[]): CellValue | null {
  const type = cell.attributes.get('t') ?? 'n'
  if (type === 'inlineStr') return elementsOf(cell, 'is').map(richText).join('')
  const [element] = elementsOf(cell, 'v')
  if (!element) return null
  const text = textIn(element)
  if (type === 's') return shared[Number(text)] ?? null
  if (type === 'b') return text === '1'
  if (type === 'n') return Number.isFinite(Number(text)) ? Number(text) : null
  return text
}

/** Returns column and row, from 0. Returns null if the text is no address. */
export function placeOf(address: string): { readonly column: number; readonly row: number } | null {
  const found = /^([A-Z]{1,3})([1-9]\d{0,6})$/.exec(address)
  if (!found) return null
  const column = [...itemAt(found, 1)].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1
  return { column, row: Number(found[2]) - 1 }
}

function addressOf(column: number, row: number): string {
  const letters = column < 26 ? '' : String.fromCharCode(64 + Math.floor(column / 26))
  return `${letters}${String.fromCharCode(65 + (column % 26))}${row + 1}`
}

const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const SHEET = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'

/** Returns a workbook with one sheet. */
export function writeWorkbook(rows: readonly (readonly (string | number)[])[], name = 'Sheet1'): Uint8Array {
  const cells = rows.map((row, y) => {
    const written = row.map((value, x) =>
      typeof value === 'number'
        ? `<c r="${addressOf(x, y)}"><v>${value}</v></c>`
        : `<c r="${addressOf(x, y)}" t="inlineStr"><is><t>${escapeXml(value)}</t></is></c>`,
    )
    return `<row r="${y + 1}">${written.join('')}</row>`
  })
  return writeZip({
    '[Content_Types].xml': `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${TYPE}.worksheet+xml"/></Types>`,
    '_rels/.rels': `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `${HEAD}<workbook xmlns="${SHEET}" xmlns:r="${RELATIONS}"><sheets><sheet name="${escapeXml(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    'xl/worksheets/sheet1.xml': `${HEAD}<worksheet xmlns="${SHEET}"><sheetData>${cells.join('')}</sheetData></worksheet>`,
  })
}
