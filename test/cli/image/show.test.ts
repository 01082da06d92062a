/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { IMAGE_CID, METADATA_CID, serveImage } from '../../helpers/image-service.ts'
import { png, QUARTERS, rawPng } from '../../helpers/images.ts'
import { folder } from '../batch/drop.ts'
import { OWNER } from '../fake-api.ts'
import { type CliOptions, cli } from '../harness.ts'

const KITTY = '\u001b_G'
const ANY_ESCAPE = /\u001b(?!\[[\d;]*m)/
const CARD = /^ID +a$/m

const inKitty: CliOptions = { tty: true, env: { GDN_API_KEY: 'key', KITTY_WINDOW_ID: '1', TERM: 'xterm-kitty' } }
const inXterm: CliOptions = { tty: true, env: { GDN_API_KEY: 'key', FORCE_COLOR: '3', TERM: 'xterm-256color' } }

const show = (url: string, options: CliOptions, ...flags: string[]) =>
  cli(['nft', 'show', 'a', '--base-url', url, ...flags], options)

describe('gdn nft show at a terminal', () => {
  test('draws the picture of the metadata above the record', async () => {
    const { url, asked } = await serveImage({ image: png(QUARTERS) })
    const { code, stdout, stderr } = await show(url, inKitty)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.startsWith(KITTY)).toBe(true)
    expect(stdout.slice(stdout.lastIndexOf('\u001b\\'))).toMatch(CARD)
    expect(asked.slice(1)).toEqual([`GET /ipfs/${METADATA_CID}/0.json`, `GET /ipfs/${IMAGE_CID}`])
  })

  test('prints the web explorer URL of a gdn backend only on a terminal, without a request', async () => {
    const { url, asked } = await serveImage({ image: png(QUARTERS) })
    expect((await show(url, inKitty, '--no-image')).stdout).toContain(`\nWEB EXPLORER  ${url}/nfts/a\n`)
    expect(asked).toHaveLength(1)
    for (const flags of [['--json'], ['-o', 'csv'], ['--fields', 'status']]) {
      expect((await show(url, inKitty, ...flags)).stdout).not.toContain('/nfts/')
    }
    expect((await show(url, { ...inKitty, tty: false })).stdout).not.toContain('/nfts/')
    const hosted = await serveImage({ image: png(QUARTERS), isOurs: false })
    expect((await show(hosted.url, inKitty)).stdout).not.toContain('/nfts/')
  })

  test('draws blocks on a terminal that only has colors', async () => {
    const { url } = await serveImage({ image: png(QUARTERS) })
    const { stdout } = await show(url, inXterm)
    expect(stdout.startsWith('\u001b[38;2;255;0;0m')).toBe(true)
    expect(stdout).toContain('▀')
  })

  test('draws the requested picture from storage if there is no metadata yet', async () => {
    const request = { title: 'x', description: '', file_fields: [{ key: 'image', url: `ipfs://${IMAGE_CID}` }] }
    const { url, asked } = await serveImage({ image: png(QUARTERS), metadata: null, request })
    expect((await show(url, inKitty)).stdout).toContain(KITTY)
    expect(asked.slice(1)).toEqual([`GET /ipfs/${IMAGE_CID}`])
  })

  test.each([
    ['http://127.0.0.1:1/x.png'],
    ['https://example.com/x.png'],
    ['data:image/png;base64,AAAA'],
    ['file:///etc/passwd'],
    [`ipfs://${IMAGE_CID}?x#y`],
    ['ipfs://../../api/v1/getnfts'],
    [7],
  ])('sends no request for a picture elsewhere: %s', async (image) => {
    const { url, asked } = await serveImage({ image: png(QUARTERS), metadata: { image } })
    const { code, stdout, stderr } = await show(url, inKitty)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(CARD)
    expect(stdout).not.toContain(KITTY)
    expect(asked).toHaveLength(2)
  })

  test('sends no further request to a hosted service unless a gateway is selected', async () => {
    const { url, asked } = await serveImage({ image: png(QUARTERS), isOurs: false })
    expect((await show(url, inKitty)).stdout).not.toContain(KITTY)
    expect(asked).toHaveLength(1)
    const gateway = await serveImage({ image: png(QUARTERS) })
    expect((await show(url, inKitty, '--gateway', gateway.url)).stdout).toContain(KITTY)
    expect(asked).toHaveLength(2)
  })

  test.each<[string, CliOptions, string[]]>([
    ['in a pipe', { ...inKitty, tty: false }, []],
    ['with --no-image', inKitty, ['--no-image']],
    ['with --json', inKitty, ['--json']],
    ['with -o csv', inKitty, ['-o', 'csv']],
    ['with --fields', inKitty, ['--fields', 'status']],
    ['with -q', inKitty, ['-q']],
    ['for two NFTs', inKitty, ['b']],
    ['with NO_COLOR and blocks', { ...inXterm, env: { ...inXterm.env, NO_COLOR: '1' } }, []],
    ['with --no-color and blocks', inXterm, ['--no-color']],
    ['with TERM=dumb', { ...inXterm, env: { ...inXterm.env, TERM: 'dumb' } }, []],
    ['in CI', { ...inXterm, env: { ...inXterm.env, CI: '1' } }, []],
    ['with GDN_IMAGES=off', { ...inKitty, env: { ...inKitty.env, GDN_IMAGES: 'off' } }, []],
    ['in 3 columns', { ...inXterm, columns: 3 }, []],
  ])('draws and fetches nothing %s', async (_, options, flags) => {
    const { url, asked } = await serveImage({ image: png(QUARTERS) })
    const { stdout } = await show(url, options, ...flags)
    expect(stdout).not.toContain(KITTY)
    expect(stdout).not.toContain('▀')
    expect(stdout).not.toBe('')
    expect(asked.every((path) => path.endsWith('/getnfts'))).toBe(true)
  })

  test.each<[string, Uint8Array | null, string]>([
    ['an SVG', Buffer.from('<svg/>'), "The image is an SVG, which can't be drawn here."],
    [
      'a side of 20,000 pixels',
      rawPng({ width: 20_000, height: 20_000, depth: 8, color: 0, rows: Buffer.alloc(9) }),
      'too large',
    ],
    ['more than 16 MiB', Buffer.alloc(16 * 1024 * 1024 + 1), 'longer than 16 MiB'],
    ['a broken picture', png(QUARTERS).subarray(0, 60), 'The image is broken.'],
    ['escape sequences', Buffer.from('\u001b]52;c;eA==\u0007\u001b[2J\u009b2J'), 'The image is not an image file.'],
    ['a missing picture', null, 'The image was not found at http://127.0.0.1'],
  ])('prints a line to stderr for %s, and exits with 0', async (_, image, line) => {
    const { url } = await serveImage({ image })
    const { code, stdout, stderr } = await show(url, { ...inXterm, stderrTty: false })
    expect(code).toBe(0)
    expect(stderr).toContain(line)
    expect(stdout).toMatch(/ID.*a/)
    expect(stdout + stderr).not.toMatch(ANY_ESCAPE)
  })
})

