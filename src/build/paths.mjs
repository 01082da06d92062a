import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

export const distDir = join(root, 'dist')

/** The package that builds the pages of docs/ as a site. */
export const siteDir = join(root, 'docs', 'site')

/** The package of programs that only checks and tests use. Its modules find the other packages at the root. */
export const toolsDir = join(root, 'src', 'build', 'tools')
