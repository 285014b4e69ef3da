/** An answer as a tree, and how it is shown. */

export type Node = {
  readonly title: string
  /** Figures and words in order. Null values are not shown. */
  readonly facts: Readonly<Record<string, string | number | null>>
  readonly children: readonly Node[]
}

export function node(title: string, facts: Node['facts'], children: readonly Node[] = []): Node {
  return { title, facts, children }
}

export function treeLines(root: Node): string[] {
  return branch(root, '', '')
}

function branch({ title, facts, children }: Node, first: string, rest: string): string[] {
  const inner = children.length > 0 ? `${rest}│   ` : `${rest}    `
  const [head, ...more] = title.split('\n')
  return [
    `${first}${head}`,
    ...more.map((line) => `${inner}  ${line}`),
    ...factLines(facts).map((line) => `${inner}${line}`),
    ...children.flatMap((child, i) =>
      i === children.length - 1
        ? branch(child, `${rest}└── `, `${rest}    `)
        : branch(child, `${rest}├── `, `${rest}│   `),
    ),
  ]
}

function factLines(facts: Node['facts']): string[] {
  return Object.entries(facts)
    .filter(([, value]) => value !== null)
    .flatMap(([name, value]) => {
      const [head, ...more] = String(value).split('\n')
      return [`${name}: ${head}`, ...more.map((line) => `  ${line}`)]
    })
}

/** Returns lines for Graphviz: `rl why ... --dot | dot -Tsvg`. */
export function dotLines(root: Node): string[] {
  const lines = ['digraph why {', '  node [shape=box, fontname="sans-serif", fontsize=10];']
  let count = 0
  function add({ title, facts, children }: Node): number {
    const id = count++
    const label = [title, ...factLines(facts)].map(quoted).join('\\l')
    lines.push(`  n${id} [label="${label}\\l"];`)
    for (const child of children) lines.push(`  n${id} -> n${add(child)};`)
    return id
  }
  add(root)
  return [...lines, '}']
}

function quoted(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
}
