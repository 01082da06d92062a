import { existsSync } from 'node:fs'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seriousViolations } from '../../helpers/axe.ts'
import { CHROMIUM, NO_CHROMIUM, startChromium } from '../../helpers/chromium.ts'
import { png, QUARTERS } from '../../helpers/images.ts'
import { folder } from '../batch/drop.ts'
import { type CliOptions, cli } from '../harness.ts'

const EVIL = '<script>document.title = 1</script><img src="http://127.0.0.1:1/x">'

/** Makes a home with an art.yaml of two layers whose names try to run scripts, and a one-of-one. */
async function art(count = 4) {
  const { path, options } = await folder({})
  await mkdir(path('layers'))
  await writeFile(path('layers/x.png'), png(QUARTERS))
  await writeFile(path('one.png'), png(QUARTERS))
  const traits = (letter: string) =>
    Array.from(
      { length: count },
      (_, i) => `      ${JSON.stringify(`${letter}${i} ${EVIL}`)}: { file: x.png, weight: ${i + 1} }`,
    )
  const layer = (name: string, letter: string) =>
    `  - name: ${JSON.stringify(name)}\n    folder: layers\n    traits:\n${traits(letter).join('\n')}\n`
  const name = `Eyes ${EVIL}`.replaceAll('/', '∕')
  await writeFile(
    path('art.yaml'),
    `title: ${JSON.stringify(`{number} ${EVIL}`)}\ndescription: D\ncollection: ${JSON.stringify(EVIL)}\nlayers:\n${layer(name, 'a')}${layer('Hat', 'b')}rules:\n  - { if: ${JSON.stringify(`Hat/b0 ${EVIL}`)}, excludes: ${JSON.stringify(`${name}/a0 ${EVIL}`)} }\none_of_ones:\n  - { at: 2, image: one.png, attributes: { Hat: none } }\n`,
  )
  const run = (...argv: string[]) => cli(['art', 'preview', path('art.yaml'), ...argv], { ...options, cwd: path('.') })
  const runIn = (terminal: CliOptions, ...argv: string[]) =>
    cli(['art', 'preview', path('art.yaml'), ...argv], {
      ...options,
      ...terminal,
      env: { ...options.env, ...terminal.env },
      cwd: path('.'),
    })
  return { path, run, runIn }
}

let browser: Browser | undefined

beforeAll(async () => {
  if (CHROMIUM !== undefined) browser = await startChromium()
})
afterAll(async () => {
  await browser?.close()
})

