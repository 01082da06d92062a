export interface BucketPlace {
  bucket: string
  region: string
  /** The endpoint of a service other than AWS, without a trailing slash. Null for AWS. */
  endpoint: string | null
  /** Whether the URL has the bucket's name as the first part of the path, not in the host name. */
  pathStyle: boolean
}

/** Cache-Control for objects. They never change, because their keys are hashes of their content. */
export const FOR_EVER = 'public, max-age=31536000, immutable'

/** Returns the URL of a bucket, to which object keys are appended. */
export function bucketRoot({ bucket, region, endpoint, pathStyle }: BucketPlace): string {
  const service = endpoint ?? `https://s3.${region}.amazonaws.com`
  if (pathStyle) return `${service}/${bucket}`
  if (endpoint !== null) return endpoint.replace('://', `://${bucket}.`)
  // A bucket name with dots can't be part of the host name, because no certificate would match it.
  return bucket.includes('.') ? `${service}/${bucket}` : `https://${bucket}.s3.${region}.amazonaws.com`
}

/** Returns the URL of an object. Escapes the key, except its slashes. */
export const objectUrl = (root: string, key: string): string =>
  `${root}/${key.split('/').map(encodeURIComponent).join('/')}`
