/** A chunk as esbuild made it. */
export interface Chunk {
  path: string
  text: string
}

export function pack(
  chunks: readonly Chunk[],
  plan: ReadonlyMap<string, string>,
): Promise<{ name: string; text: string }[]>
