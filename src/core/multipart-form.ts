import { randomBytes } from 'node:crypto'

/** Content that is generated while it is sent. `open` can be called several times. */
interface FormContent {
  /** The exact number of bytes that `open` yields. */
  size: number
  open(): AsyncIterable<Uint8Array>
}

/** A multipart form with the value of its Content-Type header. */
export interface MultipartForm {
  contentType: string
  body: FormContent
}

/** Encodes a file as a multipart form with the field `file`. */
export function multipartForm(file: FormContent, name: string): MultipartForm {
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
