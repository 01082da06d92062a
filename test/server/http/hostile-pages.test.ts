import { execFileSync } from 'node:child_process'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  WALLETS,
} from '../../helpers/backend.ts'
import { CHROMIUM, startChromium } from '../../helpers/chromium.ts'
import { rowCounts } from '../../helpers/hostile.ts'

const SECRET_NAME = 'Nobody else may read this'
const RICH = '0x00000000000000000000000000000000000000ee'
/** The page that the attacker's server returns, before its name resolves elsewhere. */
const PAGE = '<!doctype html><title>Free mint!</title>'

let backend: TestBackend
let evil: Server
let browser: Browser
let node: { host: string; port: number }
let stored = ''

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  backend = await backendForFile({ allowHtmlFiles: true })
  const collection = await createTestCollection(backend, { name: SECRET_NAME })
  const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
  stored = `/ipfs/${String(nft?.metadata_url).slice('ipfs://'.length)}`
  node = addressOfNode()
  evil = createServer((_request, response) => void response.setHeader('content-type', 'text/html').end(PAGE))
  await new Promise<void>((listening) => evil.listen(0, '127.0.0.1', listening))
  // As if the DNS record of evil.example had changed after the page was loaded.
  browser = await startChromium([
    `--host-resolver-rules=MAP evil.example 127.0.0.1, MAP node.evil.example ${node.host}`,
    // Newer browsers prompt before an internet page reaches this machine. A user who allows it must be safe too.
    '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests',
  ])
})
afterAll(async () => {
  await browser?.close()
  await new Promise((closed) => (evil ? evil.close(closed) : closed(undefined)))
})

/** The address of the embedded chain's anvil, which any user of this machine can find out. */
function addressOfNode(): { host: string; port: number } {
  const all = execFileSync('ps', ['-axo', 'ppid=,args='], { encoding: 'utf8' }).split('\n')
  const own = all.find((line) => line.trim().startsWith(`${process.pid} `) && line.includes('anvil'))
  const [, host = '', port = ''] = /--host (\S+) --port (\d+)/.exec(own ?? '') ?? []
  return { host, port: Number(port) }
}

const portOf = (url: string) => Number(new URL(url).port)

/** A page from the attacker's own server. */
async function elsewhere(): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(`http://evil.example:${(evil.address() as AddressInfo).port}/`)
  return page
}

/** The same page after DNS rebinding to this port of this machine. */
async function rebound(host: string, port: number): Promise<Page> {
  const page = await browser.newPage()
  const url = `http://${host}:${port}/free-mint`
  await page.route(url, (route) => route.fulfill({ contentType: 'text/html', body: PAGE }))
  await page.goto(url)
  return page
}

interface PageResponse {
  path: string
  /** 0 if the browser hides it. */
  status: number
  text: string
}

const KEY_HEADERS = { 'content-type': 'application/json' }

/** All requests that a page could send to a backend without a key. */
function attempts(): { path: string; init: RequestInit }[] {
  const call = (method: string, params: unknown[] = []) => ({ jsonrpc: '2.0', id: 1, method, params })
  const rpc = (body: unknown) => ({ method: 'POST', headers: KEY_HEADERS, body: JSON.stringify(body) })
  const api = ['createcollection', 'createnft', 'createnfttrans', 'transfernft', 'getcollections', 'getnfts']
  const reads = ['getnftgdnids', 'getisgdnnft', 'gettransactions', 'getpresignedurl', 'files']
  return [
    ...['/', '/metrics', '/openapi.json', '/healthz', '/readyz', '/docs', '/docs/page.js', '/explorer'].map((path) => ({
      path,
      init: {},
    })),
    ...[...api, ...reads].flatMap((name) => [
      { path: `/api/v1/${name}`, init: rpc({ transaction_gdn_ids: ['x'], email: 'a@example.com' }) },
      { path: `/api/v1/${name}`, init: { ...rpc({}), headers: { ...KEY_HEADERS, 'x-api-key': 'gdn_guess' } } },
      // A page may send these to any origin without a preflight.
      { path: `/api/v1/${name}`, init: { ...rpc({}), headers: { 'content-type': 'text/plain' } } },
    ]),
    ...['anvil_setBalance', 'ANVIL_SETBALANCE', 'evm_mine', 'hardhat_reset', 'personal_sign', 'debug_traceCall'].map(
      (method) => ({ path: '/rpc/polygon', init: rpc(call(method, [RICH, '0x1'])) }),
    ),
    { path: '/rpc/polygon', init: rpc(call('eth_sendTransaction', [{ from: WALLETS[0], to: RICH, value: '0x1' }])) },
    { path: '/rpc/polygon', init: rpc(call('eth_sendRawTransaction', ['0x02'])) },
    { path: '/rpc/polygon', init: rpc([call('eth_chainId'), call('eth_sendRawTransactionSync', ['0x02'])]) },
    { path: '/rpc/polygon', init: rpc([call('eth_chainId'), call('anvil_setBalance', [RICH, '0x1'])]) },
    {
      path: '/v1/wallet/create?expiry=1&issued_at=1&action=generate_wallet&issuer=a&signature=0',
      init: { method: 'POST' },
    },
  ]
}

