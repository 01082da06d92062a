import type { Metafile } from 'esbuild'

export function bundleExplorer(): Promise<{
  entries: Record<string, string>
  files: { name: string; contents: Buffer }[]
  metafile: Metafile
}>
export function explorerFiles(
  folder: string,
): Promise<{ files: { path: string; contents: Buffer }[]; metafile: Metafile }>
