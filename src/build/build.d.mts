import type { OutputChunk } from 'rolldown'

export const NATIVE_PACKAGES: readonly string[]
export const UNUSED_PACKAGES: readonly string[]
export function bundle(options?: {
  outDir?: string
  clean?: boolean
  programOnly?: boolean
}): Promise<{ files: number; bytes: number; chunks: readonly OutputChunk[]; lib: readonly OutputChunk[] }>
export function build(options?: { clean?: boolean; programOnly?: boolean }): Promise<string>
