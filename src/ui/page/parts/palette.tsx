/** The command palette, and the `rl` command of the view. */
import { useSignal } from '@preact/signals'
import type { RunHead, RunRow } from '../../logic/answers.ts'
import { commandOfView } from '../../logic/command-of-view.ts'
import { suggestionsOf } from '../../logic/palette.ts'
import { useAnswer } from '../answers.ts'
import { commandIsOpen, paletteIsOpen } from '../keys.ts'
import { go, path, query } from '../place.ts'
import { isReport } from '../report.ts'
import { useModal } from './modal.ts'
import './palette.css'

export function Palette({ head }: { head: RunHead | null }) {
  const box = useModal()
  const text = useSignal('')
  const chosen = useSignal(0)
  const runs = useAnswer<readonly RunRow[]>(() => (isReport ? null : '/api/runs'))
  const found = suggestionsOf(text.value, {
    run: head?.run ?? null,
    path: path.value,
    position: head?.position ?? 0,
    runs: (runs.value.data ?? []).map(({ run }) => run),
  })
  const at = Math.min(chosen.value, Math.max(0, found.length - 1))

  function follow(place: number): void {
    const wanted = found[place]
    if (wanted === undefined) return
    box.current?.close()
    go(wanted.href)
  }

  return (
    <dialog ref={box} class="palette" aria-label="go to" onClose={() => (paletteIsOpen.value = false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          follow(at)
        }}
      >
        <input
          type="text"
          value={text.value}
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found.length === 0 ? undefined : `palette-${at}`}
          aria-label="position, rollout, task, version, screen or run"
          placeholder="90233 · 3/train-00012/5 · train-00012 · policy/3 · judge"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            text.value = event.currentTarget.value
            chosen.value = 0
          }}
          onKeyDown={(event) => {
            const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
            if (by === 0) return
            event.preventDefault()
            chosen.value = Math.max(0, Math.min(found.length - 1, at + by))
          }}
        />
      </form>
      <div id="palette-list" role="listbox" aria-label="places">
        {found.map(({ name }, i) => (
          <div
            key={name}
            id={`palette-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            onClick={() => follow(i)}
            onKeyDown={() => {}}
          >
            {name}
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="muted">nothing is called so</p>}
    </dialog>
  )
}

/** The command of the view, to be copied. */
export function CommandOfView() {
  const box = useModal()
  const command = commandOfView(path.value, query.value.toString())
  return (
    <dialog
      ref={box}
      class="action"
      aria-labelledby="command-title"
      onClose={() => (commandIsOpen.value = false)}
    >
      <h2 id="command-title">The same in a terminal</h2>
      {command === null ? <p>No command shows this view.</p> : <pre class="command">{command}</pre>}
      <div class="buttons">
        {command !== null && (
          <button type="button" onClick={() => void navigator.clipboard?.writeText(command)}>
            copy
          </button>
        )}
        <button type="button" onClick={() => box.current?.close()}>
          close
        </button>
      </div>
    </dialog>
  )
}
