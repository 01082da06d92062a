import { chmod, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { parseTransaction, serializeTransaction, type TransactionSerializable, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { GdnError } from '../../../../src/core/errors.ts'
import { createSigner } from '../../../../src/server/chain/evm/create-signer.ts'
import {
  type Signer,
  toViemTransaction,
  type UnsignedTransaction,
} from '../../../../src/server/chain/evm/evm-signer.ts'
import type { Hex } from '../../../../src/server/chain/evm/network.ts'
import { openRemoteSigner } from '../../../../src/server/chain/evm/remote-signer/open-remote-signer.ts'
import type { RemoteSignerEntry } from '../../../../src/server/settings/signer-schema.ts'
import { whenFileDone } from '../../../helpers/clean-up.ts'
import { type HttpServer, type Reply, startHttpServer, startTcpServer } from '../../../helpers/http-server.ts'
import { type PublicNetwork, startPublicNetwork } from '../../../helpers/public-network.ts'
import { CERTIFIED, SELF_SIGNED, SELF_SIGNED_TOO } from '../../../helpers/self-signed.ts'
import { temporaryFolder } from '../../../helpers/temporary-folder.ts'

const KEY = generatePrivateKey()
const account = privateKeyToAccount(KEY)
const stranger = privateKeyToAccount(generatePrivateKey())
const TOKEN = 'a-token-of-the-signer-service-0123456789'
const PATH = '/v1/key-in-the-path-0123456789abcdef/sign'

const FEES = { maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 2_000_000_000n }
const CALL: UnsignedTransaction = {
  chainId: 137,
  nonce: 7,
  to: stranger.address,
  data: '0xdeadbeef',
  gas: 300_000n,
  fees: FEES,
}
const LEGACY: UnsignedTransaction = {
  ...CALL,
  fees: { maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 30_000_000_000n, legacy: true },
}
const DEPLOYMENT: UnsignedTransaction = { ...CALL, to: null, data: `0x${'60'.repeat(3000)}` }
const FORMS = [
  ['a call', CALL],
  ['a deployment', DEPLOYMENT],
  ['a call before EIP-1559', LEGACY],
  ['the first transaction of a key', { ...CALL, nonce: 0 }],
] as const

const servers: { close(): Promise<void> }[] = []
const opened: Signer[] = []
let folder: string

beforeAll(async () => {
  folder = await temporaryFolder('gdn-signer-', whenFileDone)
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((signer) => signer.close?.()))
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

async function file(name: string, text: string, mode = 0o600): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text, { mode })
  return path
}

type More = Partial<RemoteSignerEntry> & { timeoutMs?: number; now?: () => number }

function open(url: string, { timeoutMs = 3000, now, ...entry }: More = {}): Required<Signer> {
  const options = { credentialsDirectory: folder, timeoutMs, ...(now === undefined ? {} : { now }) }
  const signer = openRemoteSigner({ remote_signer: url, address: account.address, ...entry }, options)
  opened.push(signer)
  return signer
}

/** A signer that replies as scripted, at a path that has to stay secret. */
async function serve(reply: Reply | ((body: { method: string; params: unknown[] }) => Reply | Promise<Reply>)) {
  const server: HttpServer = await startHttpServer(async ({ body }) =>
    typeof reply === 'function' ? await reply(JSON.parse(body.toString())) : reply,
  )
  servers.push(server)
  return server
}

const result = (value: unknown): Reply => ({ json: { jsonrpc: '2.0', id: 1, result: value } })

async function failureOf(promise: Promise<unknown>): Promise<GdnError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(GdnError)
  const { message, hint = '', cause } = error as GdnError
  const all = [message, hint, String(cause), (cause as Error | undefined)?.stack ?? ''].join('\n')
  for (const secret of [TOKEN, 'key-in-the-path', '/v1/']) expect(all).not.toContain(secret)
  return error as GdnError
}

/** Signs the requested transaction with some fields changed. */
const signed = (changes: object = {}, { of = CALL, by = account } = {}): Promise<Hex> =>
  by.signTransaction({ ...toViemTransaction(of), ...changes } as TransactionSerializable)

