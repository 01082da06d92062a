import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { announce, fakeApi } from './fake-api.ts'
import { type CliOptions, cli, tempHome } from './harness.ts'

const REFUSED = { status: 400, body: { error: { title: 'Bad Request', message: 'inconsistent' } } }
const env = { GDN_API_KEY: 'k' }

async function at(url: string, argv: string[], options: CliOptions = {}) {
  return await cli(['api', ...argv, '--base-url', url], { ...options, env: { ...options.env, ...env } })
}

describe('the endpoint', () => {
  test.each([['getnfts'], ['/api/v1/getnfts'], ['api/v1/getnfts/']])('accepts a name or a path: %s', async (word) => {
    const { url, calls } = await fakeApi({ getnfts: () => ({ body: { any: 'thing' } }) })
    const { code, stdout } = await at(url, [word])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"any":"thing"}\n' })
    expect(calls[0]).toMatchObject({ path: '/api/v1/getnfts', body: {} })
    expect(calls[0]?.headers).toMatchObject({ 'x-api-key': 'k' })
    expect(calls[0]?.headers['idempotency-key']).toBeUndefined()
  })

  test.each([
    ['getnft', 'Did you mean getnfts?'],
    ['nonsense', 'endpoints are createnft'],
    ['files', 'gdn nft mint'],
    ['https://evil.test/api/v1/getnfts', 'a URL is not an endpoint'],
    ['/api/../v1/x', 'unknown endpoint'],
    ['/api/v1/getnfts?x=1', 'unknown endpoint'],
    ['/v1/wallet/create', 'private key'],
    ['https://wallet.test/v1/create?signature=x', 'private key'],
    ['/api/v1/Wallet', 'private key'],
  ])('rejects %s before anything is sent', async (word, message) => {
    const { url, calls } = await fakeApi({})
    const { code, stderr, stdout } = await at(url, [word, '--yes'])
    expect({ code, stderr, stdout }).toMatchObject({ code: 2, stderr: expect.stringContaining(message), stdout: '' })
    expect(calls).toEqual([])
  })

  test('sends a request to an unknown endpoint once, with an idempotency key', async () => {
    const { url, calls } = await fakeApi({ newthing: () => ({ status: 503, body: { busy: true } }) })
    const { code, stdout } = await at(url, ['/api/v1/newthing', '--yes'])
    expect({ code, stdout }).toEqual({ code: 9, stdout: '{"busy":true}\n' })
    expect(calls).toHaveLength(1)
    expect(calls[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the request', () => {
  test('sends a file or standard input unchanged', async () => {
    const { url, calls } = await fakeApi({ getnfts: (_body, { headers }) => ({ body: headers['content-length'] }) })
    const text = '{"n": 9007199254740993,  "x": [1]}'
    const { stdout } = await at(url, ['getnfts', '-f', '-'], { stdin: text })
    expect(JSON.parse(stdout)).toBe(String(text.length))
    expect(calls).toHaveLength(1)
  })

  test('builds the body from text, JSON and list fields; fields override the file', async () => {
    const { url, bodies } = await fakeApi({ getnfts: () => ({ body: {} }) })
    const fields = ['a=x=y', 'b:={"c":1}', 'd[]=1', 'd[]:=2', 'e:=null'].flatMap((field) => ['--field', field])
    await at(url, ['getnfts', '-f', '-', ...fields], { stdin: '{"a":0,"d":[9],"z":1}' })
    expect(bodies('getnfts')).toEqual([{ a: 'x=y', b: { c: 1 }, d: ['1', 2], e: null, z: 1 }])
  })

  test.each([
    [['--field', 'a'], 'must be key=value'],
    [['--field', '=x'], 'must be key=value'],
    [['--field', 'a:={'], '--field'],
    [['--field', 'a=1', '--field', 'a=2'], 'specified twice'],
    [['--field', '__proto__=1'], 'is not a valid field name'],
    [['--field', 'a:={"__proto__":1}'], '__proto__'],
    [['-f', '/dev/zero'], 'not a regular file'],
    // Linux opens this file, but does not read its first bytes.
    [['-f', '/proc/self/mem'], process.platform === 'linux' ? "can't be read (EIO)" : "doesn't exist"],
    [['--idempotency-key', 'a b'], '--idempotency-key'],
  ])('rejects %j before anything is sent', async (argv, message) => {
    const { url, calls } = await fakeApi({})
    const { code, stderr } = await at(url, ['getnfts', ...argv])
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    expect(calls).toEqual([])
  })

  test('is printed and not sent with --dry-run', async () => {
    const { url, calls } = await fakeApi({})
    const { stdout } = await at(url, ['createnft', '--field', 'a=1', '--dry-run'])
    expect(JSON.parse(stdout)).toEqual({ method: 'POST', url: `${url}/api/v1/createnft`, body: { a: '1' } })
    expect(calls).toEqual([])
  })
})

describe('the response', () => {
  test.each([
    [400, 5],
    [401, 4],
    [403, 4],
    [422, 5],
  ])('prints an error response (%i) to stdout too, and the reason to stderr', async (status, code) => {
    const { url } = await fakeApi({ getnfts: () => ({ ...REFUSED, status }) })
    const result = await at(url, ['getnfts'])
    expect(result).toMatchObject({ code, stderr: expect.stringContaining('inconsistent') })
    expect(JSON.parse(result.stdout)).toEqual(REFUSED.body)
  })

  test('prints only JSON to stdout; an HTML response appears escaped in the error', async () => {
    const { url } = await fakeApi({})
    const { createServer } = await import('node:http')
    const html = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<html>\u001b[2J')
    })
    await new Promise<void>((resolve) => html.listen(0, '127.0.0.1', resolve))
    const address = html.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const { code, stdout, stderr } = await at(url.replace(/\d+$/, String(port)), ['getnfts'])
    html.close()
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' })
    expect(stderr).toContain('text/html')
    expect(stderr).not.toContain('\u001b')
  })

  test('is indented on a terminal, and one line with --json', async () => {
    const { url } = await fakeApi({ getnfts: () => ({ body: { a: [1] } }) })
    expect((await at(url, ['getnfts'], { tty: true })).stdout).toBe('{\n  "a": [\n    1\n  ]\n}\n')
    expect((await at(url, ['getnfts', '--json'], { tty: true })).stdout).toBe('{"a":[1]}\n')
  })
})

describe('requests that create something', () => {
  test('sends the request once and reports an unknown outcome on a 502', async () => {
    const { url, calls } = await fakeApi({ createnft: () => ({ status: 502, body: {} }) })
    const { code } = await at(url, ['createnft', '--idempotency-key', 'mine', '--yes'])
    expect(code).toBe(9)
    expect(calls.map(({ headers }) => headers['idempotency-key'])).toEqual(['mine'])
  })

  test('retries a read after a temporary error', async () => {
    let requestCount = 0
    const { url } = await fakeApi({
      getnfts: () => (++requestCount < 2 ? { status: 503, body: {} } : { body: { ok: 1 } }),
    })
    expect(await at(url, ['getnfts'])).toMatchObject({ code: 0, stdout: '{"ok":1}\n' })
  })

  test.each([
    ['a public network', 'polygon'],
    ['an unknown blockchain', 'mystery'],
    ['no blockchain', undefined],
  ])('requires --yes off a terminal before anything is sent: %s', async (_what, blockchain) => {
    const { dir } = await tempHome()
    const file = join(dir, 'request.json')
    await writeFile(file, JSON.stringify({ blockchain }))
    announce(null)
    const api = await fakeApi({ '*': () => ({ body: { ok: 1 } }) })
    const { code, stdout, stderr } = await at(api.url, ['createnft', '-f', file])
    expect({ code, stdout, stderr }).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('--yes') })
    expect(api.bodies('createnft')).toEqual([])
    expect(await at(api.url, ['createnft', '-f', file, '--yes'])).toMatchObject({ code: 0, stdout: '{"ok":1}\n' })
    expect(api.bodies('createnft')).toEqual([blockchain === undefined ? {} : { blockchain }])
  })

  test('needs no confirmation on a testnet', async () => {
    announce(null)
    const api = await fakeApi({ createnft: () => ({ body: { ok: 1 } }) })
    expect(await at(api.url, ['createnft', '--field', 'blockchain=polygon-mumbai'])).toMatchObject({ code: 0 })
    expect(api.bodies('createnft')).toEqual([{ blockchain: 'polygon-mumbai' }])
  })
})
