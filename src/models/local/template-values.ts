/** Values of a template as Python writes them, for printing, joining and stripping. */
import { pythonNumber } from '../../exact-json.ts'
import { isMarkedNumber } from './written-numbers.ts'

/** A value of the template library, by the name of its class. */
export type TemplateValue = { readonly type: string; readonly value: unknown }

/** Returns a value's text as Python's `str` does. An undefined value gives an empty text. */
export function textOf(value: TemplateValue): string {
  switch (value.type) {
    case 'StringValue':
      return value.value as string
    case 'UndefinedValue':
      return ''
    default:
      return reprOf(value)
  }
}

/** Returns a value's text as Python's `repr` does. */
function reprOf({ type, value }: TemplateValue): string {
  switch (type) {
    case 'StringValue':
      return quoted(value as string)
    case 'UndefinedValue':
      return 'Undefined'
    case 'NullValue':
      return 'None'
    case 'BooleanValue':
      return value ? 'True' : 'False'
    case 'IntegerValue':
      return String(value)
    case 'FloatValue':
      return pythonNumber((value as number).toExponential())
    case 'ArrayValue':
      return `[${(value as TemplateValue[]).map(reprOf).join(', ')}]`
    case 'TupleValue': {
      const items = (value as TemplateValue[]).map(reprOf)
      return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`
    }
    case 'ObjectValue': {
      const entries = [...(value as ReadonlyMap<string, TemplateValue>)]
      return `{${entries.map(([key, inner]) => `${quoted(key)}: ${reprOf(inner)}`).join(', ')}}`
    }
    default:
      throw new TypeError(`a ${type.replace(/Value$/, '').toLowerCase()} has no text`)
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function quoted(text: string): string {
  if (isMarkedNumber(text)) return text
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replaceAll(
    /[\\\n\r\t]|[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu,
    (unit) => {
      const code = unit.codePointAt(0) ?? 0
      const hex = (digits: number) => code.toString(16).padStart(digits, '0')
      return ESCAPES[unit] ?? (code < 256 ? `\\x${hex(2)}` : code < 65_536 ? `\\u${hex(4)}` : `\\U${hex(8)}`)
    },
  )
  return `${quote}${quote === "'" ? inner.replaceAll("'", "\\'") : inner}${quote}`
}

/** Escapes a text as markupsafe does if it is added to a safe text. */
export function escaped(text: string): string {
  const marks: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    "'": '&#39;',
    '"': '&#34;',
  }
  return text.replaceAll(/[&<>'"]/g, (mark) => marks[mark] ?? mark)
}
