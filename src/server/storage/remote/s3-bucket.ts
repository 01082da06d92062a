import { createHash } from 'node:crypto'
import { GdnError } from '../../../core/errors.ts'
import { SNIFF_BYTES, sniffContentType } from '../../../files/content-type.ts'
import type { AwsCredentials } from '../../../object-store/aws-credentials.ts'
import { bucketRoot, FOR_EVER, objectUrl } from '../../../object-store/bucket.ts'
import { refusalCode } from '../../../object-store/refusal.ts'
import { EMPTY_SHA256, signS3 } from '../../../object-store/s3-signature.ts'
import { StorageUnavailableError } from '../adapter.ts'
import { leftUploads, unescapeXml } from './left-uploads.ts'
import type { RemoteFiles, SpooledContent } from './remote-files.ts'
import {
  collect,
  openStorageClient,
  type StorageClient,
  type StorageRequest,
  type StorageTextResponse,
} from './storage-client.ts'

/** Larger content is sent in parts, each retried separately. S3 accepts none below 5 MiB. */
export const PART_BYTES = 8 * 2 ** 20

export interface S3BucketOptions {
  bucket: string
  /** Prefix of the keys; empty, or ending with a slash. */
  prefix: string
  region: string
  endpoint: string | null
  pathStyle: boolean
  /** Read for each request, since temporary credentials change. */
  credentials: () => Promise<AwsCredentials>
  userAgent: string
}

interface Part {
  start: number
  end: number
  sha256: string
}

/** Stored under its name by `gdn serve`, to check the permissions. */
const PROBE = Buffer.from('Files of a gdn backend, each under its CID.\n')

