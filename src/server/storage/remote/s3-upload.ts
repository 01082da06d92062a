import { createHash } from 'node:crypto'
import { GdnError } from '../../../core/errors.ts'
import { sha256Hex } from '../../../core/sha256-hex.ts'
import { SNIFF_BYTES, sniffContentType } from '../../../files/content-type.ts'
import { IMMUTABLE_CACHE_CONTROL } from '../../../object-store/bucket.ts'
import { refusalCode } from '../../../object-store/refusal.ts'
import type { SpooledContent } from './remote-files.ts'
import type { S3Response } from './s3-refusal.ts'
import type { StorageRequest, StorageTextResponse } from './storage-client.ts'
import { unescapeXml } from './upload-cleanup.ts'

/**
 * Size of parts in bytes. Larger content is sent in parts, each of which is retried separately. S3 rejects parts that
 * are smaller than 5 MiB.
 */
export const PART_BYTES = 8 * 2 ** 20

interface Part {
  start: number
  end: number
  sha256: string
}

interface S3UploadOptions {
  /** Sends a signed request. */
  ask: (request: StorageRequest, sha256?: string) => Promise<StorageTextResponse>
  urlOf: (key: string, query?: string) => string
  rejectionError: (response: S3Response) => GdnError
}

/** Returns a function that stores content under a key, in one request or in parts. */
export function createS3Upload({
  ask,
  urlOf,
  rejectionError,
}: S3UploadOptions): (key: string, content: SpooledContent) => Promise<void> {
  /**
   * Whether the service supports conditional writes. Without them, existing content is overwritten with equal content.
   */
  let supportsConditions = true

  const sizeOf = async (key: string): Promise<number | null> => {
    const { status, headers, body } = await ask({ method: 'HEAD', url: urlOf(key) })
    if (status === 200) return Number(headers['content-length'])
    // Without the permission to list, the response for a missing object is 403.
    if (status === 404 || status === 403) return null
    throw rejectionError({ status, headers, body })
  }

  /** Sends content in one request. If `headers` has a condition, keeps an existing object and returns true. */
  const putWhole = async (key: string, content: SpooledContent, headers: Record<string, string>): Promise<boolean> => {
    const { size, sha256 } = content
    const sum = { 'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64') }
    const condition = headers['if-none-match'] === undefined ? {} : { 'if-none-match': '*' }
    const body = { size, open: () => content.read(0, size) }
    const all = { ...headers, ...sum, ...condition }
    return settle(await ask({ method: 'PUT', url: urlOf(key), headers: all, body }, sha256))
  }

  /** Returns whether the object already existed. Throws the error of a failed request. */
  const settle = (response: StorageTextResponse): boolean => {
    if (response.status === 412) return true
    // Some services return 200 early, with the result in the body.
    if (response.status === 200 && refusalCode(response.body) === undefined) return false
    throw rejectionError(response.status === 200 ? { ...response, status: 500 } : response)
  }

  const putParts = async (key: string, content: SpooledContent, headers: Record<string, string>): Promise<boolean> => {
    const { 'if-none-match': condition, ...meta } = headers
    const begun = await ask({ method: 'POST', url: urlOf(key, '?uploads='), headers: meta })
    const uploadId = /<UploadId>([^<]{1,2048})<\/UploadId>/.exec(begun.body.toString('utf8'))?.[1]
    if (begun.status !== 200 || uploadId === undefined) throw rejectionError(begun)
    const upload = `uploadId=${encodeURIComponent(unescapeXml(uploadId))}`
    try {
      const tags: string[] = []
      for (const part of await hashParts(content)) {
        const { start, end, sha256 } = part
        const url = urlOf(key, `?partNumber=${tags.length + 1}&${upload}`)
        const body = { size: end - start, open: () => content.read(start, end) }
        const response = await ask({ method: 'PUT', url, body }, sha256)
        const tag = response.headers.etag
        if (response.status !== 200 || typeof tag !== 'string') throw rejectionError(response)
        tags.push(tag)
      }
      const list = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
      const xml = Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`)
      const body = { size: xml.length, open: () => yieldBytes(xml) }
      const url = urlOf(key, `?${upload}`)
      const only = condition === undefined ? {} : { 'if-none-match': condition }
      const response = await ask({ method: 'POST', url, headers: only, body }, sha256Hex(xml))
      // An earlier attempt, whose response was lost, has completed the upload.
      if (refusalCode(response.body) === 'NoSuchUpload' && (await sizeOf(key)) === content.size) return true
      return settle(response)
    } catch (error) {
      // Remove the uploaded parts, which would cost money. Ignore a failure of this cleanup.
      await ask({ method: 'DELETE', url: urlOf(key, `?${upload}`) }).catch(() => {})
      throw error
    }
  }

  return async (key, content) => {
    const headers: Record<string, string> = {
      'content-type': await detectContentType(content),
      'cache-control': IMMUTABLE_CACHE_CONTROL,
    }
    const large = content.size > PART_BYTES
    if (large && (await sizeOf(key)) === content.size) return
    const send = large ? putParts : putWhole
    if (supportsConditions) {
      try {
        const exists = await send(key, content, { ...headers, 'if-none-match': '*' })
        // Content with this CID always has the same length, so overwrite an object of another length.
        if (!exists || (await sizeOf(key)) === content.size) return
      } catch (error) {
        if (!(error instanceof GdnError) || readStatus(error) !== 501) throw error
        supportsConditions = false
      }
    }
    await send(key, content, headers)
  }
}

export async function* yieldBytes(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function hashParts(content: SpooledContent): Promise<Part[]> {
  const parts: Part[] = []
  for (let start = 0; start < content.size; start += PART_BYTES) {
    const end = Math.min(start + PART_BYTES, content.size)
    const hash = createHash('sha256')
    for await (const bytes of content.read(start, end)) hash.update(bytes)
    parts.push({ start, end, sha256: hash.digest('hex') })
  }
  return parts
}

async function detectContentType(content: SpooledContent): Promise<string> {
  const head: Uint8Array[] = []
  for await (const bytes of content.read(0, Math.min(SNIFF_BYTES, content.size))) head.push(bytes)
  return sniffContentType(Buffer.concat(head))
}

function readStatus({ details }: GdnError): unknown {
  return details !== null && typeof details === 'object' && 'status' in details ? details.status : undefined
}
