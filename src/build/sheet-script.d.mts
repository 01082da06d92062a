export function defineSheetScript(): Promise<Record<string, string>>
