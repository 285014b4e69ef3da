/**
 * Every function of a public entry has an example, and each example compiles. The example may use names that it does not
 * declare, e.g. `url`: such a name counts as any value.
 */
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compilerOptions, type Entry, publicEntries } from '../../scripts/docs/api.ts'

type Example = { readonly entry: Entry; readonly name: string; readonly text: string }

/** Codes of the compiler for a name that nobody declares. */
const UNDECLARED: ReadonlySet<number> = new Set([2304, 2503, 2552, 18004])

const entries = publicEntries()
const program = ts.createProgram(
  entries.map(({ file }) => file),
  compilerOptions(),
)
const checker = program.getTypeChecker()
/** Names of the values of each entry. `export type *` exports functions as types alone. */
const values = new Map<string, ReadonlySet<string>>()
for (const { file } of entries)
  values.set(file, new Set(Object.keys(await import(pathToFileURL(resolve(file)).href))))

/** Functions that an entry exports, by the symbols of their declarations. */
function functionsOf({ file }: Entry): readonly ts.Symbol[] {
  const source = program.getSourceFile(file)
  const module = source && checker.getSymbolAtLocation(source)
  if (!module) return []
  return checker
    .getExportsOfModule(module)
    .filter(({ name }) => values.get(file)?.has(name))
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .filter(({ flags }) => flags & ts.SymbolFlags.Function)
}

function examplesOf(entry: Entry): readonly Example[] {
  return functionsOf(entry).flatMap((symbol) =>
    symbol
      .getJsDocTags(checker)
      .filter(({ name }) => name === 'example')
      .map(({ text }) => ({ entry, name: symbol.name, text: ts.displayPartsToString(text) })),
  )
}

/** A module with an example. It imports the names of its entry that the example uses and does not declare. */
function moduleOf({ entry, text }: Example): string {
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry.file)!)!
  const used = checker
    .getExportsOfModule(module)
    .map(({ name }) => name)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(text) && !new RegExp(`const ${name}\\b`).test(text))
  return `import { ${used.join(', ')} } from '${entry.name}'\n${text}\nexport {}\n`
}

function faultsOf(examples: readonly Example[]): readonly string[] {
  const options: ts.CompilerOptions = {
    ...compilerOptions(),
    ...{ noUnusedLocals: false, noImplicitAny: false, verbatimModuleSyntax: false, noEmit: true },
  }
  const modules = new Map(
    examples.map((example, i) => [join(process.cwd(), `example-${i}.ts`), moduleOf(example)] as const),
  )
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => modules.has(file) || fileExists(file)
  host.readFile = (file) => modules.get(file) ?? readFile(file)
  host.getSourceFile = (file, how, ...rest) => {
    const text = modules.get(file)
    if (text !== undefined) return ts.createSourceFile(file, text, how)
    // The sources were parsed above.
    return program.getSourceFile(file) ?? getSourceFile(file, how, ...rest)
  }
  const compiled = ts.createProgram([...modules.keys()], options, host)
  return [...modules.keys()].flatMap((file, i) => {
    const source = compiled.getSourceFile(file)
    return [...compiled.getSyntacticDiagnostics(source), ...compiled.getSemanticDiagnostics(source)]
      .filter(({ code }) => !UNDECLARED.has(code))
      .map(({ messageText }) => {
        const { entry, name, text } = examples[i]
        return `${entry.name}: ${name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}\n${text}`
      })
  })
}

test('every exported function has an example', () => {
  const bare = entries.flatMap((entry) =>
    functionsOf(entry)
      .filter((symbol) => !symbol.getJsDocTags(checker).some(({ name }) => name === 'example'))
      .map(({ name }) => `${entry.name}: ${name}`),
  )
  assert.equal(bare, [])
})

test('every example compiles', () => {
  const examples = entries.flatMap(examplesOf)
  assert.ok(examples.length > 60, `${examples.length} examples`)
  assert.equal(faultsOf(examples), [])
})

test('an example with a wrong call is found', () => {
  const [entry] = entries.filter(({ name }) => name === 'rlanything/learning')
  const wrong = { entry, name: 'wilson', text: "wilson('three', successes)" }
  assert.match(faultsOf([wrong]).join(), /not assignable to parameter of type 'number'/)
})

test.run()
