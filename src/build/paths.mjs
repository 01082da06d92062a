import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

export const distDir = join(root, 'dist')