/** Sends all of them from a page, each in the modes `cors` and `no-cors`. */
async function askAll(page: Page, base: string): Promise<PageResponse[]> {
  return page.evaluate(
    async ([origin, all]) => {
      const answers: { path: string; status: number; text: string }[] = []
      for (const { path, init } of all) {
        for (const mode of ['cors', 'no-cors'] as const) {
          try {
            const response = await fetch(origin + path, { ...init, mode })
            answers.push({ path, status: response.status, text: await response.text() })
          } catch {
            answers.push({ path, status: 0, text: '' })
          }
        }
      }
      return answers
    },
    [base, attempts()] as const,
  )
}

/** Loads resources that need no CORS permission. Resolves with what the page could observe. */
const LOADING = (base: string, path: string) => `(async () => {
  const outcomes = []
  const load = (tag, src) => new Promise((done) => {
    const element = document.createElement(tag)
    element.onload = () => done(outcomes.push(tag + ' loaded ' + src))
    element.onerror = done
    element.src = src
    document.body.append(element)
  })
  for (const name of ['/openapi.json', '/metrics', '/healthz', '/docs/page.js', ${JSON.stringify(path)}]) {
    await load('script', ${JSON.stringify(base)} + name)
    await load('img', ${JSON.stringify(base)} + name)
  }
  const frame = document.createElement('iframe')
  await new Promise((loaded) => {
    frame.onload = loaded
    frame.src = ${JSON.stringify(base)} + '/metrics'
    document.body.append(frame)
  })
  if (frame.contentDocument !== null) outcomes.push('the frame can be read')
  await new Promise((done) => {
    const events = new EventSource(${JSON.stringify(base)} + '/metrics')
    events.onopen = () => done(outcomes.push('events'))
    events.onerror = done
  })
  return outcomes
})()`

async function expectNothingHappened(rows: Record<string, number>) {
  expect(await rowCounts(backend.dataDir)).toEqual(rows)
  expect(await balance()).toBe('0xd3c21bcecceda1000000')
}

async function balance(): Promise<string> {
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [RICH, 'latest'] }
  return (await backend.post('/rpc/polygon', call)).json.result
}

describe.skipIf(CHROMIUM === undefined)('a page of another origin', () => {
  it('gets nothing without a key, cannot read explorer, metrics and docs, and changes nothing through /rpc', async () => {
    const rows = await rowCounts(backend.dataDir)
    const page = await elsewhere()
    const answers = await askAll(page, backend.url)
    for (const { path, status, text } of answers) {
      const open = path.startsWith('/api/') || path.startsWith('/rpc/') || path.startsWith('/v1/')
      // A page may read chains and errors, nothing else.
      expect([path, open ? [0, 200, 400, 401, 403, 415] : [0]]).toEqual([path, expect.arrayContaining([status])])
      expect(text).not.toContain(SECRET_NAME)
      if (path.startsWith('/api/')) expect([path, [0, 401, 415]]).toEqual([path, expect.arrayContaining([status])])
      if (status === 200) {
        for (const one of [JSON.parse(text)].flat()) {
          expect(one.error?.code === -32601 || one.result === '0x89').toBe(true)
        }
      }
    }
    const raw = answers.filter(({ path, text }) => path.startsWith('/rpc') && text.includes('may only read this chain'))
    expect(raw.map(({ status }) => status)).toEqual([403, 403])
    await expectNothingHappened(rows)
    await page.close()
  })

  it('cannot load protected resources as a script, an image, a frame or an event stream', async () => {
    const page = await elsewhere()
    const seen = await page.evaluate(LOADING(backend.url, stored))
    expect(seen).toEqual([])
    await page.close()
  })

  it('cannot reach the port of the chain’s node by fetch or WebSocket', async () => {
    await expectNodeOutOfReach(await elsewhere())
  })
})

describe.skipIf(CHROMIUM === undefined)('a page with a rebound DNS name', () => {
  it('gets 421 for every request, without any effect', async () => {
    const rows = await rowCounts(backend.dataDir)
    const port = portOf(backend.url)
    const page = await rebound('evil.example', port)
    const answers = await askAll(page, `http://evil.example:${port}`)
    expect(answers.length).toBeGreaterThan(80)
    for (const { path, status, text } of answers) {
      expect([path, status]).toEqual([path, 421])
      expect(text).not.toContain(SECRET_NAME)
    }
    await expectNothingHappened(rows)
    await page.close()
  })

  it('gets 421 with headers that claim another host too', async () => {
    const port = portOf(backend.url)
    const page = await rebound('evil.example', port)
    const statuses = await page.evaluate(async () => {
      const headers = [
        { 'x-forwarded-host': 'localhost' },
        { forwarded: 'host=localhost' },
        { 'x-original-host': 'localhost' },
        { 'x-host': 'localhost' },
      ]
      const answers = headers.map((one) => fetch('/metrics', { headers: one }).then(({ status }) => status))
      return Promise.all(answers)
    })
    expect(statuses).toEqual([421, 421, 421, 421])
    await page.close()
  })

  it('cannot load on the port of the chain’s node', async () => {
    const page = await browser.newPage()
    await expect(page.goto(`http://node.evil.example:${node.port}/`)).rejects.toThrow(/ERR_UNSAFE_PORT/)
    await page.close()
    await expectNodeOutOfReach(await rebound('evil.example', portOf(backend.url)))
  })
})

