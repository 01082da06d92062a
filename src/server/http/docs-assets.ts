import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { systemCode } from '../../core/errors.ts'
import { STYLE } from './docs-page.ts'
import { loadExplorer } from './explorer-assets.ts'

export const SWAGGER_UI = ['swagger-ui.css', 'swagger-ui-bundle.js'] as const

/** Files that are built with the explorer, by their names here. */
const BUILT: Readonly<Record<string, string>> = { 'page.js': 'docs.js', 'theme.js': 'theme.js' }

const compress = promisify(gzip)

/** A file of Swagger UI, gzipped: from the published package, or in a checkout from the one it is made of. */
async function readSwaggerUi(name: string): Promise<Buffer> {
  try {
    return await readFile(new URL(`../docs/${name}.gz`, import.meta.url))
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    return compress(await readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`)))
  }
}

/** A file that the page of `/docs` loads, gzipped, or null for any other name. */
export async function readAsset(name: string): Promise<Buffer | null> {
  if (name === 'page.css') return compress(STYLE)
  const built = Object.hasOwn(BUILT, name) ? BUILT[name] : undefined
  if (built !== undefined) return (await loadExplorer()).built(built)
  return SWAGGER_UI.some((known) => known === name) ? readSwaggerUi(name) : null
}
