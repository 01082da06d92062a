export function referenceFiles(folder: string): Promise<{ path: string; contents: Uint8Array }[]>
