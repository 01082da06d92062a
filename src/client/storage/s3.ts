import { extname } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import type { AwsCredentials } from '../../object-store/aws-credentials.ts'
import { bucketRoot, IMMUTABLE_CACHE_CONTROL, objectUrl } from '../../object-store/bucket.ts'
import { classifyRefusal } from '../../object-store/refusal.ts'
import { EMPTY_SHA256, signS3 } from '../../object-store/s3-signature.ts'
import type { CallOptions } from '../api-client.ts'
import { retryRead } from '../retry-read.ts'
import type { TransportRequest, TransportResponse } from '../transport.ts'
import { type FileProperties, readFileProperties, type Storage, type StorageDeps, uploadTimeoutMs } from './storage.ts'

export interface S3Options extends StorageDeps {
  bucket: string
  /** Prefix of the keys. It is empty or ends with a slash. */
  prefix: string
  /** Endpoint of a service other than AWS, or null for AWS. */
  endpoint: string | null
  region: string
  /** Public URL of the bucket, to which object keys are appended. */
  publicUrl: string
  credentials: AwsCredentials
}

/**
 * Creates a storage in a bucket of S3 or a compatible service. The key of a file contains the hash of its content.
 * Equal content with the same extension is therefore uploaded and stored only once, even by several runs or machines.
 */
export function createS3Storage(options: S3Options): Storage {
  const { bucket, prefix, credentials, region, transport, userAgent, clock } = options
  // Outside AWS, the bucket is part of the path, because few compatible services have a host name for each bucket.
  const root = bucketRoot({ bucket, region, endpoint: options.endpoint, pathStyle: options.endpoint !== null })

  async function exchange(
    method: 'HEAD' | 'PUT',
    url: string,
    headers: Record<string, string>,
    file: FileProperties | null,
    { signal }: CallOptions,
  ): Promise<TransportResponse> {
    // Sign each attempt again, because a signature is valid for only a few minutes.
    const once = async () => {
      const sha256 = file?.sha256 ?? EMPTY_SHA256
      const signed = await signS3({ method, url, headers, sha256, credentials, region })
      const request: TransportRequest = {
        method,
        url: signed.url,
        headers: { ...signed.headers, 'user-agent': userAgent },
        stream: file?.body,
        timeoutMs: uploadTimeoutMs(file?.body.size ?? 0),
        signal,
      }
      return await transport.request(request)
    }
    return await retryRead(url, clock, signal, once)
  }

  return {
    async upload(content, name, { sha256, ...callOptions } = {}) {
      const file = await readFileProperties(content, name, sha256)
      const key = prefix + file.sha256 + extensionOf(name)
      const url = objectUrl(root, key)
      const existing = await exchange('HEAD', url, {}, null, callOptions)
      if (existing.status !== 200 || Number(existing.headers['content-length']) !== file.body.size) {
        // If HEAD fails for any reason, PUT reports the reason, because a HEAD response has no body. Without permission
        // to list objects, S3 returns 403 for a missing object.
        const headers = {
          'content-type': file.contentType,
          'cache-control': IMMUTABLE_CACHE_CONTROL,
          'x-amz-checksum-sha256': Buffer.from(file.sha256, 'hex').toString('base64'),
        }
        const response = await exchange('PUT', url, headers, file, callOptions)
        if (response.status !== 200) throw s3Error(response, bucket, region)
      }
      return { url: objectUrl(options.publicUrl, key) }
    },
    close: () => transport.close(),
  }
}

/**
 * Returns the extension of a file, or an empty string if it is unusual. Keys include the extension because some viewers
 * rely on it.
 */
function extensionOf(name: string): string {
  const extension = extname(name).toLowerCase()
  return /^\.[a-z0-9]{1,8}$/.test(extension) ? extension : ''
}

function s3Error(response: TransportResponse, bucket: string, region: string): GdnError {
  const { reason, code, details, actualRegion } = classifyRefusal(response)
  const message = `the S3 storage rejected the request: ${code}`
  if (reason === 'forbidden') {
    const hint = `Check the AWS credentials. The credentials need permission to put objects into ${bucket}.`
    return new GdnError('forbidden', message, { hint, details })
  }
  if (reason === 'not_found') {
    return new GdnError('invalid_config', `the bucket ${bucket} does not exist (${message})`, {
      hint: 'Run `gdn config list` to check storage and storage_endpoint.',
      details,
    })
  }
  if (reason === 'wrong_region') {
    return new GdnError('invalid_config', `the bucket ${bucket} is not in the region ${region} (${message})`, {
      hint: `Run \`gdn config set storage_region ${actualRegion ?? '<region>'}\`.`,
      details,
    })
  }
  if (reason === 'temporary') return new GdnError('unreachable', message, { hint: 'Try again later.', details })
  return new GdnError('refused', message, { details })
}
