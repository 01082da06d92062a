/** Where a bucket is. */
export interface BucketPlace {
  bucket: string
  region: string
  /** Of another service than AWS, without a trailing slash; or null. */
  endpoint: string | null
  /** The bucket's name is the first part of the path; else it is a part of the host's name. */
  pathStyle: boolean
}

/** No object changes: its key is the hash of its content. */
export const FOR_EVER = 'public, max-age=31536000, immutable'

/** Where the keys of a bucket begin. */
export function bucketRoot({ bucket, region, endpoint, pathStyle }: BucketPlace): string {
  const service = endpoint ?? `https://s3.${region}.amazonaws.com`
  if (pathStyle) return `${service}/${bucket}`
  if (endpoint !== null) return endpoint.replace('://', `://${bucket}.`)
  // A name with dots fits no certificate as a host.
  return bucket.includes('.') ? `${service}/${bucket}` : `https://${bucket}.s3.${region}.amazonaws.com`
}

/** The URL of an object: what a key is made of may need escaping, its slashes don't. */
export const objectUrl = (root: string, key: string): string =>
  `${root}/${key.split('/').map(encodeURIComponent).join('/')}`
