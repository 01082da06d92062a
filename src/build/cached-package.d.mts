export function cachedPackage(name: string, version: string): Promise<string>
export function cachedNode(version: string): Promise<string>
