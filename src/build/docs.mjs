// The files of the backend's /docs page. They are unmodified files of a package, compressed as they are served.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { root } from './paths.mjs'

const from = join(root, 'node_modules/swagger-ui-dist')
const SERVED = ['swagger-ui.css', 'swagger-ui-bundle.js']
/** Licenses of the packages that Swagger UI contains. */
const LICENSES = 'swagger-ui-bundle.js.LICENSE.txt'

/**
 * @returns the files for the folder. They are compressed at the highest level, which would be too slow during a
 * request.
 */
export async function docsFiles(folder) {
  const compress = async (name) => ({
    path: join(folder, `${name}.gz`),
    contents: await promisify(gzip)(await readFile(join(from, name)), { level: 9 }),
  })
  const licenses = { path: join(folder, LICENSES), contents: await readFile(join(from, LICENSES)) }
  return [licenses, ...(await Promise.all(SERVED.map(compress)))]
}
