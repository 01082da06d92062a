import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { WALLET_CREATE_PATH } from '../../../src/api/endpoints/getpresignedurl.ts'
import { SELF_SIGNED } from '../self-signed.ts'
import { spellingsOf } from './spellings.ts'

/** Faults of a response. Each includes all secrets of the request where possible. */
export const SERVER_FAULTS = [
  'reset',
  'hang',
  '401',
  '403',
  '429',
  '500',
  'form-b',
  'html',
  'malformed',
  'redirect',
  'wrong-contract',
  'echo-in-success',
  'echo-in-headers',
] as const
export type ServerFault = (typeof SERVER_FAULTS)[number]

/** The plan for one run of gdn, which is identified by its API key. */
export interface Plan {
  fault: ServerFault | null
  /** Number of normal responses before the fault. */
  after: number
  /** A private key with its address, and a signature, that the server returns. */
  privateKey: string
  address: string
  signature: string
  /** The key in the URL of the run's Ethereum node. */
  rpcKey: string
  /** The URL of the server. */
  url: string
  /** The receiver of the run's transfer. */
  newOwner?: string | undefined
  /** Names of the called endpoints, in order. `rpc` is the Ethereum node. */
  calls: string[]
  random: () => number
}

export interface EchoServer {
  url: string
  /** A TLS URL with an untrusted certificate. */
  tlsUrl: string
  /** A proxy that receives a password and returns it in its rejection. */
  proxyUrl(user: string, password: string, kind: 'refuses' | 'hangs-up'): string
  /** Plans by API key. */
  plans: Map<string, Plan>
  close(): Promise<void>
}

const SIGNED = 'expiry=4000000000&issued_at=1&action=generate_wallet&issuer=a%40example.com'
const OWNER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'

/** Part of the URL of a storage that accepts uploads. Any other storage rejects them. */
export const ACCEPTING = 'accepting'

interface Metadata {
  title?: string
  description?: string
}

interface Body {
  nft_gdn_ids?: string | string[]
  transaction_gdn_ids?: string[]
  metadata?: Metadata | Metadata[]
  receiver_wallet_address?: string
  [field: string]: unknown
}

/** Metadata of the NFTs that the runs minted, by ID. */
const minted = new Map<string, Metadata>()

const nft = (id: string, owner = OWNER) => ({
  nft_gdn_id: id,
  token_id: '1',
  contract_address: CONTRACT,
  receiver_wallet_address: owner,
  status: 'deployed',
  request_metadata: { title: `NFT ${id}`, description: '', file_fields: [], ...minted.get(id) },
  metadata_url: 'https://files.example.com/1.json',
})

const date = () => new Date().toISOString().slice(0, 19).replace('T', ' ')

function mintAll(body: Body) {
  const nfts = [body.metadata ?? []].flat().map((metadata) => {
    const id = randomUUID()
    minted.set(id, metadata)
    return { nft_gdn_ids: id, accepted_date: date() }
  })
  return { message: 'ok', requests: body, nfts }
}

const listOf = (ids: string | string[] | undefined) => (typeof ids === 'string' ? [ids] : (ids ?? []))

const ANSWERS: Record<string, (body: Body, plan: Plan) => unknown> = {
  createcollection: (body) => ({
    requests: body,
    request: body,
    response: { transaction_gdn_id: randomUUID(), accepted_date: date() },
  }),
  getcollections: (body) => ({
    requests: body,
    collections: listOf(body.transaction_gdn_ids).map((id) => ({
      transaction_gdn_ids: id,
      contract_address: CONTRACT,
      name: 'Tide',
      blockchain: 'polygon',
      wallet_address: OWNER,
      status: 'deployed',
    })),
  }),
  createnft: mintAll,
  createnfttrans: mintAll,
  transfernft(body, plan) {
    plan.newOwner = body.receiver_wallet_address
    return { requests: body, request: body, response: { transaction_gdn_id: randomUUID(), accepted_date: date() } }
  },
  getnfts: (body, { newOwner }) => ({
    requests: body,
    nfts: listOf(body.nft_gdn_ids).map((id) => nft(id, newOwner)),
  }),
  getnftgdnids: ({ contract_addresses, ...body }) => ({
    requests: { contract_address: contract_addresses, ...body },
    nft_gdn_ids: ['a', 'b'],
  }),
  getisgdnnft: ({ nft_gdn_ids, ...body }) => ({
    requests: { nft_gdn_id: nft_gdn_ids, ...body },
    response: { isgdnnft: true, nft: nft('a') },
  }),
  getpresignedurl: ({ email }, { signature, url }) => ({
    request: { email, timeout: 60 },
    response: { url: `${url}${WALLET_CREATE_PATH}?${SIGNED}&signature=${signature}` },
  }),
  create: (_body, { privateKey, address }) => ({
    request: { expiry: 4_000_000_000, issued_at: 1, action: 'generate_wallet', issuer: 'a@example.com' },
    wallet: { address, private_key: privateKey },
  }),
}

