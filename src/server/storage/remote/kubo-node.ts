import { CarWriter } from '@ipld/car/writer'
import type { CID } from 'multiformats/cid'
import { GdnError } from '../../../core/errors.ts'
import { isObject, parseJson } from '../../../core/json.ts'
import { type MultipartForm, multipartForm } from '../../../core/multipart-form.ts'
import { redactText } from '../../../core/redact.ts'
import type { Secret } from '../../../core/secret.ts'
import { parseCid } from '../../../ipfs/cid.ts'
import { StorageUnavailableError } from '../adapter.ts'
import type { NodeBlocks, RemoteFiles } from './remote-files.ts'
import { collectBody, openStorageClient, type StorageResponse, type StorageTextResponse } from './storage-client.ts'

export interface KuboNodeOptions {
  /** The URL of the node's RPC API, without a trailing slash, such as `http://127.0.0.1:5001`. */
  api: string
  /** Returns the value of the Authorization header. Called for each request. Null if the node requires none. */
  authorization: (() => Secret) | null
  userAgent: string
}

/**
 * The standard parameters of `ipfs add` for CIDs of version 1. They are set explicitly, because the node's
 * configuration may differ.
 */
const ADD = 'add?cid-version=1&raw-leaves=true&chunker=size-262144&hash=sha2-256&trickle=false&pin=true&progress=false'

/**
 * Opens an IPFS node with Kubo's RPC API. All content of the node can be read, including content that others stored.
 */
export function openKuboNode(options: KuboNodeOptions): RemoteFiles {
  const node = openRpc(options)
  const { name, ask } = node
  return {
    place: 'ipfs',
    name,

    async check() {
      const [version] = await ask('version')
      if (typeof version?.Version !== 'string') throw kuboError(name, { status: 200, body: Buffer.alloc(0) })
    },

    async put(cid, content) {
      const form = multipartForm({ size: content.size, open: () => content.read(0, content.size) }, 'file')
      const returned = (await ask(ADD, form)).at(-1)?.Hash
      const theirs = typeof returned === 'string' ? parseCid(returned) : null
      if (theirs?.equals(cid)) return
      throw new GdnError(
        'bad_answer',
        `${name} returned a different CID for a file: ${String(returned)} instead of ${cid}`,
        {
          hint: 'Use a Kubo node: other implementations may create other CIDs.',
        },
      )
    },

    async *read(cid, start, end) {
      const { status, body } = await node.open(`cat?arg=${cid}&offset=${start}&length=${end - start}`)
      if (status !== 200) throw kuboError(name, { status, body: await collectBody(body, MAX_BLOCK_RESPONSE_BYTES) })
      yield* body
    },

    nodeBlocks: createNodeBlocks(node),
    problem: node.problem,
    close: node.close,
  }
}

type Rpc = ReturnType<typeof openRpc>

/** Opens the RPC API of a node. */
function openRpc({ api, authorization, userAgent }: KuboNodeOptions) {
  const name = `the IPFS node ${new URL(api).host}`
  const client = openStorageClient(name, userAgent)

  /** Returns the options of a request. All requests of this API are POST requests. */
  const call = (path: string, form?: MultipartForm) => {
    const headers: Record<string, string> = {}
    if (authorization !== null) headers.authorization = authorization().reveal()
    if (form !== undefined) headers['content-type'] = form.contentType
    return { method: 'POST' as const, url: `${api}/api/v0/${path}`, headers, body: form?.body }
  }

  return {
    name,
    problem: client.problem,
    close: client.close,
    open: async (path: string): Promise<StorageResponse> => await client.open(call(path)),

    /** Returns the objects in a response. */
    async ask(path: string, form?: MultipartForm): Promise<Json[]> {
      const response = await client.ask(async () => call(path, form))
      if (response.status !== 200) throw kuboError(name, response)
      return parseJsonLines(response.body)
    },
  }
}

function kuboError(name: string, { status, body }: Pick<StorageTextResponse, 'status' | 'body'>): GdnError {
  const details = { status }
  if (status === 401 || status === 403) {
    return new GdnError('forbidden', `${name} rejected the request: it requires authorization (${status})`, {
      hint: 'Check storage.auth_file, and API.Authorizations of the node.',
      details,
    })
  }
  const message = parseMessage(body)
  if (message !== null) return new StorageUnavailableError(`${name} failed: ${message}`, { details })
  return new GdnError('bad_answer', `${name} did not respond like the RPC API of an IPFS node (${status})`, {
    hint: 'Set storage.api to the URL of the RPC API of a Kubo node, usually http://127.0.0.1:5001.',
    details,
  })
}

function createNodeBlocks({ name, ask, open }: Rpc): NodeBlocks {
  return {
    async block(cid) {
      // Read only local content, because the node would otherwise search the whole network for minutes.
      const response = await open(`block/get?arg=${cid}&offline=true`)
      const body = await collectBody(response.body, MAX_BLOCK_RESPONSE_BYTES)
      if (response.status === 200) return body
      if (/not found|blockstore/i.test(parseMessage(body) ?? '')) return null
      throw kuboError(name, { status: response.status, body })
    },

    async pin(cid) {
      await ask(`pin/add?arg=${cid}&recursive=true&progress=false`)
    },

    async publish(roots, blocks) {
      const car = await buildCar(roots, blocks)
      const form = multipartForm({ size: car.length, open: () => onePiece(car) }, 'file')
      const lines = await ask('dag/import?pin-roots=true&allow-big-block=true&stats=false', form)
      const problems = new Map(lines.flatMap((each) => parsePinnedRoot(each)))
      for (const root of roots) {
        const problem = problems.get(root.toString())
        if (problem === '') continue
        throw new StorageUnavailableError(`${name} did not pin ${root}: ${problem ?? 'it returned no reason'}`)
      }
    },

    async addresses() {
      const [id] = await ask('id')
      return Array.isArray(id?.Addresses) ? id.Addresses.filter((each) => typeof each === 'string') : []
    },
  }
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function buildCar(roots: readonly CID[], blocks: readonly { cid: CID; bytes: Uint8Array }[]): Promise<Buffer> {
  const { writer, out } = CarWriter.create([...roots])
  const parts: Uint8Array[] = []
  const collecting = (async () => {
    for await (const part of out) parts.push(part)
  })()
  for (const block of blocks) await writer.put(block)
  await writer.close()
  await collecting
  return Buffer.concat(parts)
}

/** Maximum size of a response with a block, in bytes. The limit is larger than any block on the IPFS network. */
const MAX_BLOCK_RESPONSE_BYTES = 4 * 2 ** 20

type Json = Record<string, unknown>

/** Parses lines of JSON objects. Omits other lines. */
function parseJsonLines(body: Buffer): Json[] {
  return body.toString('utf8').split('\n').map(parseJson).filter(isObject)
}

function parseMessage(body: Buffer): string | null {
  const message = parseJsonLines(body).at(-1)?.Message
  return typeof message === 'string' ? redactText(message).slice(0, 200) : null
}

/**
 * Returns the CID of a root, and the error that prevented its pin. The error is an empty string if the root was pinned.
 */
function parsePinnedRoot({ Root }: Json): [string, string][] {
  if (Root === null || typeof Root !== 'object') return []
  const { Cid, PinErrorMsg } = Root as { Cid?: { '/'?: unknown }; PinErrorMsg?: unknown }
  const text = Cid?.['/']
  const cid = typeof text === 'string' ? parseCid(text) : null
  return cid === null ? [] : [[cid.toString(), typeof PinErrorMsg === 'string' ? PinErrorMsg : '']]
}
