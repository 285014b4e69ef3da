/** Types of packages that may be absent, as far as this project uses them. */
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
