/** @module-tag slow */
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decode } from 'fast-png'
import { describe, expect, onTestFinished, test } from 'vitest'
import { formatTimeSpan } from '../../../src/cli/sheet/report-top.ts'
import { IMAGE_CID } from '../../helpers/image-service.ts'
import { jpegOf, type Painting, png, pngChunk, QUARTERS } from '../../helpers/images.ts'
import { cpuMs } from '../../helpers/longest-turn.ts'
import { slownessOf, startOfNode } from '../../helpers/slowness.ts'
import { CONTRACT, type nft, OWNER } from '../fake-api.ts'
import { cli } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const HEADER = 'title,description,image,receiver,attr:mood'
const row = (title: string, image = '') => `"${title}",x,"${image}",${OWNER},calm`
const RUN_ID = /[0-9a-f]{16}/

interface Backend {
  /** Responses below /explorer; without them, the backend has no explorer. */
  explorer?: Readonly<Record<string, unknown>>
  /** The file at every path below /ipfs, or the file at a path. */
  image?: Uint8Array | ((path: string) => Uint8Array)
  refuse?: (title: string) => boolean
  failed?: string
  /** The status of such an NFT. */
  failedStatus?: string
  /** Fields of getnfts that changed after the mint, by ID. */
  present?: Record<string, Record<string, unknown>>
  /** Responses of getnfthistory by ID; without them, the backend does not announce it. */
  history?: Record<string, readonly Record<string, unknown>[]>
  reads?: { state: 'up' | 'down' | 'forbidden' }
  /** Gets the path of each requested file. */
  onFile?: (path: string) => void
  /** Gets the name and the IDs of each reading request. */
  onRead?: (endpoint: string, ids: readonly string[]) => void
}

/** After a request of this path, NFTs have their changes. */
const MINTED_PATH = '/minted'