describe('gdn art preview', () => {
  test('names the command that generates the same edition, with --seed and --fit', async () => {
    const { run } = await art()
    const { code, stderr } = await run('--count', '12', '--seed', 'a b', '--fit', 'contain')
    expect([code, stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      0,
      expect.stringContaining("--count 12 --seed 'a b' --fit contain --out drop"),
    ])
  })

  test('shows the rarest, the commonest and a sample of the edition, each NFT once', async () => {
    const { run } = await art()
    const { code, stdout, stderr } = await run('--count', '12', '--sample', '3', '-o', 'json')
    expect(code, stderr).toBe(0)
    const all = JSON.parse(stdout) as { group: string; number: number }[]
    const records = all.filter(({ group }) => group !== 'warning')
    expect(records.map(({ group }) => group)).toEqual([
      ...['rarest', 'rarest', 'rarest', 'rarest', 'commonest', 'commonest', 'commonest', 'commonest'],
      ...['sample', 'sample', 'sample'],
    ])
    expect(new Set(records.map(({ number }) => number)).size).toBe(11)
  })

  test('shows a one-of-one as such, and not as an NFT whose layers are missing', async () => {
    const { run, path } = await art()
    const { stdout } = await run('--count', '12', '--out', 'p.html', '--json')
    const records = JSON.parse(stdout) as { number: number; rarest: readonly string[] }[]
    expect(records.find(({ number }) => number === 2)?.rarest).toEqual(['One-of-one', 'Hat: none (8.3%)'])
    const html = await readFile(path('p.html'), 'utf8')
    expect(html).toContain('One-of-one, Hat: none (8.3%)')
    expect(html).not.toContain('(missing)')
    expect(html).toContain('The edition has 11 NFTs from layers (12 including the one-of-one).')
  })

  test.each([
    ['art.yaml', 'the file is .*art.yaml, which is an input of the edition'],
    ['one.png', 'the file is one.png, which is an input of the edition'],
    ['linked/art.yaml', 'the file is .*art.yaml, which is an input of the edition'],
    ['layers/x.png', 'the file is x.png, which is an input of the edition'],
    ['layers/new.html', 'the file is in layers, which contains layers'],
    ['linked/layers/new.html', 'the file is in layers, which contains layers'],
    ['drop/manifest.csv', 'the file belongs to the edition in drop'],
    ['drop/edition.json', 'the file belongs to the edition in drop'],
  ])('refuses the output %s, even with --force', async (out, message) => {
    const { run, path } = await art()
    await symlink(path('.'), path('linked'))
    await mkdir(path('drop'))
    for (const name of ['manifest.csv', 'edition.json']) await writeFile(path(`drop/${name}`), name)
    const content = async () => (existsSync(path(out)) ? await readFile(path(out), 'base64') : null)
    const before = await content()
    for (const force of [[], ['--force']]) {
      const { code, stderr } = await run('--count', '4', '--out', out, ...force)
      expect([code, stderr.replaceAll(/\s+/g, ' ')]).toEqual([2, expect.stringMatching(message)])
    }
    expect(await content()).toBe(before)
  })

  test.each([
    ['none/p.html', 'the folder .*none does not exist'],
    ['one.png/p.html', 'the folder .*one.png does not exist'],
    // Only Linux has the file system at /proc.
    ['/proc/p.html', "(can't write /proc/p.html: files can't be created in this folder|the folder /proc does not .*)"],
  ])('names the flag and the reason if the page %s cannot be created', async (out, message) => {
    const { run } = await art()
    const { code, stderr } = await run('--count', '4', '--out', out)
    expect([code, stderr]).toEqual([2, expect.stringMatching(`error: --out: ${message}\n`)])
    expect(stderr).not.toContain('ENOENT')
  })

  test('writes a page beside art.yaml if that folder contains the layers', async () => {
    const { run, path } = await art()
    const text = await readFile(path('art.yaml'), 'utf8')
    await writeFile(path('x.png'), png(QUARTERS))
    await writeFile(path('art.yaml'), text.replaceAll('    folder: layers\n', ''))
    const { code, stderr } = await run('--count', '4', '--out', 'p.html')
    expect(code, stderr).toBe(0)
    expect((await run('--count', '4', '--out', 'x.png', '--force')).code).toBe(2)
  })

  test('draws images in a terminal in the order of their numbers', async () => {
    const { runIn } = await art()
    const env = { FORCE_COLOR: '3', TERM: 'xterm-256color' }
    const { stdout } = await runIn({ tty: true, columns: 200, env }, '--count', '12')
    // The titles below the images begin with the numbers, which have a line of their own.
    const shownNumbers = (stdout.match(/^\d+(?: +\d+)*$/gm) ?? []).flatMap((line) => line.split(/ +/).map(Number))
    expect(shownNumbers.length).toBe(8)
    expect(shownNumbers).toEqual(shownNumbers.toSorted((a, b) => a - b))
  })

  test('shows the same NFTs again for the same seed, and others for another seed', async () => {
    const { run } = await art()
    const one = await run('--count', '12', '--json')
    expect((await run('--count', '12', '--json')).stdout).toBe(one.stdout)
    expect((await run('--count', '12', '--seed', 'other', '--json')).stdout).not.toBe(one.stdout)
  })

  test('writes no page without --out, and overwrites a file without --force only if it is an earlier page', async () => {
    const { run, path } = await art()
    const { code, stderr } = await run('--count', '12')
    expect(code, stderr).toBe(0)
    expect(existsSync(path('art-preview.html'))).toBe(false)
    await writeFile(path('p.html'), 'mine')
    expect((await run('--count', '12', '--out', 'p.html')).code).toBe(3)
    expect(await readFile(path('p.html'), 'utf8')).toBe('mine')
    expect((await run('--count', '12', '--out', 'p.html', '--force')).code).toBe(0)
    expect((await run('--count', '12', '--out', 'p.html')).code).toBe(0)
  })

  test('writes a page that contains its images and escapes texts', async () => {
    const { run, path } = await art()
    const { code, stderr } = await run('--count', '12', '--out', 'p.html')
    expect(code, stderr).toBe(0)
    const html = await readFile(path('p.html'), 'utf8')
    expect(html).toContain(`img-src data:`)
    expect(html).toContain(`script-src 'none'`)
    expect(html).not.toMatch(/<script|<img src="http/)
    expect(html.match(/<img src="data:image\/webp/g)?.length).toBeGreaterThanOrEqual(12)
  })

  test('writes nothing if an image is missing, and names its line', async () => {
    const { run, path } = await art()
    const text = await readFile(path('art.yaml'), 'utf8')
    await writeFile(path('art.yaml'), text.replace('image: one.png', 'image: none.png'))
    const { code, stderr } = await run('--count', '12', '--out', 'p.html')
    expect(code).toBe(2)
    expect(stderr).toMatch(/art\.yaml:\d+/)
    expect(existsSync(path('p.html'))).toBe(false)
  })

  test.skipIf(CHROMIUM === undefined)(
    'writes a page without serious accessibility problems, in both color schemes and widths',
    async () => {
      const { run, path } = await art()
      await run('--count', '12', '--out', 'p.html')
      for (const [width, colorScheme] of [
        [400, 'dark'],
        [1280, 'light'],
      ] as const) {
        if (browser === undefined) throw new Error(NO_CHROMIUM)
        const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
        const requests: string[] = []
        page.on('request', (request) => requests.push(request.url()))
        await page.goto(pathToFileURL(path('p.html')).href)
        expect(await seriousViolations(page)).toEqual([])
        expect(await page.title()).toContain('<script>')
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
        expect(requests.filter((url) => /^https?:/.test(url))).toEqual([])
        await page.close()
      }
    },
  )
})
