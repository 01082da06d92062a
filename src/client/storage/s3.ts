import { extname } from 'node:path'
import { AwsV4Signer } from 'aws4fetch'
import { GdnError } from '../../core/errors.ts'
import type { CallOptions } from '../api-client.ts'
import { persist } from '../persist.ts'
import type { TransportAnswer, TransportRequest } from '../transport.ts'
import type { AwsCredentials } from './aws-credentials.ts'
import { type FileFacts, factsOf } from './file-facts.ts'
import { type Storage, type StorageLine, uploadTimeoutMs } from './storage.ts'

export interface S3Options extends StorageLine {
  bucket: string
  /** What keys begin with; empty, or ending with a slash. */
  prefix: string
  /** Of another service than AWS, or null. */
  endpoint: string | null
  region: string
  /** Where everybody can fetch what lies in the bucket, by its key. */
  publicUrl: string
  credentials: AwsCredentials
}

/** No object changes: its key is the hash of its content. */
const FOR_EVER = 'public, max-age=31536000, immutable'

/**
 * A bucket of S3 or of something that speaks like it. A file's key is the hash of its content, so equal content is
 * there once, whichever run or machine brought it; what is there is not sent again.
 */
export function createS3Storage(options: S3Options): Storage {
  const { bucket, prefix, credentials, region, transport, userAgent, clock } = options
  const root = rootOf(options)

  async function exchange(
    method: 'HEAD' | 'PUT',
    url: string,
    headers: Record<string, string>,
    file: FileFacts | null,
    { signal }: CallOptions,
  ): Promise<TransportAnswer> {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials
    // Signed for each attempt: a signature is good for minutes only.
    const once = async () => {
      const signer = new AwsV4Signer({
        method,
        url,
        headers: { ...headers, 'x-amz-content-sha256': file?.sha256 ?? EMPTY_SHA256 },
        accessKeyId,
        secretAccessKey: secretAccessKey.reveal(),
        ...(sessionToken === null ? {} : { sessionToken: sessionToken.reveal() }),
        service: 's3',
        region,
        allHeaders: true,
      })
      const signed = await signer.sign()
      const request: TransportRequest = {
        method,
        url: signed.url.href,
        headers: { ...Object.fromEntries(signed.headers), 'user-agent': userAgent },
        ...(file === null ? {} : { stream: file.body }),
        timeoutMs: uploadTimeoutMs(file?.body.size ?? 0),
        ...(signal === undefined ? {} : { signal }),
      }
      return await transport.request(request)
    }
    return await persist(url, clock, signal, once)
  }

  return {
    async upload(content, name, callOptions = {}) {
      const file = await factsOf(content, name)
      const key = prefix + file.sha256 + extensionOf(name)
      const url = `${root}/${key.split('/').map(encodeURIComponent).join('/')}`
      const there = await exchange('HEAD', url, {}, null, callOptions)
      if (there.status !== 200 || Number(there.headers['content-length']) !== file.body.size) {
        // Whatever it is that keeps us from looking (who may not list is answered 403 for what isn't there), the answer
        // to putting says so in words; one to HEAD has none.
        const headers = {
          'content-type': file.contentType,
          'cache-control': FOR_EVER,
          'x-amz-checksum-sha256': Buffer.from(file.sha256, 'hex').toString('base64'),
        }
        const answer = await exchange('PUT', url, headers, file, callOptions)
        if (answer.status !== 200) throw refusal(answer, bucket, region)
      }
      return { url: `${options.publicUrl}/${key.split('/').map(encodeURIComponent).join('/')}` }
    },
    close: () => transport.close(),
  }
}

const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Where the keys of the bucket begin. A name with dots fits no certificate as a host. */
function rootOf({ bucket, endpoint, region }: S3Options): string {
  if (endpoint !== null) return `${endpoint}/${bucket}`
  return bucket.includes('.')
    ? `https://s3.${region}.amazonaws.com/${bucket}`
    : `https://${bucket}.s3.${region}.amazonaws.com`
}

/** A telling extension is kept: some viewers go by it. */
function extensionOf(name: string): string {
  const extension = extname(name).toLowerCase()
  return /^\.[a-z0-9]{1,8}$/.test(extension) ? extension : ''
}

function refusal({ status, headers, body }: TransportAnswer, bucket: string, region: string): GdnError {
  const code = /<Code>([A-Za-z0-9.]{1,80})<\/Code>/.exec(Buffer.from(body).toString('utf8'))?.[1]
  const said = `the S3 storage refused: ${code ?? status}`
  const details = { status, ...(code === undefined ? {} : { code }) }
  if (status === 401 || status === 403) {
    const hint = `check the AWS credentials; they must be allowed to put objects into ${bucket}`
    return new GdnError('forbidden', said, { hint, details })
  }
  if (status === 404) {
    return new GdnError('invalid_config', `there is no bucket ${bucket} (${said})`, {
      hint: 'check storage and storage_endpoint: gdn config list',
      details,
    })
  }
  if (status === 301 || status === 307 || code === 'AuthorizationHeaderMalformed') {
    const other = headers['x-amz-bucket-region']
    return new GdnError('invalid_config', `the bucket ${bucket} is not in the region ${region} (${said})`, {
      hint: `gdn config set storage_region ${other ?? '<region>'}`,
      details,
    })
  }
  if (status >= 500 || status === 429) return new GdnError('unreachable', said, { hint: 'try again later', details })
  return new GdnError('refused', said, { details })
}
