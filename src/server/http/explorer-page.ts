import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { IMMUTABLE_CACHE_CONTROL } from '../../object-store/bucket.ts'
import { Refusal } from '../services/refusals.ts'

/** Paths that serve the page of the web explorer. Its script selects the view from the URL. */
const PAGES = [
  '/',
  '/collections/:id',
  '/nfts/:id',
  '/owners/:address',
  '/runs',
  '/runs/:run',
  '/activity',
  '/search',
  '/go',
]

const PAGE_SECURITY_HEADERS = {
  // Allow only resources of this server, and no inline code, eval, or HTML from text.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "media-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

const acceptsGzip = ({ headers }: FastifyRequest) => /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))

/** Adds `GET /` and the other pages of the web explorer. The page itself is public; the data endpoints check access. */
export function addExplorerPage(app: FastifyInstance): void {
  const config = { access: 'public', errorForm: 'A' } as const
  for (const url of PAGES) {
    app.get(url, { config }, async (_request, reply) => {
      const { loadExplorer } = await import('./explorer-assets.ts')
      const { page } = await loadExplorer()
      return reply
        .headers({ ...PAGE_SECURITY_HEADERS, 'cache-control': 'no-cache' })
        .type('text/html; charset=utf-8')
        .send(page)
    })
  }
  app.get('/explorer/assets/:file', { config }, async (request, reply) => {
    const { file } = request.params as { file: string }
    const { loadExplorer } = await import('./explorer-assets.ts')
    const asset = (await loadExplorer()).assets.get(file)
    if (asset === undefined) throw new Refusal(404, ERROR_TITLES.notFound, `/explorer/assets/${file} does not exist`)
    reply.headers({ 'cache-control': IMMUTABLE_CACHE_CONTROL, vary: 'accept-encoding' }).type(asset.contentType)
    const compressed = acceptsGzip(request)
    if (compressed) reply.header('content-encoding', 'gzip')
    return reply.send(compressed ? asset.gzipped : await asset.plain())
  })
}
