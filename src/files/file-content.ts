import { open } from 'node:fs/promises'
import { extname } from 'node:path'
import { looksLikeHtml, SNIFF_BYTES } from './content-type.ts'

/**
 * The rule for content that may become a file of an NFT, however it arrives: fetched, uploaded, or read from this
 * machine. A missing image is often empty, or an error page.
 *
 * @param head the first bytes, {@link SNIFF_BYTES} of them if the file has as many
 * @returns what the content is if it must not be stored, or null
 */
export function contentProblem(
  head: Uint8Array,
  { allowHtml }: { allowHtml: boolean },
): 'an empty file' | 'an HTML page' | null {
  if (head.length === 0) return 'an empty file'
  return !allowHtml && looksLikeHtml(head) ? 'an HTML page' : null
}

/** Reads the first bytes, enough to detect the type. */
export async function readHead(body: AsyncIterator<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for (let size = 0; size < SNIFF_BYTES; ) {
    const next = await body.next()
    if (next.done) break
    parts.push(next.value)
    size += next.value.length
  }
  return Buffer.concat(parts)
}

/**
 * Returns the {@link contentProblem} of a local file. A file with the name of an HTML page is left to the server, which
 * knows whether it stores such files.
 */
export async function localContentProblem(path: string): Promise<string | null> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0)
    const allowHtml = ['.html', '.htm', '.xhtml'].includes(extname(path).toLowerCase())
    return contentProblem(buffer.subarray(0, bytesRead), { allowHtml })
  } finally {
    await file.close()
  }
}
