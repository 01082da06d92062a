export interface BucketLocation {
  bucket: string
  region: string
  /** The endpoint of a service other than AWS, without a trailing slash. Null for AWS. */
  endpoint: string | null
  /** Whether the bucket's name is the first part of the URL's path instead of a part of the host name. */
  pathStyle: boolean
}

/** The `Cache-Control` header for objects. Objects never change, because their keys are hashes of their content. */
export const IMMUTABLE_CACHE_CONTROL = 'public, max-age=31536000, immutable'

/** Returns the URL of a bucket. Append a slash and a key for the URL of an object. */
export function bucketRoot({ bucket, region, endpoint, pathStyle }: BucketLocation): string {
  const service = endpoint ?? `https://s3.${region}.amazonaws.com`
  if (pathStyle) return `${service}/${bucket}`
  if (endpoint !== null) return endpoint.replace('://', `://${bucket}.`)
  // A bucket name with dots can't be part of the host name, because no certificate would match the host name.
  return bucket.includes('.') ? `${service}/${bucket}` : `https://${bucket}.s3.${region}.amazonaws.com`
}

/** Returns the URL of an object. Percent-encodes the key, except for its slashes. */
export const objectUrl = (root: string, key: string): string =>
  `${root}/${key.split('/').map(encodeURIComponent).join('/')}`