/** Returns the number of calls of a run, without those of the Ethereum node. */
export const apiCalls = ({ calls }: Plan) => calls.filter((call) => call !== 'rpc').length

/** A server that implements the API. Its faults return everything that it received, in every spelling. */
export async function startEchoServer(): Promise<EchoServer> {
  const plans = new Map<string, Plan>()
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const requestText = Buffer.concat(chunks).toString('utf8')
    const signature = new URL(request.url ?? '', 'http://server').searchParams.get('signature')
    const plan =
      plans.get(String(request.headers['x-api-key'] ?? '')) ??
      [...plans.values()].find((each) => each.signature !== '' && each.signature === signature)
    const name = /^\/(?:api\/v1|v1\/wallet)\/(\w+)\/?(?:\?|$)/.exec(request.url ?? '')?.[1] ?? ''
    if (plan === undefined) {
      const url = request.url ?? ''
      for (const each of plans.values()) if (each.rpcKey !== '' && url.includes(each.rpcKey)) each.calls.push('rpc')
      if (url.startsWith(`/${ACCEPTING}/`)) return acceptUpload(request, Buffer.concat(chunks), response)
      return storageAnswer(request, requestText, response)
    }
    plan.calls.push(name)
    const fault = apiCalls(plan) > plan.after ? plan.fault : null
    const answer = ANSWERS[name]
    const good = answer === undefined ? null : answer(parse(requestText), plan)
    if (fault === null && requestText === '{}') return say(response, 422, formA('Invalid', 'fields are missing'))
    if (fault === null) return say(response, good === null ? 404 : 200, good ?? formA('Not Found', 'not here'))
    misbehave(fault, { request, response, sent: requestText, plan, good })
  })
  server.on('connection', keep)

  const tls = createTlsServer(SELF_SIGNED, (socket) => void socket.end())
  tls.on('connection', keep)
  tls.on('tlsClientError', () => {})

  const proxies = {
    refuses: createTcpServer((socket) => {
      keep(socket)
      socket.once('data', (head) => {
        const body = echo(head.toString('latin1'))
        const length = Buffer.byteLength(body)
        socket.end(
          `HTTP/1.1 407 Proxy says ${/authorization: (.*)\r/i.exec(head.toString())?.[1]}\r\ncontent-length: ${length}\r\n\r\n${body}`,
        )
      })
    }),
    'hangs-up': createTcpServer((socket) => {
      keep(socket)
      socket.once('data', () => socket.destroy())
    }),
  }

  const ports: number[] = []
  const all = [server, tls, proxies.refuses, proxies['hangs-up']]
  for (const each of all) {
    await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve))
    ports.push((each.address() as AddressInfo).port)
  }
  const [plain, secure, refusing, hangingUp] = ports
  return {
    url: `http://127.0.0.1:${plain}`,
    tlsUrl: `https://127.0.0.1:${secure}`,
    proxyUrl: (user, password, kind) =>
      `http://${user}:${encodeURIComponent(password)}@127.0.0.1:${kind === 'refuses' ? refusing : hangingUp}`,
    plans,
    async close() {
      for (const socket of sockets) socket.destroy()
      await Promise.all(all.map((each) => new Promise((resolve) => each.close(resolve))))
    },
  }
}

interface Misbehaviour {
  request: IncomingMessage
  response: ServerResponse
  sent: string
  plan: Plan
  good: unknown
}

