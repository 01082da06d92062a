import { open } from 'node:fs/promises'
import { extname } from 'node:path'
import { looksLikeHtml, SNIFF_BYTES } from './content-type.ts'

/**
 * Checks content that may become a file of an NFT, whether it is fetched, uploaded, or read from this machine. Servers
 * often return an empty file or an error page in place of a missing image.
 *
 * @param head the first {@link SNIFF_BYTES} bytes, or the whole file if it is smaller
 * @returns a description of content that must not be stored; null for other content
 */
export function contentProblem(
  head: Uint8Array,
  { allowHtml }: { allowHtml: boolean },
): 'an empty file' | 'an HTML page' | null {
  if (head.length === 0) return 'an empty file'
  return !allowHtml && looksLikeHtml(head) ? 'an HTML page' : null
}

/** Reads enough bytes from the beginning of a body to detect the content type. */
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
 * Returns the {@link contentProblem} of a local file. Allows an HTML page if the file has an HTML extension, because
 * the server then decides whether to store the file.
 */
export async function localContentProblem(path: string): Promise<string | null> {
  const allowHtml = ['.html', '.htm', '.xhtml'].includes(extname(path).toLowerCase())
  return contentProblem(await readLocalHead(path), { allowHtml })
}

/** Reads enough bytes from the beginning of a local file to detect the content type. */
export async function readLocalHead(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
