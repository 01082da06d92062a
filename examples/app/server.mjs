// A mint page: each visitor gets one NFT. `COLLECTION=0x… node examples/app/server.mjs`
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { createClient } from 'gdn'

const { COLLECTION, BLOCKCHAIN = 'polygon', PORT = 3000 } = process.env
const gdn = createClient()

/** The request of an order. Its key identifies it permanently. A shop uses the ID of a paid order. */
const requestOf = (address) => ({
  contract_address: COLLECTION,
  blockchain: BLOCKCHAIN,
  receiver_wallet_address: address,
  metadata: [{ title: 'First visitor', description: 'Minted on a page', file_fields: [] }],
})

const escapeHtml = (text) => String(text).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)
const page = (content) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>Mint an NFT</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem; font: 1.1rem/1.6 system-ui; overflow-wrap: anywhere }
input { width: 100%; box-sizing: border-box } input, button { font: inherit; padding: .5rem; margin: .25rem 0 }</style>
<h1>Mint an NFT</h1>${content}`
const form = `<form method="post" action="/mint"><label>Your wallet address
<input name="address" required pattern="0x[0-9a-fA-F]{40}" placeholder="0x…"></label> <button>Mint</button></form>`

const routes = {
  'GET /': ({ order }) => ({ html: form, cookie: order ? undefined : randomUUID() }),
  'POST /mint': async ({ order, body }) => {
    if (!order) return { status: 400, html: '<p>Open <a href="/">the page</a> first.' }
    const address = new URLSearchParams(body).get('address')?.trim()
    // However often the form is sent: one order, one NFT.
    const { nfts } = await gdn.mint(requestOf(address), { idempotencyKey: `visitor-${order}`, wait: false })
    return { status: 303, location: `/nfts/${nfts[0].nft_gdn_id}` }
  },
  'GET /nfts': async ({ id }) => {
    const [nft] = await gdn.waitForNfts([id], { timeoutMs: 60_000 })
    return { html: `<p>You own NFT <b>${escapeHtml(nft.token_id)}</b> of ${escapeHtml(nft.contract_address)}.` }
  },
}

createServer(async (request, response) => {
  const [, name, id] = request.url.split('/')
  let answer
  try {
    let body = ''
    for await (const chunk of request) {
      body += chunk
      if (body.length > 1000) throw new Error('the form is too long')
    }
    const order = /\border=([0-9a-f-]{36})\b/.exec(request.headers.cookie)?.[1]
    const route = routes[`${request.method} /${name}`] ?? (() => ({ status: 404, html: '<p>No such page.' }))
    answer = await route({ order, body, id })
  } catch ({ code, message }) {
    process.stderr.write(`${code} ${message}\n`)
    // Only what a visitor can correct is shown.
    const isTheirs = ['invalid_input', 'idempotency_key_reused'].includes(code)
    const shown = isTheirs ? message : 'Try again later: you get one NFT.'
    answer = { status: isTheirs ? 400 : 503, html: `<p>${escapeHtml(shown)}<p><a href="/">Back</a>` }
  }
  const { status = 200, html = '', location, cookie } = answer
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; img-src data:",
  }
  if (location) headers.location = location
  if (cookie) headers['set-cookie'] = `order=${cookie}; HttpOnly; SameSite=Lax; Path=/; Max-Age=31536000`
  response.writeHead(status, headers).end(page(html))
}).listen(PORT, function () {
  process.stdout.write(`http://localhost:${this.address().port}\n`)
})
