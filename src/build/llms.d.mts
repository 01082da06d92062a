export function docsPages(): Promise<string[]>
export function llmsFullText(): Promise<string>
