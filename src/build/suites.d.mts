export const LONG: string[]
export const POSTGRES: string[]
export const MORE_POSTGRES: string[]
export const PARTS: Readonly<Record<string, string[]>> & { readonly secrets: string[] }
export const LONG_FORMS: Readonly<Record<string, string[]>>
export function soakFiles(parts: string | undefined): string[]
export function filesOf(suite: string | undefined): { shared: string[]; isolated: string[]; exclude: string[] }
export const TAGS: { name: string; description: string }[]
export const CORE: string
export const REST: string
