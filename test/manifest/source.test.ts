import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readImage } from '../../src/cli/image/read-image.ts'
import { LocalContents } from '../../src/files/local-content.ts'
import { type ManifestOptions, readManifest, validateManifest } from '../../src/manifest/read.ts'
import type { ManifestIssue, ManifestRow } from '../../src/manifest/row.ts'
import { pngNamed } from '../helpers/images.ts'
import { ALICE, BOB, OPTIONS, read, told } from './helpers.ts'

const HEAD = 'title,description,receiver'
let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'gdn-manifest-')))
})
afterEach(() => rm(folder, { recursive: true }))

const issuesOf = async (path: string) =>
  (await validateManifest({ path }, OPTIONS)).issues.map(({ message }) => message)

test.skipIf(process.platform === 'win32')('names / for a path of Windows whose file exists', async () => {
  await mkdir(join(folder, 'Bilder'))
  for (const name of ['Bild 01.txt', 'Böe.txt'.normalize('NFD')])
    await writeFile(join(folder, 'Bilder', name), 'not empty')
  const rows = [
    `Dawn,x,${ALICE},Bilder\\Bild 01.txt`,
    `Dusk,x,${ALICE},Bilder\\none.txt`,
    `Eve,x,${ALICE},Bilder\\${'Böe.txt'.normalize('NFC')}`,
    `Noon,x,${ALICE},C:\\Bilder\\x.png`,
  ]
  await writeFile(join(folder, 'drop.csv'), `${HEAD},image\n${rows.join('\n')}\n`)
  const { issues } = await validateManifest({ path: join(folder, 'drop.csv') }, OPTIONS)
  expect(issues.map(({ message, hint }) => [message.includes("doesn't exist"), hint])).toEqual([
    [true, 'The path is correct with / instead of \\. Use / in paths, even on Windows.'],
    [true, expect.stringContaining('Use / in paths, even on Windows. Paths are relative to the folder')],
    [true, expect.stringContaining('The path is correct with /')],
    [true, 'Use a path relative to the folder of the manifest, with / between folders.'],
  ])
})

// On macOS, both forms name one file.
describe.skipIf(process.platform === 'darwin')('a file whose name has another Unicode normalization', () => {
  const forms = ['NFC', 'NFD'] as const

  test.each(forms)('is read where it is the only one (%s)', async (form) => {
    const [path, cell] = [form, forms.find((other) => other !== form)].map((each) => 'Möwen/Möwe.png'.normalize(each))
    await mkdir(join(folder, 'Möwen'.normalize(form)))
    const file = join(folder, path ?? '')
    await writeFile(file, pngNamed('gull'))
    await writeFile(join(folder, 'drop.csv'), `${HEAD},image\nDawn,x,${ALICE},${cell}\n`)
    const rows: ManifestRow[] = []
    const { issues } = await validateManifest({ path: join(folder, 'drop.csv') }, OPTIONS, (row) => rows.push(row))
    expect(issues).toEqual([])
    // The row stays the same on a machine whose file has the name of the cell.
    const [named] = rows[0]?.localFiles ?? []
    expect(named?.path).toBe(join(folder, cell ?? ''))
    expect(await new LocalContents().read(named?.path ?? '')).toEqual(await new LocalContents().read(file))
    expect(await readImage(named?.path ?? '')).toEqual(Buffer.from(pngNamed('gull')))
  })

  test('is not guessed where several files match', async () => {
    for (const name of ['\u1e69.png', 's\u0323\u0307.png']) await writeFile(join(folder, name), pngNamed('gull'))
    await writeFile(join(folder, 'drop.csv'), `${HEAD},image\nDawn,x,${ALICE},s\u0307\u0323.png\n`)
    expect(await issuesOf(join(folder, 'drop.csv'))).toEqual([expect.stringContaining("doesn't exist")])
  })
})

