/** Every place in the source that makes an error with a code: its code, message and hint as texts. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { type Scope, textsOf, wordOf } from './error-words.ts'

export type ErrorSite = {
  readonly code: string
  readonly message: string
  /** The next step; null if the error has none. */
  readonly hint: string | null
  /** Path from the project's root. */
  readonly file: string
}

const CODE = /^[a-z][a-z0-9-]*\.[a-z<][a-z0-9<> -]*$/
/** Properties that hold the message of an error that is no `new RlError` yet. */
const MESSAGES = ['message', 'what', 'reason']
/** Most levels of functions that make errors for other functions. */
const LEVELS = 3

type Maker = ts.FunctionDeclaration | ts.FunctionExpression | ts.ArrowFunction | ts.MethodDeclaration
type Source = {
  readonly file: string
  readonly root: ts.SourceFile
  /** Path of the file from which a name is imported. */
  readonly imports: ReadonlyMap<string, string>
  readonly constants: ReadonlyMap<string, ts.Expression>
}
type Call = { readonly node: ts.CallExpression; readonly source: Source }

/** The sites of all TypeScript files below the folders. */
export function errorSites(folders: readonly string[]): readonly ErrorSite[] {
  const sources = new Map(folders.flatMap(filesIn).map((file) => [file, read(file)]))
  const calls = callsByName([...sources.values()])
  const sites = [...sources.values()].flatMap((source) => {
    const found: ErrorSite[] = []
    visit(source.root, (node) => {
      if (ts.isObjectLiteralExpression(node)) found.push(...sitesAt(node, source))
    })
    return found
  })
  return distinct(sites)

  function sitesAt(node: ts.ObjectLiteralExpression, source: Source): readonly ErrorSite[] {
    const code = property(node, 'code')
    if (code === undefined) return []
    const message = messageOf(node)
    const hint = property(node, 'hint')
    if (message === undefined && hint === undefined && !ts.isNewExpression(node.parent)) return []
    return scopesOf(makerOf(node), source, LEVELS, [code, message, hint]).flatMap(({ scope, file }) => {
      const of = (expression: ts.Expression) => textsOf(expression, scope, (name) => constantOf(name, source))
      const codes = (of(code) ?? []).filter((text) => CODE.test(text))
      const messages = message === undefined ? ['<message>'] : (of(message) ?? [wordOf(message)])
      const hints = hint === undefined ? [null] : (of(hint) ?? [wordOf(hint)])
      return codes.flatMap((one) =>
        paired(messages, hints).map(([text, step]) => ({ code: one, message: text, hint: step, file })),
      )
    })
  }

  /**
   * Texts of a maker's parameters: one scope for each call that gives a text. Without such a call there is an
   * empty one.
   */
  function scopesOf(
    maker: Maker | null,
    source: Source,
    levels: number,
    used: readonly (ts.Expression | undefined)[],
  ): readonly { readonly scope: Scope; readonly file: string }[] {
    const plain = [{ scope: new Map(), file: source.file }]
    const name = maker && nameOfMaker(maker)
    if (!name || levels === 0 || !mentions(used, maker)) return plain
    const found = (calls.get(name) ?? [])
      .filter((call) => targetOf(name, call.source) === source.file)
      .flatMap(({ node, source: from }) =>
        scopesOf(makerOf(node), from, levels - 1, [...node.arguments]).flatMap(({ scope: outer, file }) => {
          const scope = bound(maker, node, (one) => textsOf(one, outer, (of) => constantOf(of, from)))
          return scope.size === 0 ? [] : [{ scope, file }]
        }),
      )
    return found.length === 0 ? plain : found
  }

  function constantOf(name: string, source: Source): ts.Expression | undefined {
    const from = source.imports.get(name)
    return (
      source.constants.get(name) ?? (from === undefined ? undefined : sources.get(from)?.constants.get(name))
    )
  }
}

function targetOf(name: string, { file, imports }: Source): string {
  return imports.get(name) ?? file
}

