import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freshDataDir } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { pngNamed } from '../helpers/images.ts'
import { report } from '../helpers/seed.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const NODE = process.env.GDN_TEST_NODE ?? process.execPath
const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let backend: ServedBackend
let home: string
let contract: string

beforeAll(async () => {
  dataDir = await freshDataDir()
  backend = await serve(dataDir.path, ['--rate-limits', 'off']).ready
})
afterAll(async () => {
  await backend.end('SIGTERM')
  await dataDir.remove()
})
beforeEach(async () => {
  home = await temporaryFolder('gdn-machine-')
  const made = await gdnAt(backend, home).json<{ contract_address: string }>(
    ...['collection', 'create', '--name', 'Machine', '--wallet', WALLET],
  )
  contract = made.contract_address
})

const rowsOf = (count: number) =>
  `title,description,receiver\n${Array.from({ length: count }, (_, row) => `Piece ${row},One,${WALLET}`).join('\n')}\n`

interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a line of bash in which `$GDN` is the built gdn. */
function bash(script: string, env: Record<string, string> = {}): Promise<Outcome> {
  const child = spawn('bash', ['-c', script], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      GDN_PACE_DIR: join(home, '.pace'),
      GDN: `${NODE} ${GDN_BIN}`,
      GDN_BASE_URL: backend.url,
      GDN_API_KEY: backend.apiKey,
      GDN_BLOCKCHAIN: 'polygon',
      GDN_CONTRACT: contract,
      ...env,
    },
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString()
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...output })))
}

/** Titles in the collection, sorted. */
async function minted(): Promise<string[]> {
  const { stdout, stderr, code } = await bash('$GDN nft list --json')
  expect(code, stderr).toBe(0)
  const nfts = JSON.parse(stdout) as { request_metadata: { title: string } }[]
  return nfts.map(({ request_metadata }) => request_metadata.title).sort()
}

const titles = (count: number) => Array.from({ length: count }, (_, row) => `Piece ${row}`).sort()

