import { expect, test } from 'vitest'
import { createLiveBlock } from '../../../src/cli/io/live-block.ts'
import { Screen } from './screen.ts'

test('the lines are written over in place, below what stood there before, and leave nothing behind', () => {
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

test('a picture is a single write, and one that is the same is none: nothing flickers', () => {
  const screen = new Screen()
  const block = createLiveBlock(screen)
  block.show(['one', 'two'])
  block.show(['one', 'two'])
  expect(screen.writes).toBe(1)
  block.show(['one', 'three'])
  expect(screen.writes).toBe(2)
})

test('the cursor is shown after every write, so that no way of ending leaves it hidden', () => {
  const screen = new Screen()
  createLiveBlock(screen).show(['one'])
  expect(screen.isCursorShown).toBe(true)
})

test('what is said meanwhile stands above the block, whole', () => {
  const screen = new Screen()
  const block = createLiveBlock(screen)
  block.show(['one', 'two'])
  block.aside(() => screen.write('a message\n'))
  expect(screen.text).toBe('a message\none\ntwo')
  block.show(['three'])
  expect(screen.text).toBe('a message\nthree')
})

test('a terminal that became narrower folds the lines: they are still written over whole', () => {
  const screen = new Screen(40)
  screen.write('before\n')
  const block = createLiveBlock(screen)
  block.show(['x'.repeat(35), 'y'.repeat(12)])
  screen.resize(10)
  block.show(['now', 'small'])
  expect(screen.text).toBe('before\nnow\nsmall')
})

test('one that becomes wider again joins nothing: what it had folded was wiped', () => {
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

test('more lines than the screen has are cut: those above it could not be written over', () => {
  const screen = new Screen(80, 5)
  createLiveBlock(screen).show(['1', '2', '3', '4', '5', '6'])
  expect(screen.text).toBe('1\n2\n3')
})