/** A bucket of S3, or of a compatible service: one object per file, with its CID as the key. */
export function openS3Bucket(options: S3BucketOptions): RemoteFiles {
  const { bucket, prefix, region } = options
  const root = bucketRoot(options)
  const place = `s3://${bucket}/${prefix}`
  const name = `the bucket ${bucket} (${new URL(root).host})`
  const client: StorageClient = openStorageClient(name, options.userAgent)
  /** For services without conditional writes; existing content is then overwritten with equal content. */
  let conditional = true

  const urlOf = (key: string, query = '') => objectUrl(root, prefix + key) + query

  const signed = async (request: StorageRequest, sha256 = EMPTY_SHA256): Promise<StorageRequest> => {
    const credentials = await options.credentials()
    const { method, url, headers = {} } = request
    return { ...request, ...(await signS3({ method, url, headers, sha256, region, credentials })) }
  }
  const ask = (request: StorageRequest, sha256?: string) => client.ask(() => signed(request, sha256))

  const refusal = ({ status, headers, body }: Pick<StorageTextResponse, 'status' | 'headers' | 'body'>): GdnError => {
    const code = refusalCode(body)
    const said = `${name} rejected the request: ${code ?? status}`
    const details = { status, code }
    if (status >= 500 || status === 429) return new StorageUnavailableError(said, { details })
    if (status === 301 || status === 307 || code === 'AuthorizationHeaderMalformed') {
      const there = headers['x-amz-bucket-region']
      const hint =
        there === undefined ? 'Check storage.region and storage.endpoint.' : `Set storage.region to ${there}.`
      return new GdnError('invalid_config', `${said}: it is not in the region ${region}`, { hint, details })
    }
    if (status === 401 || status === 403) {
      const hint = `Check the credentials of the storage: they need the permission to get and put objects in ${place}.`
      return new GdnError('forbidden', said, { hint, details })
    }
    const hint = 'Check storage.bucket and storage.endpoint.'
    return new GdnError(status === 404 ? 'invalid_config' : 'refused', said, { hint, details })
  }

  const sizeOf = async (key: string): Promise<number | null> => {
    const { status, headers, body } = await ask({ method: 'HEAD', url: urlOf(key) })
    if (status === 200) return Number(headers['content-length'])
    // Without the permission to list, a missing object returns 403.
    if (status === 404 || status === 403) return null
    throw refusal({ status, headers, body })
  }

  /** Sends content only if it doesn't exist; returns true if it exists. */
  const putWhole = async (key: string, content: SpooledContent, headers: Record<string, string>): Promise<boolean> => {
    const { size, sha256 } = content
    const sum = { 'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64') }
    const condition = headers['if-none-match'] === undefined ? {} : { 'if-none-match': '*' }
    const body = { size, open: () => content.read(0, size) }
    const all = { ...headers, ...sum, ...condition }
    return settle(await ask({ method: 'PUT', url: urlOf(key), headers: all, body }, sha256))
  }

  /** Whether the response means "already exists". */
  const settle = (answer: StorageTextResponse): boolean => {
    if (answer.status === 412) return true
    // Some services return 200 at once, with the result in the body.
    if (answer.status === 200 && refusalCode(answer.body) === undefined) return false
    throw refusal(answer.status === 200 ? { ...answer, status: 500 } : answer)
  }

  const putParts = async (key: string, content: SpooledContent, headers: Record<string, string>): Promise<boolean> => {
    const { 'if-none-match': condition, ...meta } = headers
    const begun = await ask({ method: 'POST', url: urlOf(key, '?uploads='), headers: meta })
    const uploadId = /<UploadId>([^<]{1,2048})<\/UploadId>/.exec(begun.body.toString('utf8'))?.[1]
    if (begun.status !== 200 || uploadId === undefined) throw refusal(begun)
    const upload = `uploadId=${encodeURIComponent(unescapeXml(uploadId))}`
    try {
      const tags: string[] = []
      for (const part of await partsOf(content)) {
        const { start, end, sha256 } = part
        const url = urlOf(key, `?partNumber=${tags.length + 1}&${upload}`)
        const body = { size: end - start, open: () => content.read(start, end) }
        const answer = await ask({ method: 'PUT', url, body }, sha256)
        const tag = answer.headers.etag
        if (answer.status !== 200 || typeof tag !== 'string') throw refusal(answer)
        tags.push(tag)
      }
      const list = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
      const xml = Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`)
      const body = { size: xml.length, open: () => bytesOf(xml) }
      const url = urlOf(key, `?${upload}`)
      const only = condition === undefined ? {} : { 'if-none-match': condition }
      const answer = await ask({ method: 'POST', url, headers: only, body }, sha256Of(xml))
      // Completed by an attempt whose response was lost.
      if (refusalCode(answer.body) === 'NoSuchUpload' && (await sizeOf(key)) === content.size) return true
      return settle(answer)
    } catch (error) {
      // Leftover parts cost money. This doesn't wait for the cleanup.
      await ask({ method: 'DELETE', url: urlOf(key, `?${upload}`) }).catch(() => {})
      throw error
    }
  }

  const put = async (key: string, content: SpooledContent): Promise<void> => {
    const headers: Record<string, string> = { 'content-type': await typeOf(content), 'cache-control': FOR_EVER }
    const large = content.size > PART_BYTES
    if (large && (await sizeOf(key)) === content.size) return
    const send = large ? putParts : putWhole
    if (conditional) {
      try {
        const there = await send(key, content, { ...headers, 'if-none-match': '*' })
        // Content stored under this CID has the same length; anything else is overwritten.
        if (!there || (await sizeOf(key)) === content.size) return
      } catch (error) {
        if (!(error instanceof GdnError) || statusIn(error) !== 501) throw error
        conditional = false
      }
    }
    await send(key, content, headers)
  }

  return {
    place,
    name,

    async check() {
      const key = 'gdn-storage'
      const read = (start: number, end: number) => bytesOf(PROBE.subarray(start, end))
      await put(key, { size: PROBE.length, sha256: sha256Of(PROBE), read })
      const found = await ask({ method: 'GET', url: urlOf(key) })
      if (found.status !== 200) throw refusal(found)
      if (!found.body.equals(PROBE)) {
        throw new GdnError('invalid_config', `${name} does not return what was stored`, {
          hint: `Choose another storage.prefix: ${place}${key} has other content.`,
        })
      }
    },

    put: (cid, content) => put(cid.toString(), content),

    async *read(cid, start, end) {
      const headers = { range: `bytes=${start}-${end - 1}` }
      const answer = await client.open(await signed({ method: 'GET', url: urlOf(cid.toString()), headers }))
      if (answer.status === 206) return void (yield* answer.body)
      // Servers may ignore ranges.
      if (answer.status === 200) return void (yield* within(answer.body, start, end))
      const body = await collect(answer.body)
      if (answer.status === 404) {
        throw new StorageUnavailableError(`${name} does not return ${prefix}${cid}, which was stored there`, {
          hint: 'Check whether it was deleted, or whether the bucket is only eventually consistent.',
        })
      }
      throw refusal({ ...answer, body })
    },

    tidy: leftUploads({
      client: client,
      signed,
      prefix,
      refusal,
      urlOf: (key, query) => (key === '' ? `${root}/${query}` : urlOf(key, query)),
    }),
    problem: client.problem,
    close: client.close,
  }
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function* bytesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function* within(bytes: AsyncIterable<Uint8Array>, start: number, end: number): AsyncGenerator<Uint8Array> {
  let at = 0
  for await (const part of bytes) {
    if (at + part.length > start) yield part.subarray(Math.max(0, start - at), Math.max(0, end - at))
    at += part.length
    if (at >= end) return
  }
}

async function partsOf(content: SpooledContent): Promise<Part[]> {
  const parts: Part[] = []
  for (let start = 0; start < content.size; start += PART_BYTES) {
    const end = Math.min(start + PART_BYTES, content.size)
    const hash = createHash('sha256')
    for await (const bytes of content.read(start, end)) hash.update(bytes)
    parts.push({ start, end, sha256: hash.digest('hex') })
  }
  return parts
}

async function typeOf(content: SpooledContent): Promise<string> {
  const head: Uint8Array[] = []
  for await (const bytes of content.read(0, Math.min(SNIFF_BYTES, content.size))) head.push(bytes)
  return sniffContentType(Buffer.concat(head))
}

function statusIn({ details }: GdnError): unknown {
  return details !== null && typeof details === 'object' && 'status' in details ? details.status : undefined
}
