import { open } from 'node:fs/promises'
import { extname } from 'node:path'
import { looksLikeHtml, SNIFF_BYTES } from './content-type.ts'

/**
 * The rule for what may become a file of an NFT, for every way in: fetched, uploaded, or read from this machine.
 * A missing picture is often empty, or a page that says so.
 *
 * @param head the first bytes, {@link SNIFF_BYTES} of them where the file has so many
 * @returns what the content is that may not be stored, or null
 */
export function contentProblem(
  head: Uint8Array,
  { allowHtml }: { allowHtml: boolean },
): 'an empty file' | 'an HTML page' | null {
  if (head.length === 0) return 'an empty file'
  return !allowHtml && looksLikeHtml(head) ? 'an HTML page' : null
}

/** The first bytes: enough to tell what they are. */
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
 * {@link contentProblem} of a file on this machine. A file that is named as an HTML page is left to the server, which
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
