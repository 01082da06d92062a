/** The location of a bucket. */
export interface BucketPlace {
  bucket: string
  region: string
  /** The endpoint of a service other than AWS, without a trailing slash; or null. */
  endpoint: string | null
  /** Whether the bucket's name is the first part of the path, instead of a part of the host name. */
  pathStyle: boolean
}

/** Objects never change, because their keys are hashes of their content. */
export const FOR_EVER = 'public, max-age=31536000, immutable'

/** Returns the URL to which the keys of a bucket are appended. */
export function bucketRoot({ bucket, region, endpoint, pathStyle }: BucketPlace): string {
  const service = endpoint ?? `https://s3.${region}.amazonaws.com`
  if (pathStyle) return `${service}/${bucket}`
  if (endpoint !== null) return endpoint.replace('://', `://${bucket}.`)
  // As a host, a name with dots would match no certificate.
  return bucket.includes('.') ? `${service}/${bucket}` : `https://${bucket}.s3.${region}.amazonaws.com`
}

/** Returns the URL of an object. Parts of its key are escaped, slashes are not. */
export const objectUrl = (root: string, key: string): string =>
  `${root}/${key.split('/').map(encodeURIComponent).join('/')}`
