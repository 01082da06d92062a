import { asyncIterableReader, readBlockHead, readHeader } from '@ipld/car/decoder'
import { MAX_BLOCK_BYTES, type TakeBlock } from './cid.ts'

/** Maximum length of the header and of each CID, in bytes. */
const MAX_HEAD_BYTES = 1024

/** Passes each block of a CARv1 file to `take`. Throws if the file is malformed. Uses a bounded amount of memory. */
export async function readCar(body: AsyncGenerator<Uint8Array>, take: TakeBlock): Promise<void> {
  const reader = asyncIterableReader(body)
  const heads: typeof reader = {
    upTo: (length) => reader.upTo(length),
    exactly: (length, seek) => reader.exactly(checkLength(length, MAX_HEAD_BYTES), seek),
    seek: (length) => reader.seek(length),
    get pos() {
      return reader.pos
    },
  }
  try {
    await readHeader(heads, 1)
    while ((await reader.upTo(8)).length > 0) {
      const { cid, blockLength } = await readBlockHead(heads)
      take(cid, await reader.exactly(checkLength(blockLength, MAX_BLOCK_BYTES), true))
    }
  } finally {
    // End the transfer, because the reader doesn't end it.
    await body.return(undefined)
  }
}

/** Returns a length that the CAR file states. Throws if the length is negative or greater than `maxLength`. */
function checkLength(length: number, maxLength: number): number {
  if (length >= 0 && length <= maxLength) return length
  throw new Error('the CAR file has a part that is too long')
}
