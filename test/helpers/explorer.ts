import type { TestBackend } from './backend.ts'

/** A response of the explorer. */
export interface Seen {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the tests assert the shape of the response
  json: any
}

/** Requests a path below `/explorer/`. */
export async function look(backend: Pick<TestBackend, 'get'>, path: string, headers = {}): Promise<Seen> {
  const response = await backend.get(`/explorer/${path}`, headers)
  const text = await response.text()
  return { status: response.status, headers: response.headers, json: text === '' ? null : JSON.parse(text) }
}

/** Returns its JSON. Any status except 200 is an error. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export async function show(backend: Pick<TestBackend, 'get'>, path: string, headers = {}): Promise<any> {
  const { status, json } = await look(backend, path, headers)
  if (status !== 200) throw new Error(`/explorer/${path} answered ${status}: ${JSON.stringify(json)}`)
  return json
}

/** Stores a file and returns its ipfs URL. */
export async function store(
  backend: Pick<TestBackend, 'url' | 'apiKey'>,
  content: Uint8Array | string,
  headers: Record<string, string> = { 'x-api-key': backend.apiKey.reveal() },
): Promise<string> {
  const body = new FormData()
  body.set('file', new Blob([typeof content === 'string' ? content : Buffer.from(content)]), 'anything.exe')
  const response = await fetch(`${backend.url}/api/v1/files`, { method: 'POST', headers, body })
  const json = (await response.json()) as { url?: string }
  if (json.url === undefined) throw new Error(`the upload answered ${response.status}: ${JSON.stringify(json)}`)
  return json.url
}

/** The beginning of a PNG of this size, enough to be recognized. */
export function png(width: number, height: number, salt = ''): Uint8Array {
  const head = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  const size = Buffer.alloc(8)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  return Buffer.concat([head, size, Buffer.from('0806000000', 'hex'), Buffer.from(salt)])
}
