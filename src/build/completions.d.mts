export function generateCompletions(dir: string): Promise<void>
