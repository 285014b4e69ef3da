/** Packages that are used where someone has installed them: only what of them is used here. */
declare module 'webgpu' {
  export const globals: object
  export function create(options: readonly string[]): {
    requestAdapter(options: { readonly powerPreference: 'high-performance' }): Promise<object | null>
  }
}

declare module 'assemblyscript/asc' {
  const compiler: {
    main(
      arguments_: readonly string[],
      host: {
        readFile(name: string): string | null
        writeFile(name: string, contents: Uint8Array | string): void
        listFiles(): string[]
      },
    ): Promise<{ readonly error: Error | null; readonly stderr: { toString(): string } }>
  }
  export default compiler
}