describe('rejects a path that is not a file without opening it:', () => {
  test('a directory', async () => {
    expect(await issuesOf(folder)).toEqual(['is a directory, not a manifest'])
  })

  test('a path that does not exist', async () => {
    expect(await issuesOf(join(folder, 'no.csv'))).toEqual(["doesn't exist"])
  })

  test.skipIf(process.platform === 'win32')('a pipe', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe.csv')])
    expect(await issuesOf(join(folder, 'pipe.csv'))).toEqual(['is a pipe, not a file'])
  })

  test.skipIf(process.platform === 'win32')('an endless device', async () => {
    expect(await issuesOf('/dev/zero')).toEqual(['is a device, not a file'])
  })

  test.skipIf(process.platform === 'win32')('a symbolic link to itself', async () => {
    await symlink(join(folder, 'a.csv'), join(folder, 'b.csv'))
    await symlink(join(folder, 'b.csv'), join(folder, 'a.csv'))
    expect(await issuesOf(join(folder, 'a.csv'))).toEqual([expect.stringMatching(/^can't be read: ELOOP/)])
  })

  test.skipIf(process.platform === 'win32')('a socket', async () => {
    const server = createServer()
    const listening = once(server, 'listening')
    // The address of a socket has at most 107 bytes, fewer than the path of some temporary folders.
    const inFolder = (work: () => unknown) => {
      const before = process.cwd()
      process.chdir(folder)
      work()
      process.chdir(before)
    }
    inFolder(() => server.listen('s'))
    await listening
    expect(await issuesOf(join(folder, 's'))).toEqual(['is a socket, not a file'])
    inFolder(() => server.close())
  })
})

describe('local files', () => {
  async function rowsOf(
    cell: string,
    name = 'drop.csv',
    options: Partial<ManifestOptions> = {},
  ): Promise<{ rows: ManifestRow[]; issues: string[] }> {
    await writeFile(join(folder, name), `${HEAD},image\nDawn,First,${ALICE},${cell}\n`)
    const rows: ManifestRow[] = []
    const issues: string[] = []
    for await (const item of readManifest({ path: join(folder, name) }, { ...OPTIONS, ...options })) {
      if ('row' in item) rows.push(item.row)
      else issues.push(told(item.issue))
    }
    return { rows, issues }
  }

  test('are found next to the manifest, and have no URL until they are uploaded', async () => {
    await mkdir(join(folder, 'art work'))
    await writeFile(join(folder, 'art work', '1.png'), pngNamed('1'))
    const { rows } = await rowsOf('art work/1.png')
    expect(rows[0]?.localFiles).toEqual([{ key: 'image', path: join(folder, 'art work', '1.png') }])
    expect(rows[0]?.metadata.file_fields).toEqual([{ key: 'image', url: '' }])
  })

  test('rejects local files outside of the manifest’s folder, by path or link, unless the user added their folder', async () => {
    await mkdir(join(folder, 'drop'))
    await writeFile(join(folder, 'id_key'), 'secret')
    await symlink(join(folder, 'id_key'), join(folder, 'drop', 'art'))
    const outside = expect.stringMatching(/is outside the manifest's folder, and would be published/)
    for (const cell of ['../id_key', join(folder, 'id_key'), 'art']) {
      expect((await rowsOf(cell, 'drop/drop.csv')).issues).toEqual([outside])
      expect((await rowsOf(cell, 'drop/drop.csv', { fileFolders: [folder] })).issues).toEqual([])
    }
  })

  test('rejects local files that are hidden or in a hidden folder, by path or link', async () => {
    await mkdir(join(folder, '.ssh'))
    await writeFile(join(folder, '.ssh', 'id_key'), 'secret')
    await writeFile(join(folder, '.env'), 'secret')
    await symlink('.ssh', join(folder, 'art'))
    for (const cell of ['.ssh/id_key', '.env', 'art/id_key']) {
      const { issues } = await rowsOf(cell, 'drop.csv', { fileFolders: [folder] })
      expect(issues).toEqual([expect.stringMatching(/is a hidden file, or in a hidden folder/)])
    }
  })

  test("are errors with their row if they contradict their extension or can't be decoded", async () => {
    await writeFile(join(folder, 'big.png'), Buffer.alloc(100_000, 'noise'))
    await writeFile(join(folder, 'cut.png'), pngNamed('cut').subarray(0, -4))
    expect((await rowsOf('big.png')).issues).toEqual([
      `${join(folder, 'drop.csv')}:2:4 (image) image is not a PNG image, despite its name: ${join(folder, 'big.png')}`,
    ])
    expect((await rowsOf('cut.png')).issues).toEqual([
      expect.stringMatching(/:2:4 \(image\) image is a PNG image that can't be decoded: it ends early: .*cut\.png$/),
    ])
  })

  test('local files of an unknown type are reported once, at their first row', async () => {
    await writeFile(join(folder, 'a.xyz'), Buffer.from([0, 1, 2]))
    const rows = [2, 3, 4].map((n) => `${n},B,${ALICE},a.xyz`)
    await writeFile(join(folder, 'drop.csv'), `${HEAD},image\n${rows.join('\n')}\n`)
    const warnings: string[] = []
    const onFileWarning = (warning: ManifestIssue) => void warnings.push(told(warning))
    expect(await validateManifest({ path: join(folder, 'drop.csv') }, { ...OPTIONS, onFileWarning })).toMatchObject({
      rows: 3,
      issueCount: 0,
    })
    expect(warnings).toEqual([expect.stringMatching(/:2:4 \(image\) image has an unknown type \(\.xyz\), .*a\.xyz$/)])
  })

  test('may be reached through a link, by an absolute path, or by a name with a drive letter', async () => {
    await writeFile(join(folder, 'real.png'), pngNamed('real'))
    await symlink(join(folder, 'real.png'), join(folder, 'link.png'))
    await writeFile(join(folder, 'C:\\x.png'), pngNamed('x'))
    for (const cell of ['link.png', join(folder, 'real.png'), './real.png', 'C:\\x.png']) {
      expect((await rowsOf(cell)).issues).toEqual([])
    }
  })

  test('must not be HTML pages with the name of a picture', async () => {
    await writeFile(join(folder, 'page.png'), '<!doctype html><title>Not found</title>')
    expect((await rowsOf('page.png')).issues[0]).toContain('(image) image is an HTML page: ')
  })

  test('must be regular files, not empty, and at most 64 MiB', async () => {
    await writeFile(join(folder, 'empty.png'), '')
    await writeFile(join(folder, 'large.png'), 'x')
    await truncate(join(folder, 'large.png'), 64 * 1024 * 1024 + 1)
    expect((await rowsOf('empty.png')).issues[0]).toContain('(image) image is empty: ')
    expect((await rowsOf('large.png')).issues[0]).toContain(
      '(image) image has 67108865 bytes, but at most 67108864 are allowed: ',
    )
    expect((await rowsOf('.')).issues[0]).toContain('(image) image is a directory: ')
  })
})

test.skipIf(process.platform === 'win32')(
  'rejects a local file that is a pipe, a device or a link to itself without opening it',
  async () => {
    execFileSync('mkfifo', [join(folder, 'pipe.png')])
    await symlink(join(folder, 'circle.png'), join(folder, 'circle.png'))
    const cells = ['pipe.png', '/dev/zero', 'circle.png']
    const lines = cells.map((cell) => `Dawn,First,${ALICE},${cell}`)
    await writeFile(join(folder, 'drop.csv'), `${HEAD},image\n${lines.join('\n')}\n`)
    expect(await issuesOf(join(folder, 'drop.csv'))).toEqual([
      `image is not a regular file: ${join(folder, 'pipe.png')}`,
      'image is not a regular file: /dev/zero',
      expect.stringMatching(/^image can't be read: ELOOP/),
    ])
  },
)

describe('the format', () => {
  test.each([
    ['drop.csv', `${HEAD}\nA,B,${ALICE}\n`],
    ['drop.TSV', `title\tdescription\treceiver\nA\tB\t${ALICE}\n`],
    ['drop.json', JSON.stringify([{ title: 'A', description: 'B', receiver: ALICE }])],
    ['drop.jsonl', JSON.stringify({ title: 'A', description: 'B', receiver: ALICE })],
    ['drop.ndjson', JSON.stringify({ title: 'A', description: 'B', receiver: ALICE })],
    ['drop', JSON.stringify([{ title: 'A', description: 'B', receiver: ALICE }])],
  ])('of %s is determined by its name, otherwise by its first bytes', async (name, content) => {
    await writeFile(join(folder, name), content)
    expect(await validateManifest({ path: join(folder, name) }, OPTIONS)).toMatchObject({ rows: 1, issueCount: 0 })
  })
})

describe('validateManifest', () => {
  test('counts rows, distinct receivers in any spelling and distinct files, and returns the target', async () => {
    await writeFile(join(folder, 'a.png'), pngNamed('a'))
    await writeFile(join(folder, 'b.png'), pngNamed('b'))
    const rows = [
      ['A', 'B', ALICE, 'a.png', BOB, 'astar'],
      ['A', 'B', ALICE.toLowerCase(), 'a.png', BOB, 'astar'],
      ['A', 'B', BOB, 'b.png', BOB, 'astar'],
    ]
    await writeFile(
      join(folder, 'drop.csv'),
      `${HEAD},image,contract_address,blockchain\n${rows.map((row) => row.join(',')).join('\n')}\n`,
    )
    expect(await validateManifest({ path: join(folder, 'drop.csv') }, { ...OPTIONS, blockchain: null })).toEqual({
      rows: 3,
      issues: [],
      issueCount: 0,
      receivers: 2,
      files: 2,
      target: { blockchain: 'astar', contractAddress: BOB },
    })
  })

  test('keeps the first thousand issues and counts all', async () => {
    await writeFile(join(folder, 'drop.csv'), `${HEAD}\n${`,B,${ALICE}\n`.repeat(1500)}`)
    const summary = await validateManifest({ path: join(folder, 'drop.csv') }, OPTIONS)
    expect(summary).toMatchObject({ rows: 0, issueCount: 1500 })
    expect(summary.issues).toHaveLength(1000)
  })

  test('detects a repeated id among a hundred thousand', async () => {
    const lines = Array.from({ length: 100_000 }, (_, i) => `A,B,${ALICE},id-${i}`)
    lines.push(`A,B,${ALICE},id-77`)
    const { issues } = await read(`${HEAD},id\n${lines.join('\n')}\n`, { size: 64 * 1024 })
    expect(issues.map(told)).toEqual(['stdin:100002:4 (id) id "id-77" is already used on line 79'])
  })
})