describe.skipIf(CHROMIUM === undefined)('a stored file with a script in it', () => {
  const SCRIPT = "fetch('/metrics?ran'); new Image().src = '/healthz?ran'"
  const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="${SCRIPT}"><script>${SCRIPT}</script><foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="/healthz?ran"/></foreignObject></svg>`
  const HTML = `<!doctype html><body onload="${SCRIPT}"><script>${SCRIPT}</script><img src="/healthz?ran"><form action="/healthz"><input name="ran"></form>`

  /** The URLs that it requests when it is opened. */
  async function gets(open: (page: Page) => Promise<unknown>): Promise<string[]> {
    const page = await browser.newPage()
    const requests: string[] = []
    page.on('response', (answer) => requests.push(answer.url()))
    await open(page)
    await page.waitForTimeout(300)
    await page.close()
    return requests.filter((url) => url.includes('ran'))
  }

  it.each([
    ['an SVG', 'image/svg+xml', SVG],
    ['a page', 'text/html', HTML],
  ])('%s runs no code, though it shares an origin with the backend', async (_what, contentType, content) => {
    const form = new FormData()
    form.append('file', new Blob([content], { type: contentType }), 'art')
    const headers = { 'x-api-key': backend.apiKey.reveal() }
    const stored = await fetch(`${backend.url}/api/v1/files`, { method: 'POST', headers, body: form })
    const cid = ((await stored.json()) as { url: string }).url.replace('ipfs://', '')
    const served = await backend.get(`/ipfs/${cid}`)
    expect(served.headers.get('content-type')).toContain(contentType)
    expect(await gets((page) => page.goto(`${backend.url}/ipfs/${cid}`))).toEqual([])
    // Without its policy, the script runs.
    const bare = await gets(async (page) => {
      const url = `${backend.url}/bare`
      await page.route(url, (route) => route.fulfill({ contentType, body: content }))
      await page.goto(url)
    })
    expect(bare.length).toBeGreaterThan(0)
  })
})

describe.skipIf(CHROMIUM === undefined)('assumptions of these tests', () => {
  it('the node itself executes every call, for any Host header', async () => {
    const before = await balance()
    const status = await new Promise<number>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', host: 'evil.example' }
      const sent = request({ ...node, method: 'POST', headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      sent.on('error', reject)
      sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_setBalance', params: [RICH, '0x1'] }))
    })
    expect([before, status, await balance()]).toEqual(['0xd3c21bcecceda1000000', 200, '0x1'])
  })

  it('a page from this machine, such as an app in development, may send transactions', async () => {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`)
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: ['0x02'] }
    const answer = await page.evaluate(
      async ([url, body]) => {
        const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
        return (await response.json()) as { error?: object }
      },
      [`${backend.url}/rpc/polygon`, JSON.stringify(call)] as const,
    )
    expect(answer.error).toMatchObject({ code: expect.any(Number) })
    await page.close()
  })
})

async function expectNodeOutOfReach(page: Page): Promise<void> {
  const rows = await rowCounts(backend.dataDir)
  const reached = await page.evaluate(
    async ([host, port, body]) => {
      const outcomes: string[] = []
      for (const name of [host, 'node.evil.example']) {
        for (const type of ['application/json', 'text/plain']) {
          for (const mode of ['cors', 'no-cors'] as const) {
            const init = { method: 'POST', mode, headers: { 'content-type': type }, body }
            await fetch(`http://${name}:${port}/`, init).then(
              ({ status }) => outcomes.push(`fetch ${name} ${type} ${mode}: ${status}`),
              () => {},
            )
          }
        }
        await new Promise<void>((done) => {
          try {
            const socket = new WebSocket(`ws://${name}:${port}/`)
            socket.onopen = () => {
              outcomes.push(`WebSocket ${name}`)
              socket.send(body)
            }
            socket.onmessage = ({ data }) => done(void outcomes.push(String(data)))
            socket.onerror = () => done()
          } catch {
            done()
          }
        })
      }
      return outcomes
    },
    [
      node.host,
      node.port,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_setBalance', params: [RICH, '0x1'] }),
    ] as const,
  )
  expect(reached).toEqual([])
  await expectNothingHappened(rows)
  await page.close()
}
