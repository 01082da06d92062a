/** The code of a refusal (`NoSuchBucket`, `AccessDenied`, …) in the XML that S3 answers with, where there is one. */
export const refusalCode = (body: Uint8Array): string | undefined =>
  /<Code>([A-Za-z0-9.]{1,80})<\/Code>/.exec(Buffer.from(body).toString('utf8'))?.[1]