function misbehave(fault: ServerFault, { request, response, sent, plan, good }: Misbehaviour): void {
  const said = echo(`${JSON.stringify(request.rawHeaders)} ${sent}`, String(request.headers['x-api-key'] ?? ''))
  // Secrets that only a field name identifies, because the client has never seen them.
  const named = {
    wallet: { address: OWNER, private_key: plan.privateKey },
    wallet_url: `https://wallet.example.com/v1/wallet/create?expiry=1&signature=${plan.signature}`,
  }
  const key = String(request.headers['x-api-key'] ?? '')
  const acts: Record<ServerFault, () => unknown> = {
    reset: () => request.socket.resetAndDestroy(),
    hang: () => {},
    401: () => say(response, 401, { ...formA('Unauthorized', said), ...named }),
    403: () => say(response, 403, { ...formA(said, 'no'), ...named }),
    429: () => say(response, 429, { ...formA('Too Many Requests', said), ...named }, { 'retry-after': '30' }),
    500: () => say(response, 500, { echo: said, ...named }),
    'form-b'() {
      const detail = [{ loc: ['body', said], msg: said, type: 'x' }]
      say(response, 422, { errorCode: said, message: said, detail })
    },
    html() {
      response.writeHead(502, { 'content-type': 'text/html' })
      // Random padding, so that truncating the message cuts a secret.
      response.end(`<html><body>${'.'.repeat(Math.floor(plan.random() * 90))}${said}</body></html>`)
    },
    malformed() {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...named, said }).slice(0, -2))
    },
    redirect() {
      const query = `key=${encodeURIComponent(key)}&signature=${plan.signature}`
      say(response, 302, {}, { location: `http://127.0.0.1:9/caught?${query}` })
    },
    'wrong-contract': () => say(response, 200, { said, nfts: [{ nft_gdn_ids: 7, said }], ...named }),
    'echo-in-success': () => say(response, 200, withEcho(good, said)),
    'echo-in-headers'() {
      const headers = { 'x-request-id': key, 'www-authenticate': `Bearer ${key}`, server: key, 'retry-after': '30' }
      say(response, 503, {}, headers)
    },
  }
  acts[fault]()
}

/** A valid response in which every free text of the server is replaced by what it received. */
function withEcho(good: unknown, said: string): unknown {
  return JSON.parse(
    JSON.stringify(good ?? {}, (name, value) =>
      typeof value === 'string' &&
      /^(?:nft_gdn_ids?|transaction_gdn_id|title|name|description|message|metadata_url|accepted_date|token_id)$/.test(
        name,
      )
        ? said
        : value,
    ),
  )
}

/** A text, and a secret in it in every spelling. */
function echo(text: string, secret = ''): string {
  return [text, ...(secret === '' ? [] : spellingsOf(secret).slice(0, -1).filter(isWhole(secret)))].join(' ')
}

/** Half a secret can't be distinguished from other text, and only this test would send it. */
const isWhole = (secret: string) => (spelling: Buffer) => {
  const text = spelling.toString()
  return !(text.length < secret.length && secret.includes(text))
}

/** A response of a storage, which is called without an API key. Its rejection contains what it received. */
function storageAnswer({ rawHeaders, url }: IncomingMessage, requestText: string, response: ServerResponse): void {
  const said = echo(`${url} ${rawHeaders.join(' ')} ${requestText.slice(0, 200)}`)
  response.writeHead(403, { 'content-type': 'application/xml' })
  response.end(`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>${said}</Message></Error>`)
}

/** Responds to an upload as S3 or a Kubo node does. */
function acceptUpload({ method, url = '' }: IncomingMessage, body: Buffer, response: ServerResponse): void {
  if (!url.includes('/api/v0/add?')) return void response.writeHead(method === 'PUT' ? 200 : 404).end()
  // The only part of a multipart body.
  const file = body.subarray(body.indexOf('\r\n\r\n') + 4, body.lastIndexOf('\r\n--'))
  say(response, 200, { Name: 'file', Hash: rawCid(file), Size: String(file.length) })
}

/** Returns the CIDv1 of a raw block. */
const rawCid = (file: Buffer) =>
  CID.createV1(0x55, Digest.create(0x12, createHash('sha256').update(file).digest())).toString()

const formA = (title: string, message: string) => ({ error: { title, message } })

function parse(text: string): Body {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function say(response: ServerResponse, status: number, json: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(json))
}
