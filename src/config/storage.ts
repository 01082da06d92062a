import { GdnError } from '../core/errors.ts'
import { parseUrl, trimSlashes } from '../core/parse-url.ts'

/** The storage to which local files are uploaded if the server doesn't accept files. */
export type StorageSettings =
  | {
      kind: 's3'
      bucket: string
      /** Prefix of the object keys. It is empty or ends with a slash. */
      prefix: string
      endpoint: string | null
      region: string | null
      /** Public URL of the bucket, without a trailing slash. Null if gdn derives it from the bucket and the region. */
      publicUrl: string | null
    }
  | { kind: 'ipfs'; api: string }

const DEFAULT_IPFS_API = 'http://127.0.0.1:5001'

export interface StorageProfile {
  storage?: string | undefined
  storage_endpoint?: string | undefined
  storage_region?: string | undefined
  storage_public_url?: string | undefined
  ipfs_api?: string | undefined
}

/**
 * Returns the storage settings of a profile, or null if it has none. The settings don't include credentials, which gdn
 * never stores in its configuration.
 *
 * @throws GdnError `invalid_config` for inconsistent settings
 */
export function parseStorageSettings(profile: StorageProfile): StorageSettings | null {
  const { storage, storage_endpoint, storage_region, storage_public_url, ipfs_api } = profile
  if (storage === undefined) return null
  if (storage === 'ipfs') return { kind: 'ipfs', api: trimSlashes(ipfs_api ?? DEFAULT_IPFS_API) }
  const { bucket, prefix } = parseS3Url(storage)
  if (storage_endpoint !== undefined && storage_public_url === undefined) {
    throw new GdnError('invalid_config', `the public address of ${storage} is not configured`, {
      place: { field: 'storage_public_url' },
      hint: 'Run `gdn config set storage_public_url <url>` with the public base URL of the stored files.',
    })
  }
  return {
    kind: 's3',
    bucket,
    prefix,
    endpoint: storage_endpoint === undefined ? null : trimSlashes(storage_endpoint),
    region: storage_region ?? null,
    publicUrl: storage_public_url === undefined ? null : trimSlashes(storage_public_url),
  }
}

/** Returns the reason why a value of the setting `storage` is invalid, or null if it is valid. */
export function storageProblem(value: string): string | null {
  if (value === 'ipfs' || S3_URL_PATTERN.test(value)) return null
  return 'must be s3://<bucket>/<prefix> or ipfs'
}

/** Returns the reason why a URL in the storage settings is invalid, or null if it is valid. */
export function storageUrlProblem(value: string): string | null {
  const url = parseUrl(value)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an http(s) URL'
  if (url.username !== '' || url.password !== '') return 'must not have a user name or password'
  return url.search === '' && url.hash === '' ? null : 'must not have a query or a fragment'
}

export const S3_URL_PATTERN = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]*))?$/

function parseS3Url(value: string): { bucket: string; prefix: string } {
  const [, bucket = '', path = ''] = S3_URL_PATTERN.exec(value) ?? []
  const prefix = path
    .split('/')
    .filter((part) => part !== '')
    .join('/')
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}
