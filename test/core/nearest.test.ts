import { expect, test } from 'vitest'
import { mayBeMisspelled, nearest } from '../../src/core/nearest.ts'

test('nearest suggests a similar word, or the only one with that prefix, and nothing else', () => {
  expect(nearest('polygn', ['polygon', 'astar'])).toBe('polygon')
  expect(nearest('opitmism', ['polygon', 'optimism'])).toBe('optimism')
  expect(nearest('avala', ['avalanche', 'astar'])).toBe('avalanche')
  expect(nearest('xyz', ['polygon', 'astar'])).toBeUndefined()
  expect(nearest('x'.repeat(10_000), ['polygon'])).toBeUndefined()
})

test.each([
  ['pwoer', 'power', true],
  ['strenght', 'strength', true],
  ['hat', 'hut', false],
  ['layer 1', 'layer 2', false],
  ['background', 'foreground', false],
])('mayBeMisspelled of %s and %s is %s', (name, suggestion, expected) => {
  expect(mayBeMisspelled(name, suggestion)).toBe(expected)
})