describe('batch mint on a machine with problems', () => {
  test('sends nothing while the disk is full, and mints every row once after space is freed', async (context) => {
    const disk = await createSmallDisk(2048)
    if (typeof disk === 'string') {
      report(disk)
      return context.skip()
    }
    try {
      await writeFile(join(home, 'drop.csv'), rowsOf(200))
      await disk.fill()
      const mint = () => bash('$GDN batch mint drop.csv --chunk-size 10', { GDN_STATE_DIR: disk.path })
      const full = await mint()
      expect(full).toMatchObject({ code: 2, stdout: '' })
      expect(full.stderr).toMatch(/no space left/)
      expect(await minted()).toEqual([])
      // Room for the rows and the first requests, not for all of them.
      for (const kilobytes of [160, 320, 480]) {
        await disk.leave(kilobytes)
        const half = await mint()
        if (half.code !== 0) expect(half.stderr).toMatch(/no space left|the outcome of/)
        await disk.fill()
      }
      await disk.makeRoom()
      const whole = await mint()
      expect(whole.code, whole.stderr).toBe(0)
      expect(await minted()).toEqual(titles(200))
    } finally {
      await disk.remove()
    }
  })

  test('mints every row once while the clock jumps back ten minutes and forward an hour', async () => {
    await writeFile(join(home, 'drop.csv'), rowsOf(60))
    await writeFile(
      join(home, 'clock.cjs'),
      `const real = Date.now; let calls = 0
       Date.now = () => real() + (++calls % 3 === 0 ? 3_600_000 : calls % 3 === 1 ? -600_000 : 0)`,
    )
    const { code, stderr } = await bash('$GDN batch mint drop.csv --chunk-size 5', {
      NODE_OPTIONS: `--require ${join(home, 'clock.cjs')}`,
    })
    expect(code, stderr).toBe(0)
    expect(await minted()).toEqual(titles(60))
  })

  test('works in a home directory with spaces and emoji', async () => {
    const odd = join(home, 'my 🖼️ files')
    await mkdir(odd)
    await writeFile(join(odd, 'the drop №1.csv'), rowsOf(3))
    const { code, stderr } = await bash('cd "$HOME" && $GDN batch mint "the drop №1.csv"', { HOME: odd })
    expect(code, stderr).toBe(0)
    const results = await bash('$GDN batch results "the drop №1" -o ids', { HOME: odd })
    expect(results.stdout.trim().split('\n')).toHaveLength(3)
  })

  test.each([
    // A file in place of the directory: that fails for root, too.
    ['has no usable state directory', '/home', /can't use the state directory .*\n.*--state-dir/s],
    ['can’t be created', '/file/home', /can't be reached: a part of its path is not a directory/],
  ])('sends nothing and reports the error if the home directory %s', async (_what, where, words) => {
    await writeFile(join(home, 'file'), rowsOf(2))
    await mkdir(join(home, 'home'))
    await writeFile(join(home, 'home', '.local'), '')
    const { code, stderr, stdout } = await bash(`$GDN batch mint - --run x < file`, { HOME: home + where })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(words)
    expect(await minted()).toEqual([])
  })

  test('lets one of several simultaneous processes run, and names its pid to the others', async () => {
    await writeFile(join(home, 'drop.csv'), rowsOf(120))
    const mint = () => bash('$GDN batch mint drop.csv --chunk-size 1 --rate 60')
    const ends = await Promise.all([mint(), mint(), mint()])
    expect(ends.map(({ code }) => code).sort()).toEqual([0, 2, 2])
    for (const { code, stderr } of ends)
      if (code === 2) expect(stderr).toMatch(/another gdn process is working on this run.*pid \d+/)
    expect(await minted()).toEqual(titles(120))
  })

  test.each([
    ['closed', '>&-', [0, 1]],
    ['a closed pipe', '| true', [0]],
    ['full', '> /dev/full', [1]],
  ])('mints every row if stdout is %s', async (_what, where, codes) => {
    await writeFile(join(home, 'drop.csv'), rowsOf(5))
    const { code, stderr } = await bash(`$GDN batch mint drop.csv --json ${where}`)
    expect(codes).toContain(code)
    expect(stderr).not.toContain('    at ')
    expect(await minted()).toEqual(titles(5))
  })

  test.each(['', '--json', '-o csv'])('exits with 1 if stdout is full when it prints results %s', async (format) => {
    await writeFile(join(home, 'drop.csv'), rowsOf(5))
    expect(await bash('$GDN batch mint drop.csv')).toMatchObject({ code: 0 })
    const { code, stderr } = await bash(`$GDN batch results drop ${format} > /dev/full`)
    expect(code).toBe(1)
    expect(stderr).toContain("can't write to stdout: no space left on the disk")
  })

  test('mints rows with hundreds of local files at 64 open files and a heap of 256 MB', async () => {
    await mkdir(join(home, 'art'))
    const rows = Array.from({ length: 250 }, (_, row) => row)
    await Promise.all(rows.map((row) => writeFile(join(home, 'art', `${row}.png`), pngNamed(`piece ${row}`))))
    const lines = rows.map((row) => `Piece ${row},One,art/${row}.png,${WALLET}`)
    await writeFile(join(home, 'drop.csv'), `title,description,image,receiver\n${lines.join('\n')}\n`)
    const { code, stderr } = await bash('ulimit -n 64; $GDN batch mint drop.csv', {
      NODE_OPTIONS: '--max-old-space-size=256',
    })
    expect(code, stderr).toBe(0)
    expect(await minted()).toEqual(titles(250))
  })

  test('creates only private files in the state directory', async () => {
    await writeFile(join(home, 'drop.csv'), rowsOf(2))
    expect((await bash('umask 000; $GDN batch mint drop.csv')).code).toBe(0)
    const { stdout } = await bash('find .local/state -perm /077')
    expect(stdout).toBe('')
    const state = join(home, '.local', 'state', 'gdn')
    const files = await readdir(state, { recursive: true, withFileTypes: true })
    const texts = await Promise.all(
      files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
    )
    expect(texts.length).toBeGreaterThan(0)
    for (const text of texts) expect(text).not.toContain(backend.apiKey)
  })
})
