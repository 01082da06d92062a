export function findLongComments(root: string): Promise<string[]>
