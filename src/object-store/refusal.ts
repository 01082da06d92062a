/** Returns the error code in an XML response of S3, such as `NoSuchBucket` or `AccessDenied`, if there is one. */
export const refusalCode = (body: Uint8Array): string | undefined =>
  /<Code>([A-Za-z0-9.]{1,80})<\/Code>/.exec(Buffer.from(body).toString('utf8'))?.[1]