/** A backend that mints immediately; all its images have one URL. */
async function backend({
  explorer = {},
  image,
  refuse,
  failed,
  failedStatus = 'failed',
  present = {},
  history,
  reads,
  onFile,
  onRead,
}: Backend = {}) {
  const { createnft, getnfts } = service(refuse)
  let isMinted = false
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = request.url ?? ''
    if (request.url === MINTED_PATH) {
      isMinted = true
      return response.end()
    }
    if (reads?.state === 'down') return response.destroy()
    response.setHeader('idempotency-supported', 'yes')
    response.setHeader('blockchains-without-value', '*')
    if (history !== undefined) response.setHeader('nft-history-supported', 'yes')
    const json = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (path.startsWith('/ipfs/')) onFile?.(path)
    if (path.startsWith('/ipfs/')) {
      if (image === undefined) return json(404, {})
      return response.end(typeof image === 'function' ? image(path) : image)
    }
    const found = Object.entries(explorer).find(([beginning]) => path.startsWith(beginning))
    if (found !== undefined) return json(200, found[1])
    if (path === '/api/v1/files') return json(200, { url: `ipfs://${IMAGE_CID}` })
    const body = path.startsWith('/api/') ? (JSON.parse(Buffer.concat(chunks).toString() || '{}') as never) : null
    if (path.endsWith('/createnft')) {
      const { status = 200, body: responseBody } = createnft(body as never)
      return json(status, responseBody)
    }
    if (path.endsWith('/getnfts')) {
      if (reads?.state === 'forbidden') return json(403, { error: { title: 'Forbidden', message: 'not for this key' } })
      const { body: responseBody } = getnfts(body as never)
      const { nfts, requests } = responseBody as { nfts: ReturnType<typeof nft>[]; requests: unknown }
      const minted = nfts.map((one) => ({
        ...one,
        metadata_url: null,
        ...(isMinted ? present[one.nft_gdn_id] : {}),
      }))
      const failure = { status: failedStatus, error: failed, token_id: null }
      const ended = failed === undefined ? minted : minted.map((one) => ({ ...one, ...failure }))
      onRead?.(
        'getnfts',
        nfts.map(({ nft_gdn_id }) => nft_gdn_id),
      )
      return json(200, { requests, nfts: ended })
    }
    if (path.endsWith('/getnfthistory')) {
      const requests = body as unknown as { nft_gdn_id: string }
      onRead?.('getnfthistory', [requests.nft_gdn_id])
      return json(200, { requests, events: history?.[requests.nft_gdn_id] ?? [], next_offset: null })
    }
    return json(404, { error: { title: 'Not Found', message: 'not here' } })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function reported(
  url: string,
  lines: readonly string[],
  files: Record<string, Uint8Array> = {},
  ...flags: string[]
) {
  const { path, options } = await folder({ 'drop.csv': [HEADER, ...lines, ''].join('\n') })
  for (const [name, bytes] of Object.entries(files)) await writeFile(path(name), bytes)
  const at = ['--base-url', url]
  await cli(['batch', 'mint', path('drop.csv'), ...TARGET, ...at, '--rate', '1000', '-q'], options)
  await fetch(url + MINTED_PATH)
  const result = await cli(['batch', 'report', 'drop', '--to', 'r.html', '--json', ...at, ...flags], options)
  const html = await readFile(path('r.html'), 'utf8').catch(() => '')
  return { ...result, html, path, options, at }
}

const COSTS = {
  ...{ blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '1234567', fee_paid: '1' },
  ...{ final_fee_paid: '1', max_cost: null, counted: null, max_fee: null, waiting: null },
}

const cards = (page: string) => page.match(/<article [\s\S]*?<\/article>/g) ?? []

describe('the report of a run', () => {
  test('lists each row with its state, token, owner and IDs, and the counts at the top', async () => {
    const url = await backend()
    const { code, stdout, stderr, html, path } = await reported(url, [row('Dawn'), row('Dusk')])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ file: path('r.html'), rows: 2, errors: 0, deployed: 2, gas_used: null })
    const [first = ''] = cards(html)
    expect(first).toContain('>deployed</span>')
    expect(first).toContain('token 1')
    expect(first).toContain('>Dawn</h2>')
    expect(first).toContain(`<dt>Owner</dt><dd><code>${OWNER}</code></dd>`)
    expect(first).toContain('<dt>NFT</dt><dd><code>id-0</code></dd>')
    expect(html).toContain('<b>2</b><span>deployed</span>')
    expect(html).toContain('<b>1</b><span>owner</span>')
    expect(html).toContain('<dt>Gas</dt><dd>unknown</dd>')
    expect(html).toMatch(/<dt>All accepted<\/dt><dd><time datetime="20/)
    expect(html).toContain(CONTRACT)
  })

  test('shows gas as `batch status` does, the collection name and block explorer links if the backend returns them', async () => {
    const url = await backend({
      explorer: {
        '/explorer/session': { version: '1', open: true, account: null },
        '/explorer/runs/': { gas_used: '1' },
        '/api/v1/getruncosts': { requests: { run: 'any' }, costs: COSTS },
        '/explorer/collections/': { name: 'Tides <b>', transaction: { explorer_url: 'https://scan.example/tx/0xab' } },
      },
    })
    const { stdout, html, options, at } = await reported(url, [row('Dawn')])
    expect(JSON.parse(stdout).gas_used).toBe('1234567')
    const people = await cli(['batch', 'report', 'drop', '--to', 'r.html', '--force', ...at], { ...options, tty: true })
    expect(people.stdout).toMatch(/^STATE +1 row: 1 deployed$/m)
    expect(people.stdout).toMatch(/^PAID +\S+ POL, for 1,234,567 gas$/m)
    expect(people.stdout).not.toContain('WEI')
    expect(html).toContain('<b>1,234,567</b><span>gas</span>')
    expect(html).toContain('<dt>Collection</dt><dd><bdi>Tides &lt;b&gt;</bdi></dd>')
    expect(html).toContain(`href="https://scan.example/address/${CONTRACT}"`)
    expect(html).toContain(`href="https://scan.example/token/${CONTRACT}?a=1"`)
  })

  test.each([
    ['requires a key', { '/explorer/session': { version: '1', open: false, account: null } }],
    ['returns invalid data', { '/explorer': { gas_used: '<script>', name: 7, open: true, version: '1' } }],
  ])('omits explorer data if the explorer %s', async (_, explorer) => {
    const { code, html } = await reported(await backend({ explorer }), [row('Dawn')])
    expect(code).toBe(0)
    expect(html).toContain('<dt>Gas</dt><dd>unknown</dd>')
  })

  test.each(['failed', 'error'])('groups rows with the status %s by reason, with their lines', async (failedStatus) => {
    const url = await backend({ failed: 'the image <b>answered</b> 404', failedStatus })
    const { code, stdout, html } = await reported(url, [row('Dawn'), row('Dusk')])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ rows: 2, errors: 2, failed: 2 })
    expect(html).toContain('<bdi>the image &lt;b&gt;answered&lt;/b&gt; 404</bdi>')
    expect(html).toContain('(lines <a href="#line-2">2</a>, <a href="#line-3">3</a>)')
    expect(cards(html)[1]).toContain('class="card is-bad" id="line-3"')
  })

  test('exits with 2 for an unknown run', async () => {
    expect(await cli(['batch', 'report', 'nothing'])).toMatchObject({ code: 2, stdout: '' })
  })
})

