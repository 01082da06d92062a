/** @module-tag slow */
import { decode } from 'fast-png'
import { Decoder } from 'sixel/lib/Decoder.js'
import { describe, expect, test } from 'vitest'
import { drawPixels, scaleToArea } from '../../../src/cli/image/draw.ts'
import { type DrawMethod, detectDrawMethod } from '../../../src/cli/image/draw-method.ts'
import { halfBlocks } from '../../../src/cli/image/half-blocks.ts'
import type { Pixels } from '../../../src/cli/image/pixels.ts'
import { fitInto, scalePixels } from '../../../src/cli/image/scale.ts'
import { type Painting, QUARTERS, rgbaOf } from '../../helpers/images.ts'

const pixelsOf = (painting: Painting): Pixels => ({ ...painting, data: rgbaOf(painting) })

describe('half blocks', () => {
  test('draw two pixels per character, and set a color only when it changes', () => {
    const painting: Painting = { width: 3, height: 3, at: (x, y) => (y === 2 ? [9, 9, 9] : [x > 1 ? 200 : 0, y, 0]) }
    expect(halfBlocks(pixelsOf(painting), 'true')).toBe(
      '\u001b[38;2;0;0;0m\u001b[48;2;0;1;0m▀▀\u001b[38;2;200;0;0m\u001b[48;2;200;1;0m▀\u001b[0m\n' +
        '\u001b[38;2;9;9;9m▀▀▀\u001b[0m\n',
    )
  })

  test('leave the terminal background for transparent pixels', () => {
    const painting: Painting = {
      width: 4,
      height: 2,
      at: (x, y) => [1, 2, 3, [255, 0, 255, 0][x] === (y === 0 ? 255 : 0) ? 255 : 0],
    }
    const upper: Painting = { width: 1, height: 2, at: (_, y) => [1, 2, 3, y === 0 ? 255 : 127] }
    const lower: Painting = { width: 1, height: 2, at: (_, y) => [1, 2, 3, y === 0 ? 0 : 255] }
    expect(halfBlocks(pixelsOf(upper), 'true')).toBe('\u001b[38;2;1;2;3m▀\u001b[0m\n')
    expect(halfBlocks(pixelsOf(lower), 'true')).toBe('\u001b[38;2;1;2;3m▄\u001b[0m\n')
    expect(halfBlocks(pixelsOf({ ...painting, at: () => [1, 2, 3, 0] }), 'true')).toBe('    \u001b[0m\n')
  })

  test.each([
    [[0, 0, 0], 16],
    [[255, 255, 255], 231],
    [[255, 0, 0], 196],
    [[0, 95, 135], 24],
    [[8, 8, 8], 232],
    [[128, 128, 128], 244],
    [[120, 118, 122], 243],
  ] as const)('use the nearest of 256 colors: %j is %i', ([red, green, blue], index) => {
    const one: Painting = { width: 1, height: 1, at: () => [red, green, blue] }
    expect(halfBlocks(pixelsOf(one), 256)).toBe(`\u001b[38;5;${index}m▀\u001b[0m\n`)
  })
})

describe('terminal graphics protocols', () => {
  const noise: Painting = { width: 240, height: 96, at: (x, y) => [(x * y) & 255, (x * 7) & 255, (y * 13) & 255] }

  test('sends kitty a PNG in chunks of at most 4096 bytes, with its width and responses turned off', async () => {
    const text = await drawPixels(pixelsOf(noise), 'kitty')
    const pieces = [...text.matchAll(/\u001b_G([^;]*);([^\u001b]*)\u001b\\/g)]
    expect(text.replaceAll(/\u001b_G[^;]*;[\w+/=]*\u001b\\/g, '')).toBe('\n')
    expect(pieces.length).toBeGreaterThan(2)
    expect(pieces.map(([, keys]) => keys)).toEqual([
      'a=T,f=100,c=20,q=2,m=1',
      ...Array<string>(pieces.length - 2).fill('q=2,m=1'),
      'q=2,m=0',
    ])
    for (const [, , data = ''] of pieces) expect(data.length).toBeLessThanOrEqual(4096)
    const { width, height, data } = decode(Buffer.from(pieces.map(([, , part]) => part).join(''), 'base64'))
    expect({ width, height, data }).toEqual({ width: 240, height: 96, data: rgbaOf(noise) })
  })

  test('sends iTerm2 an inline PNG with its size', async () => {
    const text = await drawPixels(pixelsOf(noise), 'iterm')
    const [, size, columns, data = ''] =
      /^\u001b\]1337;File=inline=1;size=(\d+);width=(\d+);preserveAspectRatio=1:([\w+/=]+)\u0007\n$/.exec(text) ?? []
    const png = Buffer.from(data, 'base64')
    expect([Number(size), columns]).toEqual([png.length, '20'])
    expect(decode(png).data).toEqual(rgbaOf(noise))
  })

  test.each<[string, Painting]>([
    ['a few flat colors', QUARTERS],
    ['thousands', { width: 64, height: 64, at: (x, y) => [x < 32 ? 255 : y, x < 32 ? y : 255 - y, (x * 3) & 63] }],
  ])('encodes the colors of the picture as sixels: %s', async (_, painting) => {
    const text = await drawPixels(pixelsOf(painting), 'sixel')
    const { width, height } = painting
    expect(text.startsWith(`\u001bP0;1;q"1;1;${width};${height}`)).toBe(true)
    expect(text.endsWith('\u001b\\\n')).toBe(true)
    // Between start and end there are only printable characters and newlines, so no other escape sequence.
    expect(text.slice(2, -3)).toMatch(/^[ -~\n]+$/)
    const decoder = new Decoder()
    decoder.init()
    decoder.decodeString(text.slice(text.indexOf('q') + 1, -3))
    const seen = Buffer.from(decoder.data32.slice().buffer)
    const distance = rgbaOf(painting).reduce((sum, value, i) => sum + Math.abs(value - (seen[i] ?? 0)), 0)
    expect(distance / seen.length).toBeLessThan(6)
  })
})

