/** Texts of error messages as they stand in the source: a value becomes a word in angle brackets. */
import ts from 'typescript'

/** Texts by the name of a parameter: each parameter may have several. */
export type Scope = ReadonlyMap<string, readonly string[]>

/** Most alternatives of one expression. More would tell a reader nothing. */
const MOST_TEXTS = 6
/** Methods and functions that shape a value. The word is that of the value. */
const SHAPING = new Set([
  'join',
  'map',
  'filter',
  'slice',
  'sort',
  'toSorted',
  'toFixed',
  'trim',
  'at',
  'toString',
  'flatMap',
])
const AROUND = new Set([
  'join',
  'resolve',
  'dirname',
  'explain',
  'String',
  'Number',
  'stringify',
  'round',
  'ceil',
  'floor',
  'basename',
  'clean',
  'prettifyError',
  'min',
  'max',
])
/** Properties that name their owner. */
const NAMING = new Set(['name', 'path', 'id', 'value'])

/**
 * The texts that an expression may have. `null` if it is no text.
 *
 * @param constant gives the initial value of a constant of the file, or of a file that it imports from
 */
export function textsOf(
  node: ts.Expression,
  scope: Scope,
  constant: (name: string) => ts.Expression | undefined,
): readonly string[] | null {
  const inner = bare(node)
  if (ts.isStringLiteralLike(inner)) return [inner.text]
  if (ts.isNumericLiteral(inner)) return [inner.text]
  if (ts.isTemplateExpression(inner)) {
    let texts: readonly string[] = [inner.head.text]
    for (const span of inner.templateSpans) {
      const values = textsOf(span.expression, scope, constant) ?? [wordOf(span.expression)]
      texts = combined(texts, values, span.literal.text)
    }
    return texts
  }
  if (ts.isConditionalExpression(inner)) {
    const both = [inner.whenTrue, inner.whenFalse].map((one) => textsOf(one, scope, constant))
    const found = both.flatMap((texts) => texts ?? [])
    return found.length === 0 ? null : found.slice(0, MOST_TEXTS)
  }
  if (ts.isBinaryExpression(inner)) {
    const { left, right, operatorToken } = inner
    const isChoice = [ts.SyntaxKind.QuestionQuestionToken, ts.SyntaxKind.BarBarToken].includes(
      operatorToken.kind,
    )
    if (isChoice) {
      const [first, second] = [textsOf(left, scope, constant), textsOf(right, scope, constant)]
      return second === null ? first : [...(first ?? [wordOf(left)]), ...second]
    }
    if (operatorToken.kind !== ts.SyntaxKind.PlusToken) return null
    const [before, after] = [left, right].map((one) =>
      ts.isNumericLiteral(one) ? null : textsOf(one, scope, constant),
    )
    if (before === null && after === null) return null
    return combined(before ?? [wordOf(left)], after ?? [wordOf(right)], '')
  }
  if (ts.isIdentifier(inner)) {
    const known = scope.get(inner.text)
    if (known) return known
    const value = constant(inner.text)
    return value === undefined ? null : textsOf(value, new Map(), constant)
  }
  return null
}

function combined(before: readonly string[], values: readonly string[], after: string): readonly string[] {
  const all = before.flatMap((text) => values.map((value) => `${text}${value}${after}`))
  return all.slice(0, MOST_TEXTS)
}

/** Returns the word for a value, e.g. `<path>` for `file.path` and `<last line>` for `lastLine`. */
export function wordOf(node: ts.Expression): string {
  return `<${nameOf(node)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()}>`
}

function nameOf(node: ts.Expression): string {
  const inner = bare(node)
  if (ts.isIdentifier(inner)) return inner.text
  if (ts.isAwaitExpression(inner) || ts.isPrefixUnaryExpression(inner) || ts.isTypeOfExpression(inner))
    return nameOf('operand' in inner ? inner.operand : inner.expression)
  if (ts.isElementAccessExpression(inner)) return nameOf(inner.expression)
  if (ts.isPropertyAccessExpression(inner)) {
    const { name, expression } = inner
    if (name.text === 'length' || name.text === 'size') return 'count'
    const owner = bare(expression)
    return NAMING.has(name.text) && ts.isIdentifier(owner) ? owner.text : name.text
  }
  if (ts.isCallExpression(inner)) {
    const callee = inner.expression
    const name = ts.isPropertyAccessExpression(callee) ? callee.name.text : nameOf(callee)
    if (ts.isPropertyAccessExpression(callee) && SHAPING.has(name)) return nameOf(callee.expression)
    const [first] = inner.arguments
    if (AROUND.has(name) && first) return nameOf(first)
    return name
  }
  if (ts.isBinaryExpression(inner)) return nameOf(ts.isNumericLiteral(inner.left) ? inner.right : inner.left)
  if (ts.isConditionalExpression(inner)) return nameOf(inner.whenTrue)
  if (ts.isArrayLiteralExpression(inner)) return 'list'
  return 'value'
}

/** Without parentheses, `as`, `!` and `satisfies` around it. */
function bare(node: ts.Expression): ts.Expression {
  const isAround =
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isSatisfiesExpression(node)
  return isAround ? bare(node.expression) : node
}
