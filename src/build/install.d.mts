export function isInstalled(root: string): Promise<boolean>
export function install(root: string): Promise<void>
export function reasonIn(output: string): string
