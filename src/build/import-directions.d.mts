export const MAY_IMPORT: Record<string, readonly string[]>
export const SERVER_LAYERS: readonly (readonly string[])[]
export function findWrongImports(src: string): Promise<string[]>
