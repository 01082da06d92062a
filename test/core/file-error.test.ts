import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createIo } from '../../src/cli/io.ts'
import { reportError } from '../../src/cli/report-error.ts'
import { writeDurably } from '../../src/core/durable-file.ts'
import { writeNewFile } from '../../src/core/new-file.ts'
import { writePrivateFile } from '../../src/core/private-file.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'

const CONTENT = 'x'.repeat(200_000)

describe('a full disk', () => {
  test.each([
    ['a private file', (path: string) => writePrivateFile(path, CONTENT)],
    ['a new file', (path: string) => writeNewFile(path, CONTENT)],
    ['a durable file', (path: string) => writeDurably(path, (file) => file.writeFile(CONTENT))],
  ])('is reported with the path of %s, and not as an unexpected failure', async (_what, write) => {
    const disk = await createSmallDisk(64)
    if (typeof disk === 'string') return expect(disk).toContain("can't be mounted")
    try {
      const path = join(disk.path, 'file.json')
      const error: unknown = await write(path).catch((reason: unknown) => reason)
      const written: string[] = []
      const stderr = {
        isTTY: false,
        columns: 500,
        write: (chunk: string) => written.push(chunk) > 0,
        getColorDepth: () => 1,
      }
      const settings = { machine: false, quiet: false, debug: false, input: false, noColour: true }
      const io = await createIo({ env: {}, stdin: process.stdin, stdout: stderr, stderr }, settings)
      expect(reportError(io, stderr, error)).toBe(2)
      const text = written.join('')
      expect(text).toMatch(new RegExp(`^error: ${path}: no space left on the disk`))
      expect(text).not.toContain('fault of gdn')
    } finally {
      await disk.remove()
    }
  })
})
