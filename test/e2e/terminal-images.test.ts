/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { makeHome } from '../helpers/gdn.ts'
import { serveImage } from '../helpers/image-service.ts'
import { type Painting, png, QUARTERS } from '../helpers/images.ts'
import { atTerminal, HAS_PTY } from '../helpers/terminal.ts'

beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

const KITTY = '\u001b_G'
const ITERM = '\u001b]1337;File='
const SIXEL = '\u001bP0;1;q'
const BLOCK = '▀'

/** A small image, each pixel of which is enlarged. */
const TILE: Painting = { ...QUARTERS, width: 8, height: 8, at: (x, y) => QUARTERS.at(x * 2, y * 2) }

async function shown(env: NodeJS.ProcessEnv, { flags = '', stdout = '/dev/tty', painting = QUARTERS } = {}) {
  const home = await makeHome()
  onTestFinished(() => home.remove())
  const { url } = await serveImage({ image: png(painting) })
  const file = stdout === '/dev/tty' ? stdout : join(home.dir, stdout)
  const terminal = atTerminal(`nft show a --base-url ${url} ${flags}`, { ...home.env, GDN_API_KEY: 'k', ...env }, file)
  const { code, screen } = await terminal.end()
  expect(code, screen).toBe(0)
  return { screen, file: file === '/dev/tty' ? '' : await readFile(file, 'utf8') }
}

test.each([
  ['kitty', { KITTY_WINDOW_ID: '1' }, KITTY],
  ['iTerm2', { TERM_PROGRAM: 'iTerm.app' }, ITERM],
  ['sixel', { GDN_IMAGES: 'sixel' }, SIXEL],
  ['16 million colors', { COLORTERM: 'truecolor' }, '\u001b[38;2;255;0;0m'],
  ['256 colors', {}, '\u001b[38;5;196m'],
])('a terminal with %s gets its picture, and no other sequences', async (_, env, beginning) => {
  const { screen } = await shown(env)
  // Nothing comes before it, except for the spinner of a slow response.
  const [before] = screen.split(beginning)
  expect(before).toMatch(/^$|^\u001b\[\?25l.*Waiting for http/s)
  expect(screen).toContain('deployed')
  for (const other of [KITTY, ITERM, SIXEL, BLOCK]) {
    const isOwn = beginning === other || (other === BLOCK && beginning.startsWith('\u001b[38'))
    expect(screen.includes(other)).toBe(isOwn)
  }
})

test('blocks render the pixels of the picture', async () => {
  const { screen } = await shown({ COLORTERM: 'truecolor' }, { painting: TILE })
  const terminal = new xterm.Terminal({ cols: 80, rows: 24, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(screen, resolve))
  const { active } = terminal.buffer
  const colorAt = (column: number, row: number) => active.getLine(row)?.getCell(column)?.getFgColor()
  // The image has twelve of 24 rows: eight pixels grow to 24.
  const [last, lowest] = [23, 11]
  expect([colorAt(0, 0), colorAt(last, 0), colorAt(0, lowest), colorAt(last, lowest)]).toEqual([
    0xff0000, 0x00ff00, 0x0000ff, 0xffffff,
  ])
  expect(active.getLine(0)?.translateToString(true)).toBe(BLOCK.repeat(24))
  expect(active.getLine(lowest + 2)?.translateToString(true)).toMatch(/^ID +a$/)
})

test.each([
  ['a file', {}, { stdout: 'out' }],
  ['JSON', {}, { flags: '--json' }],
  ['--no-image', {}, { flags: '--no-image' }],
  ['CI', { CI: '1' }, {}],
  ['GDN_IMAGES=off', { GDN_IMAGES: 'off' }, {}],
])('%s gets no picture', async (_, env, options) => {
  const { screen, file } = await shown({ KITTY_WINDOW_ID: '1', COLORTERM: 'truecolor', ...env }, options)
  for (const any of [KITTY, ITERM, SIXEL, BLOCK]) expect(screen + file).not.toContain(any)
  expect(screen + file).toContain('deployed')
})
