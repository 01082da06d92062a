import { randomBytes } from 'node:crypto'
import { streamedContent } from './local-content.ts'
import type { StreamedBody } from './transport.ts'

export interface MultipartBody {
  contentType: string
  body: StreamedBody
}

/**
 * Encodes a file as a multipart form with the field `file`. The form can be sent several times.
 *
 * @param sha256 the expected hash in hexadecimal. If it differs, the end of the form isn't sent
 */
export async function multipartFile(
  content: string | Uint8Array,
  name: string,
  sha256?: string,
): Promise<MultipartBody> {
  const file = await streamedContent(content, name, sha256)
  const boundary = `gdn-${randomBytes(18).toString('hex')}`
  const head = Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${escapeName(name)}"\r\n` +
      'content-type: application/octet-stream\r\n\r\n',
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: {
      size: head.length + file.size + tail.length,
      async *open() {
        yield head
        yield* file.open()
        yield tail
      },
    },
  }
}

// Escape the three characters that would end the quoted name or the line, as browsers do (HTML, multipart/form-data).
function escapeName(name: string): string {
  return name.replace(/[\r\n"]/g, (char) => encodeURIComponent(char))
}
