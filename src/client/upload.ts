import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { MAX_FILE_BYTES } from '../api/endpoints/files.ts'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { existingPath } from '../core/existing-path.ts'
import { type MultipartForm, multipartForm } from '../core/multipart-form.ts'
import { localContentProblem } from '../files/file-content.ts'
import type { UploadOptions } from './api-client.ts'
import { decode } from './codec.ts'
import { findStatus, lacksEndpoint } from './responses.ts'
import { retryRead } from './retry-read.ts'
import { type ClientServer, resolveTarget } from './send-once.ts'
import type { StreamedBody } from './transport.ts'

/**
 * Prepares a file, given by its path or bytes, for an upload. The body can be read several times.
 *
 * @param sha256 the expected hash in hexadecimal. If the hash differs, reading the body fails at the end
 * @throws GdnError `invalid_input` if the content isn't a regular file, is empty or too large, or is an HTML page
 */
export async function streamedContent(
  source: string | Uint8Array,
  name: string,
  sha256?: string,
): Promise<StreamedBody> {
  const content = typeof source === 'string' ? existingPath(source) : source
  const size = typeof content === 'string' ? await readFileSize(content) : content.length
  if (size > MAX_FILE_BYTES) {
    throw new GdnError('invalid_input', `${name} has ${size} bytes, but at most ${MAX_FILE_BYTES} can be uploaded`)
  }
  const problem = typeof content === 'string' ? await localContentProblem(content) : null
  if (problem !== null) {
    throw new GdnError('invalid_input', `${name} is ${problem}, which can't be used as a file of an NFT`, {
      hint: 'Use the file itself, not a page that shows it.',
    })
  }
  return {
    size,
    async *open() {
      if (typeof content === 'string') yield* readExactly(content, size, sha256)
      else yield content
    },
  }
}

async function readFileSize(path: string): Promise<number> {
  try {
    const stats = await stat(path)
    if (stats.isFile()) return stats.size
  } catch (error) {
    const reason = systemCode(error) === 'ENOENT' ? "it doesn't exist" : messageOf(error)
    throw new GdnError('invalid_input', `${path} can't be uploaded: ${reason}`, { place: { file: path }, cause: error })
  }
  throw new GdnError('invalid_input', `${path} can't be uploaded: it is not a regular file`, { place: { file: path } })
}

// Throws if the file changes while it is read. The size was already sent, so the request would be malformed.
async function* readExactly(path: string, size: number, sha256: string | undefined): AsyncIterable<Uint8Array> {
  const hash = sha256 === undefined ? null : createHash('sha256')
  let bytesRead = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    bytesRead += chunk.length
    if (bytesRead > size) break
    hash?.update(chunk)
    yield chunk
  }
  if (bytesRead !== size || (hash !== null && hash.digest('hex') !== sha256))
    throw new GdnError('invalid_input', `${path} changed while it was uploaded`, { place: { file: path } })
}

/**
 * Encodes a file as a multipart form with the field `file`. The form can be sent several times.
 *
 * @param sha256 the expected hash in hexadecimal. If the hash differs, the end of the form isn't sent
 */
export async function multipartFile(
  content: string | Uint8Array,
  name: string,
  sha256?: string,
): Promise<MultipartForm> {
  return multipartForm(await streamedContent(content, name, sha256), name)
}

/** Returns the maximum duration of an upload in milliseconds, based on a minimum speed of 32 bytes per millisecond. */
export const maxUploadMs = (bytes: number): number => Math.ceil(bytes / 32)

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
  const target = await resolveTarget(server, 'files')
  const headers = { 'content-type': contentType }
  const extraMs = maxUploadMs(body.size)
  const once = () => server.dispatch.post({ ...target, content: { stream: body }, headers, signal, extraMs })
  try {
    return await decode('files', target.url, await retryRead(target.url, server.clock, signal, once))
  } catch (error) {
    if (!lacksEndpoint(error)) throw error
    throw new GdnError(
      'refused',
      `${server.baseUrl} accepts no uploads, so ${name} can't be used as a file of an NFT`,
      {
        hint: 'Host the file where the server can fetch it, and use its http(s) or ipfs URL.',
        details: { status: findStatus(error) },
        cause: error,
      },
    )
  }
}
