import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { MAX_FILE_BYTES } from '../api/endpoints/files.ts'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import type { StreamedBody } from './transport.ts'

export interface MultipartBody {
  contentType: string
  body: StreamedBody
}

/** One file as a multipart form with the field `file`; it can be sent several times. */
export async function multipartFile(content: string | Uint8Array, name: string): Promise<MultipartBody> {
  const size = typeof content === 'string' ? await sizeOf(content) : content.length
  if (size > MAX_FILE_BYTES) {
    throw new GdnError('invalid_input', `${name} has ${size} bytes; at most ${MAX_FILE_BYTES} can be uploaded`)
  }
  const boundary = `gdn-${randomBytes(18).toString('hex')}`
  const head = Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${escapeName(name)}"\r\n` +
      'content-type: application/octet-stream\r\n\r\n',
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: {
      size: head.length + size + tail.length,
      async *open() {
        yield head
        if (typeof content === 'string') yield* readExactly(content, size)
        else yield content
        yield tail
      },
    },
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (found.isFile()) return found.size
  } catch (error) {
    const what = systemCode(error) === 'ENOENT' ? 'there is no such file' : messageOf(error)
    throw new GdnError('invalid_input', `${path} can't be uploaded: ${what}`, { place: { file: path }, cause: error })
  }
  throw new GdnError('invalid_input', `${path} can't be uploaded: it is no regular file`, { place: { file: path } })
}

// The length was announced; a file that changes while it is read must not become a broken request.
async function* readExactly(path: string, size: number): AsyncIterable<Uint8Array> {
  let read = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    read += chunk.length
    if (read > size) break
    yield chunk
  }
  if (read !== size)
    throw new GdnError('invalid_input', `${path} changed while it was uploaded`, { place: { file: path } })
}

// As browsers do it (HTML, multipart/form-data): these three would end the quoted text or the line.
function escapeName(name: string): string {
  return name.replace(/[\r\n"]/g, (char) => encodeURIComponent(char))
}