/** The parameters of a maker that a call gives texts. A number is a value like any other. */
function bound(
  maker: Maker,
  call: ts.CallExpression,
  texts: (node: ts.Expression) => readonly string[] | null,
): Scope {
  const scope = new Map<string, readonly string[]>()
  const keep = (name: string, found: readonly string[] | null) => {
    const words = found?.filter((text) => /[a-z]{2}/i.test(text)) ?? []
    if (words.length > 0) scope.set(name, words)
  }
  for (const [i, { name }] of maker.parameters.entries()) {
    const given = call.arguments[i]
    if (given === undefined) continue
    if (ts.isIdentifier(name)) {
      keep(name.text, texts(given))
    } else if (ts.isObjectBindingPattern(name) && ts.isObjectLiteralExpression(given))
      for (const { name: part } of name.elements) {
        const value = ts.isIdentifier(part) ? property(given, part.text) : undefined
        if (value && ts.isIdentifier(part)) keep(part.text, texts(value))
      }
  }
  return scope
}

/** Whether the expressions name a parameter of the maker. */
function mentions(used: readonly (ts.Expression | undefined)[], maker: Maker): boolean {
  const names = new Set<string>()
  for (const { name } of maker.parameters)
    visit(name, (node) => {
      if (ts.isIdentifier(node)) names.add(node.text)
    })
  let found = false
  for (const one of used)
    if (one)
      visit(one, (node) => {
        if (ts.isIdentifier(node) && names.has(node.text)) found = true
      })
  return found
}

/** The first argument of `new RlError(...)`, or a property that holds the message. */
function messageOf(node: ts.ObjectLiteralExpression): ts.Expression | undefined {
  const { parent } = node
  if (ts.isNewExpression(parent) && parent.arguments?.[0] !== node) return parent.arguments?.[0]
  if (ts.isCallExpression(parent) && parent.expression.kind === ts.SyntaxKind.SuperKeyword)
    return parent.arguments[0]
  return MESSAGES.map((name) => property(node, name)).find((one) => one !== undefined)
}

function property(node: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  for (const one of node.properties) {
    if (!one.name || one.name.getText() !== name) continue
    if (ts.isPropertyAssignment(one)) return one.initializer
    if (ts.isShorthandPropertyAssignment(one)) return one.name
  }
  return undefined
}

/** The nearest function around a node that has a name. */
function makerOf(node: ts.Node): Maker | null {
  for (let at = node.parent; at; at = at.parent)
    if (
      ts.isFunctionDeclaration(at) ||
      ts.isArrowFunction(at) ||
      ts.isFunctionExpression(at) ||
      ts.isMethodDeclaration(at)
    )
      if (nameOfMaker(at)) return at
  return null
}

function nameOfMaker(maker: Maker): string | null {
  if (maker.name) return maker.name.getText()
  const { parent } = maker
  return ts.isVariableDeclaration(parent) && ts.isIdentifier(parent.name) ? parent.name.text : null
}

function callsByName(sources: readonly Source[]): ReadonlyMap<string, readonly Call[]> {
  const calls = new Map<string, Call[]>()
  for (const source of sources)
    visit(source.root, (node) => {
      if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression)) return
      const name = node.expression.text
      calls.set(name, [...(calls.get(name) ?? []), { node, source }])
    })
  return calls
}

function read(file: string): Source {
  const root = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const imports = new Map<string, string>()
  const constants = new Map<string, ts.Expression>()
  visit(root, (node) => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const from = normalize(join(dirname(file), node.moduleSpecifier.text))
      const named = node.importClause?.namedBindings
      if (named && ts.isNamedImports(named))
        for (const { name } of named.elements) imports.set(name.text, from)
    }
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      const isText =
        ts.isVariableDeclarationList(node.parent) && (node.parent.flags & ts.NodeFlags.Const) !== 0
      if (isText) constants.set(node.name.text, node.initializer)
    }
  })
  return { file, root, imports, constants }
}

function filesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => join(folder, file))
    .sort()
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node)
  node.forEachChild((child) => visit(child, see))
}

/**
 * Pairs messages with hints one by one if they are equally many. Else each message may come with each hint.
 */
function paired(
  messages: readonly string[],
  hints: readonly (string | null)[],
): readonly (readonly [string, string | null])[] {
  if (messages.length === hints.length) return messages.map((message, i) => [message, hints[i]])
  return messages.flatMap((message) => hints.map((hint) => [message, hint] as const))
}

function distinct(sites: readonly ErrorSite[]): readonly ErrorSite[] {
  return [...new Map(sites.map((site) => [JSON.stringify(site), site])).values()]
}
