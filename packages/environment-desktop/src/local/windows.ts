/** Windows of a display, as the window manager tells them: their titles and classes, activation, and closing. */
import { RlError } from 'rlanything/kit'
import type { WindowQuery } from '../computer.ts'
import type { ScreenSize } from '../screen/action.ts'
import type { X11Connection } from './x11.ts'

/** Substructure redirect and notify: messages to the window manager go by these. */
const TO_WINDOW_MANAGER = 0x180000
const MOST_WINDOWS = 1000
export type Window = { readonly id: number; readonly title: string; readonly class: string }

export type Windows = {
  /** Whether a window manager is there. */
  readonly managed: () => Promise<boolean>
  /** Windows of programs, in the order in which they came. */
  readonly windows: () => Promise<readonly Window[]>
  /** False if no window fits. */
  readonly activate: (query: WindowQuery) => Promise<boolean>
  readonly shut: (query: WindowQuery) => Promise<boolean>
  readonly geometry: (window: number) => Promise<ScreenSize>
}

export async function openWindows({ client: X, root, ask, sync }: X11Connection): Promise<Windows> {
  const atom = (name: string) => ask<number>((done) => X.InternAtom(false, name, done))
  const atoms = {
    supported: await atom('_NET_SUPPORTING_WM_CHECK'),
    clients: await atom('_NET_CLIENT_LIST'),
    name: await atom('_NET_WM_NAME'),
    activate: await atom('_NET_ACTIVE_WINDOW'),
    close: await atom('_NET_CLOSE_WINDOW'),
  }
  /** WM_NAME and WM_CLASS have fixed numbers. */
  const [PLAIN_NAME, CLASS] = [39, 67]
  const property = async (window: number, name: number): Promise<Buffer> => {
    try {
      return (
        await ask<{ readonly data: Buffer }>((done) => X.GetProperty(0, window, name, 0, 0, 4096, done))
      ).data
    } catch (error) {
      if (error instanceof RlError) throw error
      return Buffer.alloc(0) // the window has gone
    }
  }

  async function windows(): Promise<readonly Window[]> {
    const clients = await property(root, atoms.clients)
    const ids = Array.from({ length: Math.min(MOST_WINDOWS, clients.length >> 2) }, (_, i) =>
      clients.readUInt32LE(4 * i),
    )
    return Promise.all(
      ids.map(async (id) => {
        const [name, plain, kind] = await Promise.all([
          property(id, atoms.name),
          property(id, PLAIN_NAME),
          property(id, CLASS),
        ])
        const title = name.length > 0 ? name.toString() : plain.toString('latin1')
        return { id, title, class: kind.toString('latin1').split('\0').filter(Boolean).join('.') }
      }),
    )
  }

  async function tell(query: WindowQuery, type: number): Promise<boolean> {
    const found = (await windows()).filter((window) => fits(window, query)).at(-1)
    if (!found) return false
    const event = Buffer.alloc(32)
    event[0] = 33
    event[1] = 32
    event.writeUInt32LE(found.id, 4)
    event.writeUInt32LE(type, 8)
    // Of activation: asked for by a person's tool, so that the window manager does not refuse.
    event.writeUInt32LE(type === atoms.activate ? 2 : 0, 12)
    X.SendEvent(root, 0, TO_WINDOW_MANAGER, event)
    await sync()
    return true
  }

  return {
    managed: async () => (await property(root, atoms.supported)).length > 0,
    windows,
    activate: (query) => tell(query, atoms.activate),
    shut: (query) => tell(query, atoms.close),
    async geometry(window) {
      const { width, height } = await ask<ScreenSize>((done) => X.GetGeometry(window, done))
      return { width, height }
    },
  }
}

export function fits(window: Window, { name, strict, byClass }: WindowQuery): boolean {
  const [text, wanted] = [(byClass ? window.class : window.title).toLowerCase(), name.toLowerCase()]
  return strict ? text === wanted : text.includes(wanted)
}
