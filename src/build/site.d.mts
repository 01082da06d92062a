export function buildSite(options?: {
  base?: string | undefined
  out?: string | undefined
  say?: (line: string) => void
}): Promise<void>
