import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createIo } from '../../src/cli/io/io.ts'
import { reportError } from '../../src/cli/render/report-error.ts'
import { writeDurably } from '../../src/core/durable-file.ts'
import { writeNewFile } from '../../src/core/new-file.ts'
import { makePrivateDirectory, writePrivateFile } from '../../src/core/private-file.ts'
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
      const text = await reported(error)
      expect(text).toMatch(new RegExp(`^error: ${path}: no space left on the disk`))
      expect(text).not.toContain('bug in gdn')
    } finally {
      await disk.remove()
    }
  })
})

test('a folder that cannot be created is reported with its path, and not as an unexpected failure', async () => {
  const below: unknown = await makePrivateDirectory('/dev/null/gdn').catch((reason: unknown) => reason)
  expect(await reported(below)).toMatch(
    /^error: \/dev\/null\/gdn: a part of its path is not a directory\n {2}Check the path\.\n/,
  )
  // The error that Node returns on a read-only file system.
  const missing = Object.assign(new Error('ENOENT'), { code: 'ENOENT', syscall: 'mkdir', path: '/read-only/gdn' })
  expect(await reported(missing)).toMatch(/^error: \/read-only\/gdn: the directory can't be created/)
})

// Node 20's recursive mkdir retries it endlessly, in a thread that no signal ends.
test.runIf(process.platform === 'linux')('a folder in /proc is rejected without retrying forever', async () => {
  const error: unknown = await makePrivateDirectory('/proc/gdn/state').catch((reason: unknown) => reason)
  expect(await reported(error)).toMatch(/^error: \/proc\/gdn: the directory can't be created/)
})

/** Returns what gdn prints about a file error with exit code 2. */
async function reported(error: unknown): Promise<string> {
  const written: string[] = []
  const stderr = {
    isTTY: false,
    columns: 500,
    write: (chunk: string) => written.push(chunk) > 0,
    getColorDepth: () => 1,
  }
  const settings = { machine: false, quiet: false, debug: false, input: false, noColor: true }
  const io = await createIo({ env: {}, stdin: process.stdin, stdout: stderr, stderr }, settings)
  expect(reportError(io, stderr, error)).toBe(2)
  return written.join('')
}
