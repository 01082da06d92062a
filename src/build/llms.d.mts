export function docsPages(): Promise<string[]>
