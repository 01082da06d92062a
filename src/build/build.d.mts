import type { Metafile } from 'esbuild'

export const NATIVE_PACKAGES: readonly string[]
export const UNUSED_PACKAGES: readonly string[]
export function bundle(options?: {
  entry?: string
  outDir?: string
  clean?: boolean
}): Promise<{ files: number; bytes: number; metafile: Metafile; plan: Map<string, string> }>
export function build(options?: { clean?: boolean }): Promise<string>
