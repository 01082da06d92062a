export interface BuiltFile {
  path: string
  contents: Uint8Array
}

export function publish(
  files: readonly BuiltFile[],
  options: { outDir: string; last: string; clean: boolean | 'keep' },
): Promise<void>
