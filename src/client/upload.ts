import { GdnError } from '../core/errors.ts'
import type { UploadOptions } from './api-client.ts'
import { decode } from './codec.ts'
import { multipartFile } from './multipart.ts'
import { lacksEndpoint, statusOf } from './responses.ts'
import { retryRead } from './retry-read.ts'
import { type ClientServer, targetOf } from './send-once.ts'
import type { StreamedBody } from './transport.ts'

/** The slowest upload speed for which the timeout is sufficient. */
const UPLOAD_BYTES_PER_MS = 32
/** Maximum size of a body that is read before it is sent, because a stream costs more than sending it. */
const MAX_BUFFERED_BYTES = 256 * 1024

/**
 * Uploads a file.
 *
 * @throws GdnError `refused` if the server doesn't accept uploads
 */
export async function upload(
  server: ClientServer,
  file: string | Uint8Array,
  name: string,
  { signal, sha256 }: UploadOptions,
): Promise<{ url: string }> {
  const { contentType, body } = await multipartFile(file, name, sha256)
  const target = await targetOf(server, 'files')
  const headers = { 'content-type': contentType }
  const extraMs = Math.ceil(body.size / UPLOAD_BYTES_PER_MS)
  const content = body.size <= MAX_BUFFERED_BYTES ? { body: await bytesOf(body) } : { stream: body }
  const once = () => server.dispatch.post({ ...target, content, headers, signal, extraMs })
  try {
    return await decode('files', target.url, await retryRead(target.url, server.clock, signal, once))
  } catch (error) {
    if (!lacksEndpoint(error)) throw error
    throw new GdnError(
      'refused',
      `${server.baseUrl} accepts no uploads, so ${name} can't be used as a file of an NFT`,
      {
        hint: 'Put the file where the server can fetch it, and use its http(s) or ipfs URL.',
        details: { status: statusOf(error) },
        cause: error,
      },
    )
  }
}

async function bytesOf(body: StreamedBody): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const part of body.open()) parts.push(part)
  return Buffer.concat(parts)
}
