import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { TITLES } from '../../api/errors.ts'
import { Refusal } from '../services/refusal.ts'
import { PAGE } from './docs-page.ts'

const decompress = promisify(gunzip)

const SECURITY = {
  // Nothing but this server, and no code that is made of text.
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

/** `GET /docs`: the reference of the API to browse. Its files are read when somebody looks. */
export function addDocs(app: FastifyInstance): void {
  const config = { access: 'public', errorForm: 'A' } as const
  for (const url of ['/docs', '/docs/']) {
    app.get(url, { config }, (_request, reply) =>
      reply
        .headers({ ...SECURITY, 'cache-control': 'no-cache' })
        .type('text/html; charset=utf-8')
        .send(PAGE),
    )
  }
  app.get('/docs/:file', { config }, async (request, reply) => {
    const { file } = request.params as { file: string }
    const { readAsset } = await import('./docs-assets.ts')
    const content = await readAsset(file)
    if (content === null) throw new Refusal(404, TITLES.notFound, `/docs/${file} is not here`)
    reply
      .headers({ ...SECURITY, 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' })
      .type(file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8')
    const compressed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
    if (compressed) reply.header('content-encoding', 'gzip')
    return reply.send(compressed ? content : await decompress(content))
  })
}
