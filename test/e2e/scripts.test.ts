/** @module-tag slow */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { atTerminal, CTRL_C, HAS_PTY } from '../helpers/terminal.ts'

const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

let home: GdnHome
beforeAll(async () => {
  home = await makeHome()
})
afterAll(() => home.remove())

/** A server with 100,000 NFTs. It responds to no other request, except for their details with `shows`. */
async function server({ shows = false } = {}): Promise<{ url: string; asked: Promise<unknown> }> {
  let wasAsked: (value: unknown) => void = () => {}
  const asked = new Promise((resolve) => {
    wasAsked = resolve
  })
  const listing = createServer((request, response) => {
    if (shows && request.url?.endsWith('/getnfts') === true) return void showNfts(request, response)
    if (request.url?.endsWith('/getnftgdnids') !== true) return wasAsked(request.url)
    const requests = { contract_address: CONTRACT, blockchain: 'polygon' }
    const nft_gdn_ids = Array.from(
      { length: 100_000 },
      (_, i) => `0197a1f2-6f0e-7c3b-9a51-${String(i).padStart(12, '0')}`,
    )
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ requests, nft_gdn_ids }))
  })
  const { url, close } = await listenLocally(listing)
  onTestFinished(close)
  return { url, asked }
}

/** Responds to getnfts with a record for each ID, and with a rate limit that delays nothing. */
async function showNfts(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { nft_gdn_ids } = (await json(request)) as { nft_gdn_ids: string[] }
  const nfts = nft_gdn_ids.map((nft_gdn_id) => ({
    ...{ nft_gdn_id, token_id: '1', contract_address: CONTRACT, receiver_wallet_address: CONTRACT, status: 'deployed' },
    request_metadata: { title: 'x'.repeat(1000), description: '', file_fields: [] },
    metadata_url: null,
  }))
  response.writeHead(200, { 'content-type': 'application/json', 'ratelimit-policy': '"getnfts";q=10000;w=1' })
  response.end(JSON.stringify({ requests: { nft_gdn_ids }, nfts }))
}

describe('a reader that closes the pipe early causes no error', () => {
  const list = ['nft', 'list', '-c', CONTRACT, '-b', 'polygon', '--limit', '2000']

  test.each([
    ['a table', list],
    ['JSON', [...list, '--json']],
    ['NDJSON', [...list, '-o', 'ndjson']],
    ['CSV', [...list, '-o', 'csv']],
    ['ids', [...list.slice(0, -2), '-o', 'ids']],
    ['help', ['help', '--json']],
    ['a template', ['batch', 'template']],
  ])('in %s', async (_, argv) => {
    const { url } = await server({ shows: true })
    const at = argv[0] === 'nft' ? ['--base-url', url] : []
    const child = spawn(process.env.GDN_TEST_NODE || process.execPath, [GDN_BIN, ...argv, ...at], {
      env: { ...home.env, GDN_API_KEY: 'k' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stderr = ''
    child.stderr.on('data', (text) => {
      stderr += text
    })
    await once(child.stdout, 'readable')
    child.stdout.destroy()
    const [code] = await once(child, 'close')
    expect({
      code,
      stderr: stderr.replace(/^(Reading|The collection|Check the file|Mint the drop|Replace the receivers).*\n/gm, ''),
    }).toEqual({
      code: 0,
      stderr: '',
    })
  })

  test('in messages on stderr', async () => {
    const argv = ['nft', 'show', 'x', '--local']
    const child = spawn(process.env.GDN_TEST_NODE || process.execPath, [GDN_BIN, ...argv], {
      env: home.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr.destroy()
    const [code] = await once(child, 'close')
    expect(code).toBe(6)
  })
})

describe('Ctrl-C', () => {
  beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

  test.each([
    ['a read', 'nft show a'],
    ['a mint', `nft mint --title x -c ${CONTRACT} -b polygon --receiver ${CONTRACT}`],
    ['a transfer', `nft transfer a -b polygon --receiver ${CONTRACT}`],
  ])('prints a message at once, and ends %s without a response', async (_, line) => {
    const { url, asked } = await server()
    const terminal = atTerminal(`${line} --base-url ${url}`, { ...home.env, GDN_API_KEY: 'k' })
    await asked
    terminal.type(CTRL_C)
    await terminal.shows('Stopping. Press Ctrl-C again to stop now.')
    const { code, screen } = await terminal.end()
    expect([130, 9], screen).toContain(code)
    expect(screen).not.toMatch(/^ {4}at /m)
  })

  test('forces the exit when it is pressed a second time', async () => {
    const line = `local exec -- sh -c "trap '' INT; echo ready >&2; sleep 3600"`
    const terminal = atTerminal(line, home.env)
    await terminal.shows('ready')
    // Two signals in quick succession may arrive as one.
    const pressing = setInterval(() => terminal.type(CTRL_C), 300)
    const { code, screen } = await terminal.end()
    clearInterval(pressing)
    expect(code, screen).not.toBe(0)
  })
})
