export function bundleExplorer(): Promise<{
  entries: Record<string, string>
  files: { name: string; contents: Buffer }[]
  sources: string[]
}>
export function explorerFiles(
  folder: string,
): Promise<{ files: { path: string; contents: Buffer }[]; sources: string[] }>
