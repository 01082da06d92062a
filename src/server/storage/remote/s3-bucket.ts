import { GdnError } from '../../../core/errors.ts'
import { sha256Hex } from '../../../core/sha256-hex.ts'
import type { AwsCredentials } from '../../../object-store/aws-credentials.ts'
import { type BucketLocation, bucketRoot, objectUrl } from '../../../object-store/bucket.ts'
import { EMPTY_SHA256, signS3 } from '../../../object-store/s3-signature.ts'
import { StorageUnavailableError } from '../adapter.ts'
import type { RemoteFiles } from './remote-files.ts'
import { type S3Response, s3Error } from './s3-refusal.ts'
import { createS3Upload, yieldBytes } from './s3-upload.ts'
import { collectBody, openStorageClient, type StorageClient, type StorageRequest } from './storage-client.ts'
import { createUploadCleanup } from './upload-cleanup.ts'

export interface S3BucketOptions extends BucketLocation {
  /** Prefix of the keys, which is empty or ends with a slash. */
  prefix: string
  /** Returns the credentials. Called for each request, because temporary credentials change. */
  credentials: () => Promise<AwsCredentials>
  userAgent: string
}

/** Content of the file that `check` stores and reads back to check the permissions. */
const PROBE = Buffer.from('Files of a gdn backend, each under its CID.\n')

/** Opens a bucket of S3 or of a compatible service. Each file is an object with its CID as the key. */
export function openS3Bucket(options: S3BucketOptions): RemoteFiles {
  const { bucket, prefix, region } = options
  const root = bucketRoot(options)
  const place = `s3://${bucket}/${prefix}`
  const name = `the bucket ${bucket} (${new URL(root).host})`
  const client: StorageClient = openStorageClient(name, options.userAgent)

  const urlOf = (key: string, query = '') => objectUrl(root, prefix + key) + query

  const signRequest = async (request: StorageRequest, sha256 = EMPTY_SHA256): Promise<StorageRequest> => {
    const credentials = await options.credentials()
    const { method, url, headers = {} } = request
    return { ...request, ...(await signS3({ method, url, headers, sha256, region, credentials })) }
  }
  const ask = (request: StorageRequest, sha256?: string) => client.ask(() => signRequest(request, sha256))

  const rejectionError = (response: S3Response) => s3Error({ name, place, region }, response)
  const put = createS3Upload({ ask, urlOf, rejectionError })

  return {
    place,
    name,

    async check() {
      const key = 'gdn-storage'
      const read = (start: number, end: number) => yieldBytes(PROBE.subarray(start, end))
      await put(key, { size: PROBE.length, sha256: sha256Hex(PROBE), read })
      const stored = await ask({ method: 'GET', url: urlOf(key) })
      if (stored.status !== 200) throw rejectionError(stored)
      if (!stored.body.equals(PROBE)) {
        throw new GdnError('invalid_config', `${name} does not return the stored file`, {
          hint: `Choose another storage.prefix: ${place}${key} has different content.`,
        })
      }
    },

    put: (cid, content) => put(cid.toString(), content),

    async *read(cid, start, end) {
      const headers = { range: `bytes=${start}-${end - 1}` }
      const response = await client.open(await signRequest({ method: 'GET', url: urlOf(cid.toString()), headers }))
      if (response.status === 206) return void (yield* response.body)
      // Some servers ignore ranges and return the whole object.
      if (response.status === 200) return void (yield* sliceBytes(response.body, start, end))
      const body = await collectBody(response.body)
      if (response.status === 404) {
        throw new StorageUnavailableError(`${name} does not return ${prefix}${cid}, which was stored there`, {
          hint: 'Check whether the file was deleted, or whether the bucket is only eventually consistent.',
        })
      }
      throw rejectionError({ ...response, body })
    },

    uploadCleanup: createUploadCleanup({
      client,
      signRequest: signRequest,
      prefix,
      rejectionError,
      urlOf: (key, query) => (key === '' ? `${root}/${query}` : urlOf(key, query)),
    }),
    problem: client.problem,
    close: client.close,
  }
}

async function* sliceBytes(bytes: AsyncIterable<Uint8Array>, start: number, end: number): AsyncGenerator<Uint8Array> {
  let at = 0
  for await (const part of bytes) {
    if (at + part.length > start) yield part.subarray(Math.max(0, start - at), Math.max(0, end - at))
    at += part.length
    if (at >= end) return
  }
}
