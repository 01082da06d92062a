/** Writes the archive for this platform into a folder. Returns its path. */
export function packExecutable(outDir: string): Promise<string>

/** The version of Node.js in the executable. */
export const NODE_VERSION: string
