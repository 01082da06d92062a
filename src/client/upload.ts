import { GdnError } from '../core/errors.ts'
import type { UploadOptions } from './api-client.ts'
import { decode } from './codec.ts'
import { multipartFile } from './multipart.ts'
import { lacksEndpoint, statusOf } from './responses.ts'
import { retryRead } from './retry-read.ts'
import { type ClientServer, targetOf } from './send-once.ts'

/** The slowest upload speed for which the timeout suffices, in bytes per millisecond. */
const UPLOAD_BYTES_PER_MS = 32

/**
 * Uploads a file.
 *
 * @throws GdnError `refused` if the server doesn't accept uploads
 */
export async function upload(
  server: ClientServer,
  content: string | Uint8Array,
  name: string,
  { signal, sha256 }: UploadOptions,
): Promise<{ url: string }> {
  const { contentType, body } = await multipartFile(content, name, sha256)
  const target = await targetOf(server, 'files')
  const headers = { 'content-type': contentType }
  const extraMs = Math.ceil(body.size / UPLOAD_BYTES_PER_MS)
  const once = () => server.dispatch.post({ ...target, content: { stream: body }, headers, signal, extraMs })
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