const MINTED = { revision: 0, is_frozen: false, burned: false, transfers: 0, minted_to: OWNER }
const OTHER = `0x${'c'.repeat(40)}`
const event = (kind: string, more: Record<string, unknown> = {}) => ({
  ...{ kind, status: 'deployed', transaction_gdn_id: null, accepted_date: null, block_date: '2026-02-03 04:05:06' },
  ...{ block_number: 1289, transaction_hash: `0x4c3f7d9e${'0'.repeat(52)}abcd`, from: null, to: null, revision: null },
  ...{ changes: null, changes_left_out: 0, error: null, ...more },
})
const badgesOf = (card = '') => [...card.matchAll(/<span class="badge[^"]*">([^<]*)</g)].map(([, word]) => word)

describe('the present state of its NFTs', () => {
  test('has title, metadata and picture of the last update instead of the row', async () => {
    const image = png(QUARTERS)
    const request_metadata = {
      title: 'Night',
      description: 'after',
      file_fields: [{ key: 'image', url: `ipfs://${IMAGE_CID}` }],
      attribute: [{ tag: 'mood', value: 'wild' }],
    }
    const url = await backend({ image, present: { 'id-0': { ...MINTED, revision: 2, request_metadata } } })
    const { html } = await reported(url, [row('Dawn')])
    const [card = ''] = cards(html)
    expect(card).toContain('>Night</h2>')
    expect(card).not.toContain('Dawn')
    expect(card).toContain('<bdi>wild</bdi>')
    expect(card).toContain('<use href="#image-1"/>')
    expect(html).toContain(`data:image/png;base64,${image.toString('base64')}`)
    expect(badgesOf(card)).toEqual(['deployed', 'updated'])
  })

  test('omits the file of a row whose NFT was updated, because it is not its picture any more', async () => {
    const url = await backend({ present: { 'id-0': { ...MINTED, revision: 1 } } })
    const { html } = await reported(url, [row('Dawn', 'a.png')], { 'a.png': png(QUARTERS) })
    expect(cards(html)[0]).not.toContain('<use')
  })

  test('marks NFTs that are unrevealed, frozen, changing, transferred and burned, and counts present owners', async () => {
    const hidden = { title: 'Hidden', description: '', file_fields: [], provenance_row: 'ab' }
    const present = {
      'id-0': { ...MINTED, request_metadata: hidden },
      'id-1': { ...MINTED, is_frozen: true, pending_change: { kind: 'transfer', reference_id: null } },
      'id-2': { ...MINTED, transfers: 1, receiver_wallet_address: OTHER },
      'id-3': { ...MINTED, burned: true, receiver_wallet_address: `0x${'0'.repeat(40)}` },
      'id-4': MINTED,
    }
    const history = { 'id-3': [event('transfer', { from: OWNER, to: OTHER }), event('burn', { from: OTHER })] }
    const { stdout, html } = await reported(
      await backend({ present, history }),
      ['A', 'B', 'C', 'D', 'E'].map((title) => row(title)),
    )
    expect(cards(html).map(badgesOf)).toEqual([
      ['deployed', 'unrevealed'],
      ['deployed', 'frozen', 'transfer in progress'],
      ['deployed', 'transferred'],
      ['burned', 'transferred'],
      ['deployed'],
    ])
    expect(cards(html)[2]).toContain(`<dt>Owner</dt><dd><code>${OTHER}</code></dd>`)
    expect(cards(html)[2]).toContain(`<dt>Receiver</dt><dd><code>${OWNER}</code></dd>`)
    expect(cards(html)[3]).toContain(`<dt>Last owner</dt><dd><code>${OTHER}</code>`)
    expect(html).toContain('<b>2</b><span>owners</span>')
    expect(JSON.parse(stdout)).toMatchObject({ deployed: 5, burned: 1, changed: 3 })
    expect(html).toContain('<b>4</b><span>deployed</span>')
    expect(html).toContain('<b>1</b><span>burned</span>')
    expect(html).toContain('aria-label="4 deployed, 1 burned"')
    expect(html).toContain('>All 5</label>')
    expect(html).toContain('id="only-good">Deployed 4<')
    expect(html).toContain('id="only-burned">Burned 1<')
    expect(html.match(/<article class="card is-good/g)).toHaveLength(4)
    expect(cards(html)[3]).toContain('class="card is-burned is-changed"')
    expect(html).toContain('id="only-changed">Changed 3<')
    expect(html.match(/<article class="[^"]*is-changed/g)).toHaveLength(3)
  })

  test('reads the history of changed NFTs only, and folds it', async () => {
    const read: string[] = []
    const update = event('update', {
      revision: 1,
      changes: [{ field: 'title', before: 'Dawn', after: 'Night' }],
      explorer_url: 'https://scan.example/tx/0x4c',
    })
    const url = await backend({
      present: { 'id-0': { ...MINTED, revision: 1 }, 'id-1': MINTED },
      history: { 'id-0': [event('mint', { to: OWNER }), update] },
      onRead: (endpoint, ids) => read.push(`${endpoint} ${ids}`),
    })
    const { html } = await reported(url, [row('Dawn'), row('Dusk')])
    expect(read.filter((one) => one.startsWith('getnfthistory'))).toEqual(['getnfthistory id-0'])
    const [first = '', second = ''] = cards(html)
    expect(first).toContain('<details class="history"><summary>History</summary>')
    expect(first).toContain('<b>update</b> <bdi>title: &quot;Dawn&quot; to &quot;Night&quot;</bdi>')
    expect(first).toContain('2026-02-03 04:05:06 UTC · block 1,289 · <a href="https://scan.example/tx/0x4c"')
    expect(first).toContain('>0x4c3f7d9e…abcd</a>')
    expect(second).not.toContain('class="history"')
  })

  test('does not request a history that the server does not announce', async () => {
    const read: string[] = []
    const url = await backend({
      present: { 'id-0': { ...MINTED, revision: 1 } },
      onRead: (endpoint) => read.push(endpoint),
    })
    await reported(url, [row('Dawn')])
    expect(read).not.toContain('getnfthistory')
  })

  test('says so if the server does not report updates', async () => {
    const { html } = await reported(await backend(), [row('Dawn')])
    expect(html).toContain('The server does not report updates, freezes or burns.')
    const newer = await reported(await backend({ present: { 'id-0': MINTED } }), [row('Dawn')])
    expect(newer.html).not.toContain('The server does not report')
  })

  test('escapes titles, changes and other text of the server', async () => {
    const evil = '<img src=x onerror="alert(1)">'
    const url = await backend({
      present: {
        'id-0': {
          ...MINTED,
          revision: 1,
          receiver_wallet_address: evil,
          pending_change: { kind: evil },
          request_metadata: { title: evil, description: evil, attribute: [{ tag: evil, value: evil }], [evil]: evil },
        },
        'id-1': { ...MINTED, request_metadata: [evil] },
      },
      history: {
        'id-0': [
          event('update', {
            ...{ block_date: evil, transaction_hash: evil, status: 'failed', error: evil },
            ...{ explorer_url: `javascript:alert(1)`, changes: [{ field: evil, before: evil, after: evil }] },
          }),
        ],
      },
    })
    const { code, html } = await reported(url, [row('Dawn'), row('Dusk')])
    expect(code).toBe(0)
    expect(cards(html)[0]).toContain('&lt;img src=x')
    expect(html).not.toContain('<img')
    expect(html).not.toContain('javascript:alert')
    expect(cards(html)[1]).toContain('>Dusk</h2>')
  })

  test.each([
    ['down', 'the server could not be reached'],
    ['forbidden', 'the server did not return them'],
  ] as const)('is what gdn recorded, with its date, if the server is %s', async (state, why) => {
    const reads = { state: 'up' as 'up' | typeof state }
    const { path, options } = await reported(await backend({ reads, present: { 'id-0': MINTED } }), [row('Dawn')])
    reads.state = state
    expect((await cli(['batch', 'report', 'drop', '--to', 's.html'], options)).code).toBe(0)
    const html = await readFile(path('s.html'), 'utf8')
    expect(cards(html)[0]).toContain('>Dawn</h2>')
    expect(html).toMatch(/NFTs are shown as gdn recorded them on this machine, as of <time datetime="20/)
    expect(html).toContain(`</time>: ${why}.`)
  })

  test('is read by pages of 200 NFTs', async () => {
    const pages: number[] = []
    let isReporting = false
    const url = await backend({ onRead: (_, ids) => isReporting && pages.push(ids.length) })
    const rows = Array.from({ length: 450 }, (_, i) => row(`Tide ${i}`))
    const { path, options, at } = await reported(url, rows)
    isReporting = true
    expect((await cli(['batch', 'report', 'drop', '--to', path('s.html'), ...at], options)).code).toBe(0)
    expect(pages).toEqual([200, 200, 50])
  })
})

describe('its pictures', () => {
  const noise: Painting = { width: 1200, height: 900, at: (x, y) => [(x * y) & 255, (x * 7 + y) & 255, (y * 13) & 255] }
  const sources = (html: string) => [...html.matchAll(/<image href="([^"]*)"/g)].map(([, source = '']) => source)
  const shownIn = (html: string) => cards(html).map((card) => /<use href="#(image-\d+)"\/>/.exec(card)?.[1])

  test('come from storage; small ones are embedded unchanged', async () => {
    const image = png(QUARTERS)
    const { html, stdout } = await reported(await backend({ image }), [row('Dawn', `ipfs://${IMAGE_CID}`)])
    expect(sources(html)).toEqual([`data:image/png;base64,${image.toString('base64')}`])
    expect(JSON.parse(stdout).images).toBe(1)
  })

  test('come from this machine if storage lacks them', async () => {
    const { html } = await reported(await backend(), [row('Dawn', 'a.png')], { 'a.png': png(QUARTERS) })
    expect(sources(html)).toHaveLength(1)
  })

  const shades: Painting = {
    width: 1200,
    height: 900,
    at: (x, y) => [x >> 4, y >> 4, 0, y < 450 ? 128 : 255],
  }

  test('are scaled to the size shown: as JPEG, or as PNG if they are transparent', async () => {
    const scaledOf = async (image: Uint8Array) => {
      const { html } = await reported(await backend({ image }), [row('Dawn', `ipfs://${IMAGE_CID}`)])
      const [type = '', base64 = ''] = (sources(html)[0] ?? '').split(',')
      return { type, bytes: Buffer.from(base64, 'base64') }
    }
    const large = await scaledOf(png(noise))
    expect(large.type).toBe('data:image/jpeg;base64')
    expect(large.bytes.length).toBeLessThan(28 * 1024)
    const glass = await scaledOf(png(shades))
    expect(glass.type).toBe('data:image/png;base64')
    const { width, height } = decode(glass.bytes)
    expect([width, height]).toEqual([360, 270])
  })

  test('are in the file once for all rows and files that show the same', async () => {
    const files = { 'a.png': png(QUARTERS), 'b.png': png(QUARTERS), 'c.png': png({ ...QUARTERS, at: () => [9, 9, 9] }) }
    const rows = ['a.png', 'b.png', 'a.png', 'c.png', 'a.png'].map((image, i) => row(`Tide ${i}`, image))
    const { html, stdout } = await reported(await backend(), rows, files)
    expect(sources(html)).toHaveLength(2)
    expect(shownIn(html)).toEqual(['image-1', 'image-1', 'image-1', 'image-2', 'image-1'])
    expect(html).toContain('<svg role="img" aria-label="Tide 2"><use href="#image-1"/></svg>')
    expect(JSON.parse(stdout).images).toBe(5)
  })

  test('pictures of storage are requested once for all rows that show them', async () => {
    const requested: string[] = []
    const url = await backend({ image: png(QUARTERS), onFile: (path) => requested.push(path) })
    const rows = Array.from({ length: 300 }, (_, i) => row(`Tide ${i}`, `ipfs://${IMAGE_CID}`))
    const { html } = await reported(url, rows)
    expect(shownIn(html)).toEqual(rows.map(() => 'image-1'))
    expect(requested).toEqual([`/ipfs/${IMAGE_CID}`])
  })

  test('pictures of 300 rows with 40 large PNG and JPEG files take less than 2 MB and 10 s of CPU time', async () => {
    const square = { ...noise, width: 420, height: 420 }
    const [asPng, asJpeg] = [png(square), jpegOf(square)]
    // Other bytes with the same pixels.
    const numbered = (i: number) =>
      i % 2 === 0
        ? Buffer.concat([asJpeg, Buffer.from([i])])
        : Buffer.concat([asPng, pngChunk('tEXt', Buffer.from([i]))])
    const cids = Array.from(
      { length: 40 },
      (_, i) => `${IMAGE_CID.slice(0, -2)}${String.fromCharCode(97 + (i % 20), 97 + i / 20)}`,
    )
    const requested: string[] = []
    const image = (path: string) => numbered(cids.indexOf(path.slice('/ipfs/'.length)))
    const url = await backend({ image, onFile: (path) => requested.push(path) })
    const rows = Array.from({ length: 300 }, (_, i) => row(`Tide ${i}`, `ipfs://${cids[i % cids.length]}`))
    const since = process.cpuUsage()
    const { html } = await reported(url, rows)
    const ms = cpuMs(since)
    const { slowness } = slownessOf([await startOfNode(), await startOfNode(), await startOfNode()])
    expect(ms / slowness, `${ms} ms, ${slowness} times slower than usual`).toBeLessThan(10_000)
    expect(requested).toEqual(cids.map((cid) => `/ipfs/${cid}`))
    expect(sources(html)).toHaveLength(40)
    expect(shownIn(html)).toEqual(rows.map((_, i) => `image-${(i % 40) + 1}`))
    expect(Buffer.byteLength(html)).toBeLessThan(2_000_000)
  })

  test.each<[string, Uint8Array, string]>([
    ['a web page', Buffer.from('<!doctype html><script>alert(1)</script>'), 'The image is not an image file'],
    ['an SVG of 600 kB', Buffer.from(`<svg>${' '.repeat(600_000)}</svg>`), 'an SVG, which can&#39;t be drawn here'],
  ])("are listed if they can't be embedded: %s", async (_, image, words) => {
    const { html } = await reported(await backend({ image }), [row('Dawn', `ipfs://${IMAGE_CID}`)])
    expect(sources(html)).toEqual([])
    expect(html).toContain(words)
    expect(html).toContain('1 image is not in this file')
    expect(html).toContain(`ipfs://${IMAGE_CID}`)
  })

  test("embeds an SVG as an image, so that it can't run scripts", async () => {
    const image = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    const { html } = await reported(await backend({ image }), [row('Dawn', `ipfs://${IMAGE_CID}`)])
    expect(sources(html)).toEqual([`data:image/svg+xml;base64,${image.toString('base64')}`])
    expect(html).not.toContain('<svg xmlns')
  })

  test('link to the selected gateway', async () => {
    const gateway = 'https://gateway.invalid'
    const { html } = await reported(await backend(), [row('Dawn', `ipfs://${IMAGE_CID}`)], {}, '--gateway', gateway)
    expect(html).toContain(`href="${gateway}/ipfs/${IMAGE_CID}"`)
  })

  test('come from a selected gateway on this machine, but never link to it', async () => {
    const gateway = await backend({ image: Buffer.from('nothing') })
    const { html } = await reported(await backend(), [row('Dawn', `ipfs://${IMAGE_CID}`)], {}, '--gateway', gateway)
    expect(html).toContain(`ipfs://${IMAGE_CID}`)
    expect(html).not.toContain(gateway)
  })

  test('are requested only three times from a gateway that never responds, not once per row', async () => {
    let requestCount = 0
    const gateway = createServer((request) => {
      requestCount++
      request.socket.destroy()
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => gateway.once('listening', resolve))
    onTestFinished(() => void gateway.close())
    const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`
    const rows = Array.from({ length: 8 }, (_, i) =>
      row(`Tide ${i}`, `ipfs://${IMAGE_CID.slice(0, -1)}${'abcdefgh'[i]}`),
    )
    const { code, html } = await reported(await backend(), rows, {}, '--gateway', url)
    expect(code).toBe(0)
    expect(requestCount).toBe(3)
    expect(html).toContain('8 images are not in this file')
  })

  test('on the web are links and are not fetched', async () => {
    const { html } = await reported(await backend(), [row('Dawn', 'https://example.com/x.png')])
    expect(sources(html)).toEqual([])
    expect(html).toContain('href="https://example.com/x.png"')
  })
})

describe('the file', () => {
  test.each(['http://127.0.0.1:4791', 'http://localhost:4791', 'http://[::1]:4791', 'http://gdn.localhost'])(
    'has no link to %s, which only this machine can open',
    async (local) => {
      const transaction = `${local}/tx/0x4c`
      const url = await backend({
        explorer: {
          '/explorer/session': { version: '1', open: true, account: null },
          '/explorer/collections/': { name: 'Tides', transaction: { explorer_url: transaction } },
        },
        present: { 'id-0': { ...MINTED, revision: 1, metadata_url: `${local}/1.json` } },
        history: { 'id-0': [event('update', { explorer_url: transaction })] },
      })
      const { html } = await reported(url, [row('Dawn'), row('Dusk', `${local}/dusk.png`)])
      expect(cards(html)[0]).toContain('0x4c3f7d9e…abcd')
      expect(cards(html)[0]).toContain(`${local}/1.json`)
      expect(cards(html)[1]).toContain(`${local}/dusk.png`)
      expect(html).not.toContain('in the block explorer')
      expect([...html.matchAll(/href="(?!#|data:)([^"]*)"/g)]).toEqual([])
    },
  )

  test('contains no folder, backend address or key of this machine', async () => {
    const url = await backend()
    const { html, path } = await reported(url, [row('Dawn', 'a.png')], { 'a.png': png(QUARTERS) })
    expect(html).not.toContain(path('.'))
    expect(html).not.toContain(url)
    expect(html).not.toMatch(/127\.0\.0\.1/)
  })

  test('redacts a key that a server repeats', async () => {
    const key = 'gdn_test_0123456789abcdef'
    const url = await backend({ failed: `wrong key ${key}` })
    const { path, options } = await folder({ 'drop.csv': `${HEADER}\n${row('Dawn')}\n` })
    const withKey = { ...options, env: { ...options.env, GDN_API_KEY: key } }
    const at = ['--base-url', url]
    await cli(['batch', 'mint', path('drop.csv'), ...TARGET, ...at, '--rate', '1000', '-q'], withKey)
    await cli(['batch', 'report', 'drop', '--to', 'r.html', ...at], withKey)
    const html = await readFile(path('r.html'), 'utf8')
    expect(html).toContain('wrong key')
    expect(html).not.toContain(key)
  })

  test('replaces an earlier report, but no other file, and is named after the run by default', async () => {
    const url = await backend()
    const { path, options, at } = await reported(url, [row('Dawn')])
    const again = () => cli(['batch', 'report', 'drop', '--to', 'r.html', ...at], options)
    expect((await again()).code).toBe(0)
    await writeFile(path('r.html'), 'mine')
    expect((await again()).code).toBe(3)
    expect(await readFile(path('r.html'), 'utf8')).toBe('mine')
    const { stdout } = await cli(['batch', 'report', 'drop', '--json', ...at], options)
    const { file, run, run_id } = JSON.parse(stdout)
    expect(file).toBe(path(`${run}-report.html`))
    expect(run_id).toMatch(RUN_ID)
  })
})

test.each([
  ['2026-01-01T00:00:00Z', 'less than a second'],
  ['2026-01-01T00:00:01Z', 'a second'],
  ['2026-01-01T00:01:15Z', '75 seconds'],
  ['2026-01-01T00:50:00Z', '50 minutes'],
  ['2026-01-01T10:00:00Z', '10 hours'],
  ['2026-01-06T00:00:00Z', '5 days'],
  ['2025-12-31T00:00:00Z', 'less than a second'],
])('formats the time until %s as %s', (to, words) => {
  expect(formatTimeSpan('2026-01-01T00:00:00Z', to)).toBe(words)
})
