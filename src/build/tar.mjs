import { readFile, stat } from 'node:fs/promises'

const BLOCK = 512

/** The modification time of all entries, as in npm packages. Equal files therefore result in equal archives. */
const MODIFIED = Date.UTC(1985, 9, 26, 8, 15) / 1000

/**
 * Yields a tar archive in which all files belong to root, and have none of this machine's timestamps.
 *
 * @param entries pairs of the path in the archive and the file
 */
export async function* tarEntries(entries) {
  for (const [path, from] of entries) {
    const contents = await readFile(from)
    const isProgram = ((await stat(from)).mode & 0o111) !== 0 || path.endsWith('.exe')
    yield header(path, contents.length, isProgram ? 0o755 : 0o644)
    yield contents
    yield Buffer.alloc((BLOCK - (contents.length % BLOCK)) % BLOCK)
  }
  yield Buffer.alloc(2 * BLOCK)
}

/** Returns the header of a file in the format ustar. */
function header(path, size, mode) {
  if (Buffer.byteLength(path) > 100) throw new Error(`the path is too long for a tar archive: ${path}`)
  const block = Buffer.alloc(BLOCK)
  const octal = (value, length) => `${value.toString(8).padStart(length - 1, '0')}\0`
  block.write(path, 0)
  block.write(octal(mode, 8), 100)
  block.write(octal(0, 8), 108)
  block.write(octal(0, 8), 116)
  block.write(octal(size, 12), 124)
  block.write(octal(MODIFIED, 12), 136)
  block.write(`${' '.repeat(8)}0`, 148)
  block.write('ustar\x0000root', 257)
  block.write('root', 297)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}
