export function testsOf(root: string, changed: readonly string[]): string[]
export function changedFiles(root: string): Promise<string[]>
