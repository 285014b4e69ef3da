/** Commands of a shell script, as far as the scripts here need it: words, quotes, variables, and what joins commands. */

/** An operator ends a command. A redirection is left out with its target. */
const TOKEN =
  /\\\n|#[^\n]*|\d?[<>]+&?\d?\s*[^\s;|&()]*|\n|&&|\|\||[;|&(){}](?=\s|$|[;|&)])|\(|(?:'[^']*'|"(?:\\.|[^"\\])*"|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|\\.|[^\s;|&<>()'"\\])+/g
const JOINT = /^(\n|&&|\|\||[;|&(){}])$/

/**
 * Returns the words of each command. Quotes are taken off, and variables stay as they are written.
 *
 * @example shellCommands('a "b c" | d') // [['a', 'b c'], ['d']]
 */
export function shellCommands(text: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]]
  for (const [token] of text.matchAll(TOKEN)) {
    if (JOINT.test(token)) commands.push([])
    else if (token !== '\\\n' && !/^(#|\d?[<>])/.test(token)) commands.at(-1)?.push(unquoted(token))
  }
  return commands.filter((words) => words.length > 0)
}

function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"/g, (_, plain, text) => plain ?? text)
}

/** Values that stand for variables: a flag is checked, not what somebody puts into it. */
export function withValues(word: string): string {
  return word
    .replace(/\$\{\w+:?-([^}]*)\}/g, '$1')
    .replace(/\$[({]?(\w+)(:?\?[^}]*)?[)}]?|%\w/g, (_, name: string | undefined) =>
      name?.endsWith('URL') ? 'tls://nats:4222' : 'main',
    )
}

/** Names of variables in a word. */
export function variablesOf(word: string): readonly string[] {
  return [...word.matchAll(/\$[({]?([A-Z_][A-Z0-9_]*)/g)].map(([, name = '']) => name)
}
