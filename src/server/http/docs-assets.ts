import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { systemCode } from '../../core/errors.ts'
import { SCRIPT, STYLE } from './docs-page.ts'

export const SWAGGER_UI = ['swagger-ui.css', 'swagger-ui-bundle.js'] as const

const OURS: Readonly<Record<string, string>> = { 'page.js': SCRIPT, 'page.css': STYLE }

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
  const ours = Object.hasOwn(OURS, name) ? OURS[name] : undefined
  if (ours !== undefined) return compress(ours)
  return SWAGGER_UI.some((known) => known === name) ? readSwaggerUi(name) : null
}