describe('the picture size', () => {
  test.each([
    [
      { width: 4000, height: 2000 },
      { width: 40, height: 20 },
    ],
    [
      { width: 100, height: 4000 },
      { width: 1, height: 40 },
    ],
    [
      { width: 4000, height: 1 },
      { width: 40, height: 1 },
    ],
    [
      { width: 30, height: 30 },
      { width: 30, height: 30 },
    ],
    [
      { width: 12, height: 12 },
      { width: 36, height: 36 },
    ],
  ])('fits %j into a box of 40 x 40 as %j', (picture, size) => {
    expect(fitInto(picture, { width: 40, height: 40 })).toEqual(size)
  })

  test.each<[DrawMethod, number]>([
    ['blocks', 40],
    ['sixel', 320],
    ['kitty', 480],
  ])('fills the available space: %s', (way, width) => {
    const large: Painting = { width: 1000, height: 1000, at: () => [1, 2, 3] }
    const size = scaleToArea(pixelsOf(large), { columns: 40, rows: 20 }, way)
    expect([size.width, size.height]).toEqual([width, width])
  })

  test('averages source pixels weighted by their alpha', () => {
    const data = Uint8Array.from([200, 0, 0, 255, 100, 0, 0, 255, 0, 255, 0, 0, 0, 255, 0, 0])
    const { data: one } = scalePixels({ width: 2, height: 2, data }, { width: 1, height: 1 })
    expect([...one]).toEqual([150, 0, 0, 128])
  })
})

describe('how a terminal draws', () => {
  const on = (env: NodeJS.ProcessEnv, colors: 0 | 1 | 2 | 3 = 3, tty = true, hasBlocks = true) =>
    detectDrawMethod({ env: { TERM: 'xterm-256color', ...env }, tty, colors, hasBlocks })

  test.each<[string, NodeJS.ProcessEnv, DrawMethod]>([
    ['kitty', { KITTY_WINDOW_ID: '1', TERM: 'xterm-kitty' }, 'kitty'],
    ['kitty over ssh', { TERM: 'xterm-kitty' }, 'kitty'],
    ['Ghostty', { TERM_PROGRAM: 'ghostty' }, 'kitty'],
    ['Konsole', { KONSOLE_VERSION: '230401' }, 'kitty'],
    ['an old Konsole', { KONSOLE_VERSION: '211201' }, 'blocks'],
    ['iTerm2', { TERM_PROGRAM: 'iTerm.app' }, 'iterm'],
    ['iTerm2 over ssh', { LC_TERMINAL: 'iTerm2' }, 'iterm'],
    ['WezTerm', { TERM_PROGRAM: 'WezTerm' }, 'iterm'],
    ['mintty', { TERM_PROGRAM: 'mintty' }, 'iterm'],
    ['foot', { TERM: 'foot' }, 'sixel'],
    ['mlterm', { TERM: 'mlterm-256color' }, 'sixel'],
    ['xterm', {}, 'blocks'],
    ['Windows Terminal', { WT_SESSION: 'x', OS: 'Windows_NT' }, 'blocks'],
    ['VS Code, where images are off by default', { TERM_PROGRAM: 'vscode' }, 'blocks'],
    ['tmux in kitty', { TERM: 'tmux-256color', TMUX: '/tmp/t', KITTY_WINDOW_ID: '1' }, 'blocks'],
    ['screen in iTerm2', { TERM: 'screen', LC_TERMINAL: 'iTerm2' }, 'blocks'],
  ])('detects the protocol of %s', (_, env, way) => {
    expect(on(env)).toBe(way)
  })

  test('draws blocks in the available colors, and nothing with fewer than 256', () => {
    expect([on({}, 3), on({}, 2), on({}, 1), on({}, 0)]).toEqual(['blocks', 'blocks-256', null, null])
    expect(on({}, 3, true, false)).toBeNull()
  })

  test.each([
    [{ TERM: 'dumb' }, true],
    [{ CI: '1', KITTY_WINDOW_ID: '1' }, true],
    [{ GDN_IMAGES: 'off', KITTY_WINDOW_ID: '1' }, true],
    [{ KITTY_WINDOW_ID: '1', GDN_IMAGES: 'kitty' }, false],
  ])('draws nothing with %j at a terminal: %s', (env, tty) => {
    expect(on(env, 3, tty)).toBeNull()
  })

  test('prefers GDN_IMAGES over detection', () => {
    expect(on({ GDN_IMAGES: 'sixel', WT_SESSION: 'x' })).toBe('sixel')
    expect(on({ GDN_IMAGES: 'kitty', TMUX: 'x' })).toBe('kitty')
    expect(on({ GDN_IMAGES: 'blocks', KITTY_WINDOW_ID: '1' })).toBe('blocks')
    expect(on({ GDN_IMAGES: 'nonsense', KITTY_WINDOW_ID: '1' })).toBe('kitty')
  })
})
