import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as AWS Signature Version 4 sees it. */
export interface SignedRequest {
  method: string
  /** Path and query, as they travelled. */
  url: string
  headers: Record<string, string>
}

export interface S3Object {
  body: Buffer
  contentType: string
}

interface Refusal {
  status: number
  code?: string
  headers?: Record<string, string>
}

export interface S3StandIn {
  /** Where it listens, as an endpoint. */
  url: string
  /** By bucket and key. */
  objects: Map<string, S3Object>
  /** Methods and paths of all requests. */
  seen: string[]
  /** Answers the next ones instead; null lets them through. */
  answer: (request: IncomingMessage) => Refusal | null
  close(): Promise<void>
}

export const S3_KEYS = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** The signature that a request must have (AWS, "Signature Calculations for the Authorization Header"). */
export function signatureOf({ method, url, headers }: SignedRequest, secret: string): string {
  const { credential, signedHeaders } = readAuthorization(headers.authorization ?? '')
  const [, date = '', region = '', service = ''] = credential.split('/')
  const [path = '', query = ''] = url.split('?')
  const canonical = [
    method,
    path,
    query.split('&').sort().join('&'),
    ...signedHeaders.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders.join(';'),
    headers['x-amz-content-sha256'] ?? '',
  ].join('\n')
  const scope = `${date}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [region, service, 'aws4_request'].reduce(hmac, hmac(`AWS4${secret}`, date))
  return hmac(key, text).toString('hex')
}

export function readAuthorization(header: string) {
  const part = (name: string) => new RegExp(`${name}=([^,\\s]+)`).exec(header)?.[1] ?? ''
  return {
    credential: part('Credential'),
    signedHeaders: part('SignedHeaders').split(';'),
    signature: part('Signature'),
  }
}

/** A bucket server that lets in only what is signed right, and checks what arrives against its hash and checksum. */
export async function startS3(buckets: string[], { region = 'us-east-1', token = '' } = {}): Promise<S3StandIn> {
  const server = createServer(async (request, response) => {
    standIn.seen.push(`${request.method} ${request.url}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const refusal = standIn.answer(request) ?? refusalOf(request, body)
    if (refusal === null) handle(request, body, response)
    else refuse(response, refusal)
  })

  /** Why a request is not let in. */
  function refusalOf(request: IncomingMessage, body: Buffer): Refusal | null {
    const headers = headersOf(request)
    const { method = '', url = '' } = request
    const { credential, signedHeaders, signature } = readAuthorization(headers.authorization ?? '')
    if (credential.split('/')[0] !== S3_KEYS.accessKeyId) return { status: 403, code: 'InvalidAccessKeyId' }
    if (credential.split('/')[2] !== region) {
      return { status: 400, code: 'AuthorizationHeaderMalformed', headers: { 'x-amz-bucket-region': region } }
    }
    const expected = Buffer.from(signatureOf({ method, url, headers }, S3_KEYS.secret))
    const needed = ['host', 'x-amz-date', 'x-amz-content-sha256', ...(token === '' ? [] : ['x-amz-security-token'])]
    if (
      signature.length !== expected.length ||
      !timingSafeEqual(Buffer.from(signature), expected) ||
      !needed.every((name) => signedHeaders.includes(name)) ||
      (headers['x-amz-security-token'] ?? '') !== token
    ) {
      return { status: 403, code: 'SignatureDoesNotMatch' }
    }
    if (sha256(body) !== headers['x-amz-content-sha256']) return { status: 400, code: 'XAmzContentSHA256Mismatch' }
    const checksum = createHash('sha256').update(body).digest('base64')
    if (method === 'PUT' && headers['x-amz-checksum-sha256'] !== checksum) return { status: 400, code: 'BadDigest' }
    return buckets.includes(url.split('/')[1] ?? '') ? null : { status: 404, code: 'NoSuchBucket' }
  }

  function handle(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const key = decodeURIComponent(request.url ?? '').slice(1)
    if (request.method === 'PUT') {
      standIn.objects.set(key, { body, contentType: request.headers['content-type'] ?? '' })
      response.writeHead(200, { etag: '"x"' }).end()
      return
    }
    const object = standIn.objects.get(key)
    if (object === undefined) refuse(response, { status: 404, code: 'NoSuchKey' })
    else {
      response.writeHead(200, { 'content-type': object.contentType, 'content-length': object.body.length })
      response.end(request.method === 'HEAD' ? undefined : object.body)
    }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const standIn: S3StandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects: new Map(),
    seen: [],
    answer: () => null,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return standIn
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

function refuse(response: ServerResponse, { status, code = '', headers = {} }: Refusal): void {
  const text = code === '' ? '' : `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`
  response.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(text)
}
