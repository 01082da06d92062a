import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { systemCode } from '../../core/errors.ts'
import { Refusal } from '../services/refusals.ts'
import { DOCS_PAGE, DOCS_STYLE } from './docs-page.ts'

const compress = promisify(gzip)
const decompress = promisify(gunzip)

const SWAGGER_UI = ['swagger-ui.css', 'swagger-ui-bundle.js']

/** Files that are built together with the web explorer, by their names under `/docs`. */
const BUILT_FILES: Readonly<Record<string, string>> = { 'page.js': 'docs.js', 'theme.js': 'theme.js' }

const DOCS_SECURITY_HEADERS = {
  // Allow only resources of this server, and no eval.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Adds `GET /docs`, the API reference in the browser. Its files are read when they are requested. */
export function addDocs(app: FastifyInstance): void {
  const config = { access: 'public', errorForm: 'A' } as const
  for (const url of ['/docs', '/docs/']) {
    app.get(url, { config }, (_request, reply) =>
      reply
        .headers({ ...DOCS_SECURITY_HEADERS, 'cache-control': 'no-cache' })
        .type('text/html; charset=utf-8')
        .send(DOCS_PAGE),
    )
  }
  app.get('/docs/:file', { config }, async (request, reply) => {
    const { file } = request.params as { file: string }
    const content = await readAsset(file)
    if (content === null) throw new Refusal(404, ERROR_TITLES.notFound, `/docs/${file} does not exist`)
    reply
      .headers({ ...DOCS_SECURITY_HEADERS, 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' })
      .type(file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8')
    const compressed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
    if (compressed) reply.header('content-encoding', 'gzip')
    return reply.send(compressed ? content : await decompress(content))
  })
}

/** Returns a file that the page of `/docs` loads, gzipped; null for any other name. */
async function readAsset(name: string): Promise<Buffer | null> {
  if (name === 'page.css') return compress(DOCS_STYLE)
  const built = Object.hasOwn(BUILT_FILES, name) ? BUILT_FILES[name] : undefined
  if (built !== undefined) {
    const { loadExplorer } = await import('./explorer-assets.ts')
    return (await loadExplorer()).built(built)
  }
  return SWAGGER_UI.includes(name) ? readSwaggerUi(name) : null
}

/**
 * Returns a file of Swagger UI, gzipped. The published package contains the file; a checkout reads it from the
 * dependency.
 */
async function readSwaggerUi(name: string): Promise<Buffer> {
  try {
    return await readFile(new URL(`../docs/${name}.gz`, import.meta.url))
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    return compress(await readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`)))
  }
}
