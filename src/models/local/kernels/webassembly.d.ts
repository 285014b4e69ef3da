/**
 * The part of the WebAssembly JavaScript interface that the kernels use. Node has it, but the ES library types do not.
 */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { readonly initial: number; readonly maximum?: number })
    readonly buffer: ArrayBuffer
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports: { readonly env: { readonly memory: Memory } })
    readonly exports: Readonly<Record<string, unknown>>
  }
}