describe('a real signer, anvil', () => {
  let anvil: PublicNetwork
  let address: Hex
  beforeAll(async () => {
    anvil = await startPublicNetwork([], { accounts: 1 })
    address = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80').address
  })
  afterAll(() => anvil.close())

  it.each(FORMS)('signs %s as the key itself does', async (_, transaction) => {
    const signer = open(anvil.url, { address })
    const local = createSigner('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
    expect(await signer.sign(transaction)).toEqual(await local.sign(transaction))
  })

  it('has the key of its account, and no other', async () => {
    expect(await open(anvil.url, { address }).check()).toMatch(/^127\.0\.0\.1:\d+ has the key of 0xf39F/)
    expect(await failureOf(open(anvil.url).check())).toMatchObject({ code: 'invalid_config' })
  })

  it('refuses another chain with its own reason', async () => {
    const error = await failureOf(open(anvil.url, { address }).sign({ ...CALL, chainId: 8453 }))
    expect(error).toMatchObject({ code: 'refused' })
    expect(error.message).toMatch(/refused eth_signTransaction: .*8453/)
  })
})

describe('a request', () => {
  it('has every field, the token, and hex quantities', async () => {
    const raw = await signed()
    const { url, seen } = await serve(result(raw))
    const token_file = await file('token', `${TOKEN}\n`)
    expect(await open(url + PATH, { token_file }).sign(CALL)).toMatchObject({ raw })
    expect(seen).toMatchObject([{ method: 'POST', path: PATH, headers: { authorization: `Bearer ${TOKEN}` } }])
    expect(JSON.parse(seen[0]?.body.toString() ?? '')).toMatchObject({
      jsonrpc: '2.0',
      method: 'eth_signTransaction',
      params: [
        {
          from: account.address,
          to: stranger.address,
          nonce: '0x7',
          gas: '0x493e0',
          maxFeePerGas: '0x6fc23ac00',
          maxPriorityFeePerGas: '0x77359400',
          value: '0x0',
          data: '0xdeadbeef',
          chainId: '0x89',
        },
      ],
    })
  })

  it('accepts the bytes in an object, as geth returns them', async () => {
    const raw = await signed()
    const { url } = await serve(result({ raw, tx: { nonce: '0x7' } }))
    expect(await open(url).sign(CALL)).toMatchObject({ raw })
  })

  it('has the token that is in the file at that time', async () => {
    const raw = await signed()
    const { url, seen } = await serve(result(raw))
    const token_file = await file('replaced', TOKEN)
    const signer = open(url, { token_file })
    await signer.sign(CALL)
    await file('replaced', 'another-token-after-a-rotation')
    await signer.sign(CALL)
    expect(seen[1]?.headers.authorization).toBe('Bearer another-token-after-a-rotation')
  })

  it('has the token of a credential', async () => {
    const { url, seen } = await serve(result(await signed()))
    await file('signer-token', TOKEN)
    await open(url, { token_credential: 'signer-token' }).sign(CALL)
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`)
  })

  it('goes to the signer itself, not to a proxy', async () => {
    const proxy = await serve({ status: 502 })
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY']) {
      const before = process.env[name]
      process.env[name] = proxy.url
      onTestFinished(() => {
        if (before === undefined) delete process.env[name]
        else process.env[name] = before
      })
    }
    const { url } = await serve(result(await signed()))
    await open(url).sign(CALL)
    expect(proxy.seen).toEqual([])
  })
})

describe('what comes back is rejected', () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const withHighS = async () => {
    const { r, s, yParity } = parseTransaction(await signed())
    if (r === undefined || s === undefined || yParity === undefined) throw new Error('not signed')
    const other = { r, s: toHex(order - BigInt(s)), yParity: 1 - yParity }
    return serializeTransaction(toViemTransaction(CALL) as TransactionSerializable, other)
  }
  const accessList = [{ address: account.address, storageKeys: [] }]

  it.each<[string, UnsignedTransaction, () => unknown, RegExp]>([
    ['nonce', CALL, () => signed({ nonce: 8 }), /its nonce is 8 instead of 7/],
    ['chain', CALL, () => signed({ chainId: 1 }), /its chain ID is 1 instead of 137/],
    ['receiver', CALL, () => signed({ to: account.address }), /its receiver is 0x\w{40} instead of 0x/],
    ['receiver, which is missing,', CALL, () => signed({ to: null }), /its receiver is none instead of 0x/],
    [
      'receiver of a deployment',
      DEPLOYMENT,
      () => signed({ to: account.address }, { of: DEPLOYMENT }),
      /instead of none/,
    ],
    ['value', CALL, () => signed({ value: 1n }), /its value is 1 instead of 0/],
    ['data', CALL, () => signed({ data: '0xdeadbeee' }), /its data is 0xdeadbeee instead of 0xdeadbeef/],
    ['end of long data', DEPLOYMENT, () => signed({ data: `${DEPLOYMENT.data}00` }, { of: DEPLOYMENT }), /its data is/],
    ['gas', CALL, () => signed({ gas: 300_001n }), /its gas is 300001 instead of 300000/],
    ['fee', CALL, () => signed({ maxFeePerGas: 30_000_000_001n }), /its maxFeePerGas is 30000000001/],
    ['priority fee', CALL, () => signed({ maxPriorityFeePerGas: 1n }), /its maxPriorityFeePerGas is 1 instead/],
    ['access list', CALL, () => signed({ accessList }), /its access list is 1 instead of 0/],
    ['type', CALL, () => signed({}, { of: LEGACY }), /its type is legacy instead of eip1559/],
    ['signer', CALL, () => signed({}, { by: stranger }), /it is signed by 0x\w+ instead of 0x/],
    ['gas price', LEGACY, () => signed({ gasPrice: 1n }, { of: LEGACY }), /its gasPrice is 1 instead of 30000000000/],
    ['chain, which is missing,', LEGACY, () => signed({ chainId: undefined }, { of: LEGACY }), /its chain ID is 0/],
    ['form of the signature', CALL, withHighS, /its signature is not canonical/],
    ['end', CALL, async () => (await signed()).slice(0, -2), /can't be decoded|not canonical/],
    ['end, which is later,', CALL, async () => `${await signed()}00`, /can't be decoded|not canonical/],
    [
      'signature, which is missing,',
      CALL,
      () => serializeTransaction(toViemTransaction(CALL) as never),
      /it is not signed/,
    ],
    ['text, which is not hex,', CALL, () => '0x02zz', /it is not hex-encoded/],
    ['type of the response', CALL, () => 5, /it is not hex-encoded/],
    ['response, which is null,', CALL, () => null, /it is not hex-encoded/],
  ])('if the %s differs', async (_, transaction, answer, message) => {
    const { url } = await serve(result(await answer()))
    const error = await failureOf(open(url + PATH).sign(transaction))
    expect(error).toMatchObject({ code: 'bad_answer', hint: expect.stringContaining('Nothing was stored or sent.') })
    expect(error.message).toMatch(message)
    expect(error.message.length).toBeLessThan(400)
  })
})

describe('a signer that fails', () => {
  const ERROR = { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: `no \u001b[31mkey\u001b[0m ${TOKEN}` } }

  it.each<[string, Reply, string, RegExp]>([
    [
      'redirects',
      { status: 307, headers: { location: 'http://127.0.0.1:1/other' } },
      'bad_answer',
      /redirected the request/,
    ],
    ['rejects the token', { status: 401, text: TOKEN }, 'unauthorized', /rejected the credentials \(HTTP 401\)/],
    ['forbids the request', { status: 403, json: ERROR }, 'unauthorized', /rejected the credentials \(HTTP 403\)/],
    ['has an error', { json: ERROR }, 'refused', /refused eth_signTransaction: no {2}\[31mkey \[0m \[redacted\]$/],
    ['has an error without text', { json: { error: { message: { toString: 1 } } } }, 'refused', /: \{"toString":1\}$/],
    ['has an error with its status', { status: 400, json: ERROR }, 'refused', /refused eth_signTransaction: no/],
    ['has a page', { text: '<html>' }, 'bad_answer', /did not return a JSON-RPC response/],
    ['has no result', { json: { jsonrpc: '2.0', id: 1 } }, 'bad_answer', /did not return a JSON-RPC response/],
    ['has a list', { json: [] }, 'bad_answer', /did not return a JSON-RPC response/],
    ['is overloaded', { status: 503, text: 'busy' }, 'unreachable', /returned HTTP 503/],
    ['closes the connection', 'drop', 'unreachable', /does not respond \(/],
    ['returns too much', { text: 'x'.repeat(3_000_000) }, 'unreachable', /returned more than 2097152 bytes/],
  ])('and %s is named by its host', async (_, reply, code, message) => {
    const { url, seen } = await serve(reply)
    const error = await failureOf(open(url + PATH, { token_file: await file('token', TOKEN) }).sign(CALL))
    expect(error).toMatchObject({ code })
    expect(error.message).toMatch(message)
    expect(error.message).toContain(`the signer at ${new URL(url).host} `)
    expect(error.message).not.toContain('\u001b')
    expect(seen).toHaveLength(1)
  })

  it('is not waited for longer than its time, whether it is silent or its response has no end', async () => {
    const silent = await startTcpServer(() => {})
    const endless = await startTcpServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n')
      const drip = setInterval(() => socket.write(' '), 20)
      socket.on('close', () => clearInterval(drip))
    })
    servers.push(silent, endless)
    for (const { url } of [silent, endless]) {
      const error = await failureOf(open(url + PATH, { timeoutMs: 300 }).sign(CALL))
      expect(error.message).toMatch(/did not respond within 300 ms$/)
    }
  })

  it('is not asked again for a moment, which doubles until it signs', async () => {
    let works = false
    let time = 0
    const { url, seen } = await serve(async () => (works ? result(await signed()) : { status: 500 }))
    const signer = open(url, { now: () => time })
    expect(signer.problem()).toBeNull()
    for (const [at, requests] of [
      [0, 1],
      [999, 1],
      [1000, 2],
      [2999, 2],
      [3000, 3],
    ] as const) {
      time = at
      await failureOf(signer.sign(CALL))
      expect(seen).toHaveLength(requests)
      expect(signer.problem()).toMatch(/returned HTTP 500/)
    }
    time = 60_000
    expect(signer.problem()).toBeNull()
    works = true
    await signer.sign(CALL)
    works = false
    await failureOf(signer.sign(CALL))
    time += 1000
    expect(signer.problem()).toBeNull()
  })

  it('has no key of the account', async () => {
    const { url } = await serve(result([stranger.address, { toString: 1 }, null]))
    const error = await failureOf(open(url + PATH).check())
    expect(error.message).toMatch(`does not have the key of ${account.address}`)
  })

  it.each([['does not list its accounts', { json: { error: { code: -32_601, message: 'no such method' } } }]])(
    'passes the check if it %s',
    async (what, reply) => {
      const { url } = await serve(reply)
      expect(await open(url).check()).toBe(`${new URL(url).host} responds, but ${what}`)
    },
  )
})

describe('mutual TLS', () => {
  let server: ReturnType<typeof createServer>
  let url: string
  let names: string[]

  beforeAll(async () => {
    const options = { key: CERTIFIED.key, cert: CERTIFIED.cert, requestCert: true, ca: SELF_SIGNED.cert }
    server = createServer(options, async (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate()
      names.push(String(subject.CN))
      for await (const _ of request);
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: await signed() }))
    })
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    url = `https://localhost:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))
  beforeEach(() => {
    names = []
  })

  const client = async () => ({
    client_cert_file: await file('client.pem', SELF_SIGNED.cert, 0o644),
    client_key_file: await file('client-key.pem', SELF_SIGNED.key),
  })
  const authority = async () => ({ ca_file: await file('ca.pem', CERTIFIED.authority, 0o644) })

  it('identifies both sides', async () => {
    await open(url, { ...(await client()), ...(await authority()) }).sign(CALL)
    const { client_cert_file } = await client()
    await file('signer-key', SELF_SIGNED.key)
    await open(url, { client_cert_file, client_key_credential: 'signer-key', ...(await authority()) }).sign(CALL)
    expect(names).toEqual(['example.invalid', 'example.invalid'])
  })

  it('rejects a client without a certificate, and one with another', async () => {
    const other = {
      client_cert_file: await file('other.pem', SELF_SIGNED_TOO.cert),
      client_key_file: await file('other-key.pem', SELF_SIGNED_TOO.key),
    }
    for (const entry of [{}, other]) {
      expect(await failureOf(open(url + PATH, { ...entry, ...(await authority()) }).sign(CALL))).toMatchObject({
        code: 'unreachable',
      })
    }
    expect(names).toEqual([])
  })

  it('rejects a server of an unknown authority, even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    onTestFinished(() => {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    })
    const error = await failureOf(open(url + PATH, await client()).sign(CALL))
    expect(error.message).toMatch(/does not respond \(unable to (get local issuer|verify the first) certificate\)/)
    expect(names).toEqual([])
  })

  it('names the file that has no certificate, no key, or another one, or that others may read', async () => {
    const good = await client()
    const broken = await file('broken.pem', 'nothing')
    const encrypted = await file('encrypted.pem', SELF_SIGNED_TOO.encryptedKey)
    const others = await file('others.pem', SELF_SIGNED_TOO.key)
    const loose = join(folder, 'loose.pem')
    await writeFile(loose, SELF_SIGNED.key)
    await chmod(loose, 0o644)
    for (const [entry, at, message] of [
      [{ ...good, client_cert_file: broken }, broken, /has no certificate in PEM format/],
      [{ ...good, client_key_file: broken }, broken, /has no unencrypted private key/],
      [{ ...good, client_key_file: encrypted }, encrypted, /has no unencrypted private key/],
      [{ ...good, client_key_file: others }, others, /is not the key of .*client\.pem/],
      [{ ...good, client_key_file: loose }, loose, /contains a secret, but others can read or change it/],
      [{ ...good, ca_file: broken }, broken, /has no certificate in PEM format/],
      [{ ...good, ca_file: join(folder, 'missing') }, join(folder, 'missing'), /can't be read/],
      [{ token_file: join(folder, 'missing') }, join(folder, 'missing'), /doesn't exist/],
      [{ token_file: await file('two-lines', 'a\nb') }, join(folder, 'two-lines'), /must be one line of text/],
      [{ token_file: await file('spaces', 'Bearer abc') }, join(folder, 'spaces'), /must be a token without spaces/],
      [{ token_file: loose }, loose, /contains a secret, but others can read or change it/],
    ] as const) {
      expect(() => open(url, entry)).toThrow(
        expect.objectContaining({ message: expect.stringMatching(message), place: { file: at } }),
      )
    }
  })
})
