import { fileURLToPath } from 'node:url'

/** The path of the `gdn` program. */
export const GDN_BIN = fileURLToPath(new URL('../../bin/gdn.js', import.meta.url))