describe('gdn batch validate --preview', () => {
  const HEADER = 'title,description,image,receiver'
  const row = (title: string, image: string) => `"${title}",x,${image},${OWNER}`

  async function drop(lines: readonly string[]) {
    const workFolder = await folder({ 'drop.csv': [HEADER, ...lines, ''].join('\n') })
    await writeFile(workFolder.path('a.png'), png(QUARTERS))
    await writeFile(workFolder.path('b.svg'), '<svg/>')
    return workFolder
  }

  async function preview(lines: readonly string[], columns = 80, more: CliOptions = {}) {
    const { path, options } = await drop(lines)
    const env = { ...options.env, FORCE_COLOR: '3', TERM: 'xterm-256color', ...more.env }
    return await cli(['batch', 'validate', path('drop.csv'), '-b', 'polygon', '--preview'], {
      ...options,
      tty: true,
      ...more,
      columns,
      env,
    })
  }

  test('draws the first rows, as many side by side as fit, each above its title', async () => {
    const lines = Array.from({ length: 15 }, (_, i) => row(`T${i}`, 'a.png'))
    for (const [columns, titles] of [
      [80, ['T0', 'T1', 'T2', 'T3']],
      [120, ['T0', 'T1', 'T2', 'T3', 'T4', 'T5']],
    ] as const) {
      const { code, stdout, stderr } = await preview(lines, columns)
      expect(code).toBe(0)
      expect(stdout).toContain(
        `\n${titles
          .map((title) => title.padEnd(20))
          .join('')
          .trimEnd()}\n`,
      )
      if (columns === 80) expect(stderr).toContain('3 more rows. Run `gdn batch preview`')
    }
  })

  test('draws a frame with the reason for a row without a picture that can be drawn', async () => {
    const { stdout } = await preview([row('A', 'b.svg'), row('B', 'https://example.com/x.png'), row('C', '')])
    expect(stdout).toContain(`SVG${' '.repeat(17)}not local${' '.repeat(11)}no image`)
  })

  test('escapes titles, and truncates them to the width of their pictures', async () => {
    const { stdout } = await preview([row('\u001b]52;c;x\u0007\u202e', 'a.png'), row('x'.repeat(500), 'a.png')])
    expect(stdout).not.toMatch(ANY_ESCAPE)
    expect(stdout).toContain(`${'x'.repeat(17)}…`)
    for (const line of stdout.split('\n')) expect([...line.replace(/\u001b\[[\d;]*m/g, '')].length).toBeLessThan(81)
  })

  test('draws the valid rows if others have errors, and exits with 2', async () => {
    const { code, stdout, stderr } = await preview([row('A', 'a.png'), row('B', 'missing.png')])
    expect(code).toBe(2)
    expect(stdout).toContain('▀')
    expect(stderr).toContain("image doesn't exist")
  })

  test.each<[string, CliOptions]>([
    ['in a pipe', { tty: false }],
    ['with NO_COLOR', { env: { NO_COLOR: '1' } }],
  ])('draws nothing %s', async (_, more) => {
    expect((await preview([row('A', 'a.png')], 80, more)).stdout).not.toContain('▀')
  })
})
