import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenLocally } from './http-server.ts'

/** The parts of a request that AWS Signature Version 4 signs. */
export interface SignedRequest {
  method: string
  /** Path and query as they were sent. */
  url: string
  headers: Record<string, string>
}

export interface S3Object {
  body: Buffer
  contentType: string
}

interface PartRequest {
  key: string
  body: Buffer
  uploadId: string | null
  number: string | null
}

interface Refusal {
  status: number
  code?: string
  headers?: Record<string, string>
}

export interface S3StandIn {
  /** Its URL, as an endpoint. */
  url: string
  /** Objects by bucket and key. */
  objects: Map<string, S3Object>
  /** Methods and paths of all requests. */
  seen: string[]
  /** Returns a response to reject a request with, or null to handle it. */
  answer: (request: IncomingMessage) => Refusal | null
  /** Transforms the content of an object before it is sent. */
  content: (bytes: Buffer) => Buffer
  /** Multipart uploads that are neither completed nor aborted. */
  uploads: Map<string, { key: string; begun: Date; contentType: string; parts: Map<number, Buffer> }>
  close(): Promise<void>
}

export const S3_KEYS = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** Returns the signature that a request must have (AWS, "Signature Calculations for the Authorization Header"). */
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

/** A bucket server that accepts only valid signatures, and verifies uploads against their hash and checksum. */
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

  /** Returns the reason to reject a request. */
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
    const whole = method === 'PUT' && !url.includes('partNumber=')
    if (whole && headers['x-amz-checksum-sha256'] !== checksum) return { status: 400, code: 'BadDigest' }
    return buckets.includes(url.split('/')[1] ?? '') ? null : { status: 404, code: 'NoSuchBucket' }
  }

  function handle(request: IncomingMessage, body: Buffer, response: ServerResponse) {
    const [path = '', query = ''] = (request.url ?? '').split('?')
    const key = decodeURIComponent(path).slice(1)
    const parameters = new URLSearchParams(query)
    const uploadId = parameters.get('uploadId')
    if (parameters.has('uploads') || uploadId !== null) {
      return handleParts(request, { key, body, uploadId, number: parameters.get('partNumber') }, response)
    }
    if (request.method === 'PUT') {
      if (isThere(request, key)) return refuse(response, { status: 412, code: 'PreconditionFailed' })
      standIn.objects.set(key, { body, contentType: request.headers['content-type'] ?? '' })
      response.writeHead(200, { etag: '"x"' }).end()
      return
    }
    const object = standIn.objects.get(key)
    if (object === undefined) refuse(response, { status: 404, code: 'NoSuchKey' })
    else {
      const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')
      const content = range === null ? object.body : object.body.subarray(Number(range[1]), Number(range[2]) + 1)
      response.writeHead(range === null ? 200 : 206, {
        'content-type': object.contentType,
        'content-length': content.length,
      })
      const sentContent = request.method === 'HEAD' ? content : standIn.content(content)
      if (sentContent.length < content.length) response.write(sentContent, () => response.destroy())
      else response.end(request.method === 'HEAD' ? undefined : sentContent)
    }
  }

  const isThere = ({ headers }: IncomingMessage, key: string) =>
    headers['if-none-match'] === '*' && standIn.objects.has(key)

  /** A multipart upload: create, upload a part, complete or abort. */
  function handleParts(request: IncomingMessage, partRequest: PartRequest, response: ServerResponse) {
    const { key, body, uploadId, number } = partRequest
    if (uploadId === null && request.method === 'GET') {
      const bucket = key.replace(/\/$/, '')
      const all = [...standIn.uploads].map(
        ([id, upload]) =>
          `<Upload><Key>${upload.key.slice(bucket.length + 1)}</Key><UploadId>${id.replace('&', '&amp;')}</UploadId><Initiated>${upload.begun.toISOString()}</Initiated></Upload>`,
      )
      const xml = `<ListMultipartUploadsResult><Bucket>${bucket}</Bucket>${all.join('')}</ListMultipartUploadsResult>`
      return void response.writeHead(200, { 'content-type': 'application/xml' }).end(xml)
    }
    if (uploadId === null) {
      const id = `up/load ${standIn.uploads.size + 1}&`
      standIn.uploads.set(id, {
        key,
        begun: new Date(),
        contentType: request.headers['content-type'] ?? '',
        parts: new Map(),
      })
      const xml = `<InitiateMultipartUploadResult><UploadId>${id.replace('&', '&amp;')}</UploadId></InitiateMultipartUploadResult>`
      return void response.writeHead(200, { 'content-type': 'application/xml' }).end(xml)
    }
    const upload = standIn.uploads.get(uploadId)
    if (upload === undefined) return refuse(response, { status: 404, code: 'NoSuchUpload' })
    if (request.method === 'PUT') {
      upload.parts.set(Number(number), body)
      return void response.writeHead(200, { etag: `"${sha256(body)}"` }).end()
    }
    if (request.method === 'POST') {
      const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"([0-9a-f]+)"<\/ETag>/g)]
      const parts = listed.map(([, at]) => upload.parts.get(Number(at)) ?? Buffer.alloc(0))
      if (listed.some(([, , tag], index) => tag !== sha256(parts[index] ?? Buffer.alloc(0)))) {
        return refuse(response, { status: 400, code: 'InvalidPart' })
      }
      if (parts.slice(0, -1).some((part) => part.length < 5 * 2 ** 20)) {
        return refuse(response, { status: 400, code: 'EntityTooSmall' })
      }
      if (isThere(request, key)) return refuse(response, { status: 412, code: 'PreconditionFailed' })
      standIn.objects.set(key, { body: Buffer.concat(parts), contentType: upload.contentType })
    }
    standIn.uploads.delete(uploadId)
    response.writeHead(request.method === 'POST' ? 200 : 204).end()
  }

  const { url, close } = await listenLocally(server)
  const standIn: S3StandIn = {
    url,
    objects: new Map(),
    seen: [],
    answer: () => null,
    content: (bytes) => bytes,
    uploads: new Map(),
    close,
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
