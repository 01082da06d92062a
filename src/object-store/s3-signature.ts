import { AwsV4Signer } from 'aws4fetch'
import type { AwsCredentials } from './aws-credentials.ts'

/** SHA-256 of an empty body, in hexadecimal. */
export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

export interface S3Request {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  /** SHA-256 of the body, in hexadecimal. */
  sha256: string
  region: string
  credentials: AwsCredentials
}

/**
 * Signs a request to S3, including all its headers, with Signature Version 4. The signature is valid only for a few
 * minutes.
 */
export async function signS3(request: S3Request): Promise<{ url: string; headers: Record<string, string> }> {
  const { method, url, headers, sha256, region, credentials } = request
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const signer = new AwsV4Signer({
    method,
    url,
    headers: { ...headers, 'x-amz-content-sha256': sha256 },
    accessKeyId,
    secretAccessKey: secretAccessKey.reveal(),
    ...(sessionToken === null ? {} : { sessionToken: sessionToken.reveal() }),
    service: 's3',
    region,
    allHeaders: true,
  })
  const signed = await signer.sign()
  return { url: signed.url.href, headers: Object.fromEntries(signed.headers) }
}
