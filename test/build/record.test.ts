import { decode } from 'fast-png'
import { beforeEach, describe, expect, test } from 'vitest'
import { animation } from '../../src/build/record/svg.mjs'
import { Recorder } from '../../src/build/record/terminal.mjs'
import { HAS_PTY } from '../helpers/terminal.ts'

const SCREEN = { columns: 20, rows: 3, title: 'A "terminal"' }

async function recorded(...screens: string[]) {
  const recorder = new Recorder(SCREEN.columns, SCREEN.rows)
  for (const text of screens) {
    await recorder.write(text)
    recorder.hold(1000)
  }
  return animation(recorder.frames, SCREEN)
}

describe('a recorded session', () => {
  test('is animated by CSS only, loads nothing, and respects reduced motion', async () => {
    const svg = await recorded('one\r\n', 'two\r\n')
    expect(svg).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org)|on\w+=/)
    expect(svg).toContain('@media(prefers-reduced-motion:reduce){.f{animation:none}.last{visibility:visible}}')
    expect(svg).toContain('animation:2.00s step-end infinite')
    expect(svg.match(/@keyframes/g)).toHaveLength(2)
    expect(svg).toContain('aria-label="A &quot;terminal&quot;"')
  })

  test('contains each line once, even if it is shown repeatedly', async () => {
    const svg = await recorded('the same\r\n', 'more\r\n', 'and more')
    expect(svg.match(/>the same</g)).toHaveLength(1)
    expect(svg.match(/<use href="#l0" y="0"\/>/g)).toHaveLength(3)
  })

  test('renders any text in its colors', async () => {
    const svg = await recorded('\u001b[31m<b>&\u001b[0m \u001b[1mx\u001b[0m \u001b[38;2;1;2;3my')
    expect(svg).toContain('class="c1">&lt;b&gt;&amp;</text>')
    expect(svg).toContain('class="b">x</text>')
    expect(svg).toContain('fill="#010203">y</text>')
  })

  test('draws half blocks as pixels', async () => {
    const svg = await recorded('\u001b[38;2;255;0;0m\u001b[48;2;0;0;255m▀▀\u001b[0m')
    const png = Buffer.from(/data:image\/png;base64,([\w+/=]+)/.exec(svg)?.[1] ?? '', 'base64')
    const { width, height, data } = decode(png)
    expect([width, height]).toEqual([2, 2])
    expect([...data]).toEqual([255, 0, 0, 255, 255, 0, 0, 255, 0, 0, 255, 255, 0, 0, 255, 255])
  })

  test('merges frames with the same screen', async () => {
    const recorder = new Recorder(20, 3)
    await recorder.write('x')
    recorder.hold(10)
    recorder.hold(20)
    expect(recorder.frames.map(({ ms }) => ms)).toEqual([30])
  })
})

describe('a program in a recorded terminal', () => {
  beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

  test('gets a terminal of the given size, and its failure is an error', async () => {
    const recorder = new Recorder(44, 11)
    const tell = 'console.log(process.stdout.isTTY, process.stdout.columns, process.stdout.rows)'
    expect(await recorder.run(process.execPath, ['-e', tell], { PATH: process.env.PATH })).toContain('true 44 11')
    const fails = recorder.run(process.execPath, ['-e', 'process.exit(3)'], { PATH: process.env.PATH })
    await expect(fails).rejects.toThrow('exited with 3')
  })
})
