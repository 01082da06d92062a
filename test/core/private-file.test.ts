import { closeSync, writeSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  ensurePrivateFile,
  isLoose,
  openToAppend,
  readPrivateFile,
  readPrivateText,
  refuseForeignDirectory,
  refuseOpenDirectory,
  writePrivateFile,
} from '../../src/core/private-file.ts'
import { mkfifo } from '../cli/mkfifo.ts'

let dir: string
const usual = process.umask(0o022)
process.umask(usual)

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gdn-private-'))
})
afterEach(async () => {
  process.umask(usual)
  await rm(dir, { recursive: true, force: true })
})

const caught = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return error
  }
}

const modeOf = async (...names: string[]) => ((await stat(join(dir, ...names))).mode & 0o7777).toString(8)

describe.each([0o000, 0o077, 0o022])('with a umask of %o', (umask) => {
  beforeEach(() => {
    process.umask(umask)
  })

  test('writes a file with mode 0600 in folders with mode 0700, and leaves no draft', async () => {
    await writePrivateFile(join(dir, 'a', 'b', 'key'), 'one')
    await writePrivateFile(join(dir, 'a', 'b', 'key'), 'two')
    expect([await modeOf('a'), await modeOf('a', 'b'), await modeOf('a', 'b', 'key')]).toEqual(['700', '700', '600'])
    expect(readPrivateText(join(dir, 'a', 'b', 'key'))).toBe('two')
    expect(await readdir(join(dir, 'a', 'b'))).toEqual(['key'])
  })

  test('opens a file to append, or for another library, with mode 0600', async () => {
    closeSync(openToAppend(join(dir, 'log')))
    ensurePrivateFile(join(dir, 'db'))
    expect([await modeOf('log'), await modeOf('db')]).toEqual(['600', '600'])
  })
})

describe('writing', () => {
  test("replaces a link in its place, and does not touch the link's target", async () => {
    await writeFile(join(dir, 'victim'), 'theirs')
    await symlink(join(dir, 'victim'), join(dir, 'key'))
    await writePrivateFile(join(dir, 'key'), 'ours')
    expect(await readFile(join(dir, 'victim'), 'utf8')).toBe('theirs')
    expect(readPrivateText(join(dir, 'key'))).toBe('ours')
  })

  test('tightens the mode of an existing file', async () => {
    await writeFile(join(dir, 'key'), 'old')
    await chmod(join(dir, 'key'), 0o666)
    await writePrivateFile(join(dir, 'key'), 'new')
    expect(await modeOf('key')).toBe('600')
  })

  test('does not append to a log through a link, and removes the access of others to it', async () => {
    await writeFile(join(dir, 'victim'), '')
    await symlink(join(dir, 'victim'), join(dir, 'log'))
    expect(() => openToAppend(join(dir, 'log'))).toThrow(/ELOOP/)
    await writeFile(join(dir, 'loose'), 'a')
    await chmod(join(dir, 'loose'), 0o644)
    const file = openToAppend(join(dir, 'loose'))
    writeSync(file, 'b')
    closeSync(file)
    expect([await modeOf('loose'), await readFile(join(dir, 'loose'), 'utf8')]).toEqual(['600', 'ab'])
  })

  test('leaves nothing behind after an error', async () => {
    await mkdir(join(dir, 'key'))
    await writeFile(join(dir, 'key', 'x'), '')
    await expect(writePrivateFile(join(dir, 'key'), 'ours')).rejects.toThrow()
    expect(await readdir(dir)).toEqual(['key'])
  })
})

