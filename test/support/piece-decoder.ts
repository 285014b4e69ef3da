/** How tokenizers of Llama 2's make turn pieces into text: a space is written as U+2581, and the first is none. */
export const PIECE_DECODER = {
  type: 'Sequence',
  decoders: [
    { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
    ...[{ type: 'ByteFallback' }, { type: 'Fuse' }],
    { type: 'Strip', content: ' ', start: 1, stop: 0 },
  ],
}
