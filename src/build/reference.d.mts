export function manPageFile(folder: string): Promise<{ path: string; contents: Uint8Array }>
export function generateReference(dir: string): Promise<void>
