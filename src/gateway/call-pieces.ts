/** Joins tool calls that a stream sends in pieces. Servers may omit numbers and ids, or assign new ones. */

type CallPiece = {
  readonly index?: number | null
  readonly id?: string | null
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null } | null
}

type Joined = { index: number; id?: string; name: string; arguments: string }

export type CallPieces = {
  readonly add: (piece: CallPiece) => void
  /** Returns calls in the order of their numbers. Calls with one number keep the order in which they began. */
  readonly calls: () => readonly { readonly id?: string; readonly name: string; readonly arguments: string }[]
}

export function callPieces(): CallPieces {
  const calls: Joined[] = []

  /** Returns the call that a piece continues, or undefined if it begins one. */
  function before({ index, id, function: called }: CallPiece): Joined | undefined {
    const sameId = id ? calls.findLast((call) => call.id === id) : undefined
    if (sameId && (index == null || sameId.index === index)) return sameId
    const open = index == null ? calls.at(-1) : calls.findLast((call) => call.index === index)
    return open && !isOther(open, { index, id, function: called }) ? open : undefined
  }

  return {
    add(piece) {
      const { index, id, function: called } = piece
      let call = before(piece)
      if (!call) {
        call = { index: index ?? calls.at(-1)?.index ?? 0, name: '', arguments: '' }
        calls.push(call)
      }
      if (id) call.id ??= id
      const name = called?.name ?? ''
      // Some servers repeat the whole name in every piece.
      if (name !== call.name) call.name += name
      call.arguments += called?.arguments ?? ''
    },
    calls: () => [...calls].sort((a, b) => a.index - b.index).map(({ index: _, ...call }) => call),
  }
}

/** Returns whether a piece at the open call's place belongs to another call. */
function isOther(open: Joined, { index, id, function: called }: CallPiece): boolean {
  const { name, arguments: text } = called ?? {}
  const isNumbered = index != null
  const hasOtherId = Boolean(id && open.id && id !== open.id)
  // Some servers give each piece its own id. A piece without a name continues the call while its arguments are incomplete.
  if (!name) return hasOtherId && !isNumbered && (!text || isWhole(open.arguments))
  if (hasOtherId) return true
  if (open.name === '') return false
  // If the number stays, the name may come in pieces, or again at the end.
  if (name !== open.name) return !isNumbered || open.arguments !== ''
  return isWhole(open.arguments) && (!isNumbered || Boolean(text))
}

function isWhole(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
