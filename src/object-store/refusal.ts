import { isTemporaryStorageStatus } from '../core/http-status.ts'

interface S3Response {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Uint8Array
}

/** An unsuccessful response of S3. */
interface S3Refusal {
  reason: 'temporary' | 'wrong_region' | 'forbidden' | 'not_found' | 'other'
  /** The code in the XML response, or else the status. */
  code: string | number
  details: { status: number; code: string | undefined }
  /** The bucket's region, if S3 returned it. */
  actualRegion: string | undefined
}

/** Returns the error code in an XML response of S3, such as `NoSuchBucket` or `AccessDenied`, if there is one. */
export const refusalCode = (body: Uint8Array): string | undefined =>
  /<Code>([A-Za-z0-9.]{1,80})<\/Code>/.exec(Buffer.from(body).toString('utf8'))?.[1]

/** Classifies an unsuccessful response of S3. */
export function classifyRefusal({ status, headers, body }: S3Response): S3Refusal {
  const code = refusalCode(body)
  const actualRegion = headers['x-amz-bucket-region']?.toString()
  return { reason: classifyReason(status, code), code: code ?? status, details: { status, code }, actualRegion }
}

function classifyReason(status: number, code: string | undefined): S3Refusal['reason'] {
  if (isTemporaryStorageStatus(status)) return 'temporary'
  if (status === 301 || status === 307 || code === 'AuthorizationHeaderMalformed') return 'wrong_region'
  if (status === 401 || status === 403) return 'forbidden'
  return status === 404 ? 'not_found' : 'other'
}
