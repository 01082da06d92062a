import { expect, test } from 'vitest'
import { createLiveBlock } from '../../../src/cli/io/live-block.ts'
import { Screen } from './screen.ts'

test('overwrites the lines in place below earlier output, and removes them at the end', () => {
  const screen = new Screen()
  screen.write('before\n')
  const block = createLiveBlock(screen)
  block.show(['one', 'two', 'three'])
  expect(screen.text).toBe('before\none\ntwo\nthree')
  block.show(['1', 'zwei'])
  expect(screen.text).toBe('before\n1\nzwei')
  block.end()
  screen.write('after\n')
  expect(screen.text).toBe('before\nafter')
})

test('draws a block in one write, and does not redraw an unchanged one', () => {
  const screen = new Screen()
  const block = createLiveBlock(screen)
  block.show(['one', 'two'])
  block.show(['one', 'two'])
  expect(screen.writes).toBe(1)
  block.show(['one', 'three'])
  expect(screen.writes).toBe(2)
})

test('shows the cursor after every write, so that it is never left hidden', () => {
  const screen = new Screen()
  createLiveBlock(screen).show(['one'])
  expect(screen.isCursorShown).toBe(true)
})

test('prints messages above the block', () => {
  const screen = new Screen()
  const block = createLiveBlock(screen)
  block.show(['one', 'two'])
  block.writeAbove(() => screen.write('a message\n'))
  expect(screen.text).toBe('a message\none\ntwo')
  block.show(['three'])
  expect(screen.text).toBe('a message\nthree')
})

test('overwrites lines completely that wrapped when the terminal became narrower', () => {
  const screen = new Screen(40)
  screen.write('before\n')
  const block = createLiveBlock(screen)
  block.show(['x'.repeat(35), 'y'.repeat(12)])
  screen.resize(10)
  block.show(['now', 'small'])
  expect(screen.text).toBe('before\nnow\nsmall')
})

test('leaves no wrapped lines to rejoin when the terminal becomes wider', () => {
  const screen = new Screen(40)
  screen.write('before\n')
  const block = createLiveBlock(screen)
  block.show(['x'.repeat(35), 'y'.repeat(12)])
  screen.resize(20)
  block.show(['z'.repeat(19), 'small', 'end'])
  screen.resize(40)
  expect(screen.text).toBe(`before\n${'z'.repeat(19)}\nsmall\nend`)
  block.show(['wide'])
  expect(screen.text).toBe('before\nwide')
})

test('truncates a block that is taller than the screen', () => {
  const screen = new Screen(80, 5)
  createLiveBlock(screen).show(['1', '2', '3', '4', '5', '6'])
  expect(screen.text).toBe('1\n2\n3')
})
