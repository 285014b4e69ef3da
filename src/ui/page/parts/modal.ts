/** A dialog that is modal as soon as it is drawn. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/**
 * Ref of a dialog that opens in the turn that draws it. An effect after the next frame would lose the
 * keys that are pressed before it.
 */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const box = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => box.current?.showModal(), [])
  return box
}
