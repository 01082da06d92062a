import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { MAX_FILE_BYTES } from '../api/endpoints/files.ts'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { existingPath } from '../core/existing-path.ts'
import { localContentProblem } from '../files/file-content.ts'
import type { StreamedBody } from './transport.ts'

/**
 * Prepares a file, given by its path or bytes, for an upload. The body can be read several times.
 *
 * @param sha256 the expected hash in hexadecimal. If it differs, reading the body fails at its end
 * @throws GdnError `invalid_input` if the content isn't a regular file, is empty or too large, or is an HTML page
 */
export async function streamedContent(
  given: string | Uint8Array,
  name: string,
  sha256?: string,
): Promise<StreamedBody> {
  const content = typeof given === 'string' ? existingPath(given) : given
  const size = typeof content === 'string' ? await sizeOf(content) : content.length
  if (size > MAX_FILE_BYTES) {
    throw new GdnError('invalid_input', `${name} has ${size} bytes, but at most ${MAX_FILE_BYTES} can be uploaded`)
  }
  const problem = typeof content === 'string' ? await localContentProblem(content) : null
  if (problem !== null) {
    throw new GdnError('invalid_input', `${name} is ${problem}, which can't be a file of an NFT`, {
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

async function sizeOf(path: string): Promise<number> {
  try {
    const stats = await stat(path)
    if (stats.isFile()) return stats.size
  } catch (error) {
    const what = systemCode(error) === 'ENOENT' ? "it doesn't exist" : messageOf(error)
    throw new GdnError('invalid_input', `${path} can't be uploaded: ${what}`, { place: { file: path }, cause: error })
  }
  throw new GdnError('invalid_input', `${path} can't be uploaded: it is not a regular file`, { place: { file: path } })
}

// Throw if a file changes while it is read. Its size was already sent, so the request would be malformed.
async function* readExactly(path: string, size: number, sha256: string | undefined): AsyncIterable<Uint8Array> {
  const hash = sha256 === undefined ? null : createHash('sha256')
  let read = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    read += chunk.length
    if (read > size) break
    hash?.update(chunk)
    yield chunk
  }
  if (read !== size || (hash !== null && hash.digest('hex') !== sha256))
    throw new GdnError('invalid_input', `${path} changed while it was uploaded`, { place: { file: path } })
}