describe('reading', () => {
  test.each([0o604, 0o640, 0o660, 0o644, 0o602])(
    'rejects a file of mode %o with the command to fix it',
    async (mode) => {
      const path = join(dir, "it's a key")
      await writeFile(path, 'x')
      await chmod(path, mode)
      expect(caught(() => readPrivateFile(path, { code: 'unauthorized' }))).toMatchObject({
        code: 'unauthorized',
        hint: `Run \`chmod 600 '${dir}/it'\\''s a key'\`.`,
        place: { file: path },
      })
    },
  )

  test.each([0o600, 0o400])('reads a file of mode %o', async (mode) => {
    await writeFile(join(dir, 'key'), 'x', { mode })
    expect(readPrivateText(join(dir, 'key'))).toBe('x')
  })

  test('rejects a link in place of a file of gdn, and follows one that the user names', async () => {
    await writeFile(join(dir, 'mounted'), 'x', { mode: 0o600 })
    await symlink(join(dir, 'mounted'), join(dir, 'key'))
    expect(() => readPrivateFile(join(dir, 'key'))).toThrow('is a symbolic link')
    expect(readPrivateText(join(dir, 'key'), { mayBeLink: true })).toBe('x')
    await chmod(join(dir, 'mounted'), 0o644)
    expect(() => readPrivateFile(join(dir, 'key'), { mayBeLink: true })).toThrow(
      'contains a secret, but others can read or change it',
    )
  })

  test('rejects a directory, a pipe and a device at once', async () => {
    await mkfifo(join(dir, 'pipe'))
    expect(() => readPrivateFile(dir)).toThrow('is a directory')
    expect(() => readPrivateFile(join(dir, 'pipe'))).toThrow('not a regular file')
    expect(() => readPrivateFile('/dev/zero')).toThrow('not a regular file')
  })

  test('rejects a file that is too large, and returns null for a missing one', async () => {
    await writeFile(join(dir, 'key'), 'x'.repeat(11), { mode: 0o600 })
    expect(() => readPrivateFile(join(dir, 'key'), { maxBytes: 10 })).toThrow('larger than 10 bytes')
    expect(readPrivateFile(join(dir, 'nothing'))).toBeNull()
  })
})

describe('a folder for secrets', () => {
  test('below a world-writable one is rejected with the command to fix it, unless it has the sticky bit', async () => {
    const ours = join(dir, 'open', 'gdn')
    await mkdir(ours, { recursive: true })
    await chmod(join(dir, 'open'), 0o777)
    await expect(refuseOpenDirectory(ours)).rejects.toMatchObject({ hint: `Run \`chmod o-w ${join(dir, 'open')}\`.` })
    // The sticky bit, as on /tmp.
    await chmod(join(dir, 'open'), 0o1777)
    await refuseOpenDirectory(ours)
  })

  test('behind a link is checked at its own location and at that of the link', async () => {
    await mkdir(join(dir, 'open', 'gdn'), { recursive: true })
    await chmod(join(dir, 'open'), 0o777)
    await symlink(join(dir, 'open', 'gdn'), join(dir, 'link'))
    await expect(refuseOpenDirectory(join(dir, 'link'))).rejects.toThrow('is world-writable')
    await mkdir(join(dir, 'closed'), { mode: 0o700 })
    await symlink(join(dir, 'closed'), join(dir, 'open', 'link'))
    await expect(refuseOpenDirectory(join(dir, 'open', 'link'))).rejects.toThrow('is world-writable')
  })

  test('a folder for secrets that does not exist is checked by its parents', async () => {
    await refuseOpenDirectory(join(dir, 'none', 'gdn'))
    await chmod(dir, 0o777)
    await expect(refuseOpenDirectory(join(dir, 'none', 'gdn'))).rejects.toThrow('is world-writable')
  })

  test('a folder for secrets of a backend may be below a world-writable one, as with volumes, and must belong to its user', async () => {
    if (getuid?.() === 0) await chown(dir, 12_345, 12_345)
    const { uid } = await stat(dir)
    await chmod(dir, 0o777)
    await refuseForeignDirectory(dir, { uid })
    await expect(refuseForeignDirectory(dir, { uid: uid + 1 })).rejects.toThrow('belongs to another user')
  })

  test('a folder for secrets of another user is rejected, except for root', async () => {
    // A folder of root is trusted. As root, the test first gives it to another user.
    if (getuid?.() === 0) await chown(dir, 12_345, 12_345)
    const { uid } = await stat(dir)
    await refuseOpenDirectory(dir, { uid })
    await refuseOpenDirectory(dir, { uid: 0 })
    await expect(refuseOpenDirectory(dir, { uid: uid + 1 })).rejects.toThrow('belongs to another user')
  })
})

describe('the access of others to a file', () => {
  const ours = 1000
  test.each([
    ['accepts our file that only we can access', 0o600, ours, false],
    ['rejects our file that our group can read', 0o640, ours, true],
    ['accepts a file of root that our group can read, as a service gets its secrets', 0o440, 0, false],
    ['accepts a file of root that root can write and our group can read', 0o640, 0, false],
    ['rejects a file of root that our group can write', 0o660, 0, true],
    ['rejects a file of root that everybody can read', 0o444, 0, true],
    ["rejects another user's file that our group can read", 0o440, 1001, true],
  ])('%s', (_, mode, uid, loose) => {
    expect(isLoose({ mode: 0o100000 | mode, uid }, ours)).toBe(loose)
  })

  test('rejects for root a file that a group can read', () => {
    expect(isLoose({ mode: 0o100440, uid: 0 }, 0)).toBe(true)
  })
})
