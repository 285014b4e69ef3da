/** Arithmetic in one line: numbers, + - * / % ^ and brackets. Nothing is executed. */

/** Longest expression that is read, and deepest brackets. */
const MOST_CHARACTERS = 200
const MOST_DEPTH = 40

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|([-+*/%^()]))/y

/** Returns the value as a text. If the expression is wrong, the text begins with `error:`. */
export function calculate(expression: string): string {
  if (expression.length > MOST_CHARACTERS) return `error: longer than ${MOST_CHARACTERS} characters`
  const tokens = tokensOf(expression.replaceAll(',', '').replaceAll('**', '^'))
  if (tokens === null) return 'error: only numbers, + - * / % ^ and brackets are read'
  let at = 0

  function sum(depth: number): number {
    let value = product(depth)
    while (tokens![at] === '+' || tokens![at] === '-')
      value = tokens![at++] === '+' ? value + product(depth) : value - product(depth)
    return value
  }

  function product(depth: number): number {
    let value = signed(depth)
    while (tokens![at] === '*' || tokens![at] === '/' || tokens![at] === '%') {
      const operator = tokens![at++]
      const right = signed(depth)
      if (operator !== '*' && right === 0) throw new Error('division by zero')
      value = operator === '*' ? value * right : operator === '/' ? value / right : value % right
    }
    return value
  }

  function signed(depth: number): number {
    if (depth > MOST_DEPTH) throw new Error('too many brackets')
    if (tokens![at] === '-') {
      at++
      return -signed(depth + 1)
    }
    const base = atom(depth)
    if (tokens![at] !== '^') return base
    at++
    return base ** signed(depth + 1)
  }

  function atom(depth: number): number {
    const token = tokens![at++]
    if (token === '(') {
      const value = sum(depth + 1)
      if (tokens![at++] !== ')') throw new Error('a bracket is not closed')
      return value
    }
    const value = Number(token)
    if (token === undefined || Number.isNaN(value)) throw new Error('a number is missing')
    return value
  }

  try {
    const value = sum(0)
    if (at < tokens.length) return `error: '${tokens[at]}' is out of place`
    return Number.isFinite(value) ? String(Number(value.toPrecision(12))) : 'error: too large'
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}

function tokensOf(expression: string): string[] | null {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < expression.trimEnd().length) {
    const found = TOKEN.exec(expression)
    if (!found) return null
    const [, number, sign = ''] = found
    tokens.push(number ?? sign)
  }
  return tokens
}
