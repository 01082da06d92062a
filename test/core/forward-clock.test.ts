import fc from 'fast-check'
import { expect, it } from 'vitest'
import { forwardClock } from '../../src/core/forward-clock.ts'

it('returns the system time while that moves forward', () => {
  let wall = 1000
  const clock = forwardClock(
    () => wall,
    () => wall - 900,
  )
  for (const time of [1000, 1001, 5000]) {
    wall = time
    expect(clock()).toBe(time)
  }
})

it('follows a step forward, and continues at a steady pace after a step back', () => {
  let wall = 0
  let steady = 0
  const clock = forwardClock(
    () => wall,
    () => steady,
  )
  expect(clock()).toBe(0)
  wall = 3_600_000
  expect(clock()).toBe(3_600_000)
  wall = 10
  steady = 10
  expect(clock()).toBe(3_600_010)
})

it('never goes back, and is never behind the system or a steady clock', () => {
  const step = fc.tuple(fc.nat(10_000), fc.integer({ min: -1e12, max: 1e12 }))
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let wall = 1e12
      let steady = 0
      const clock = forwardClock(
        () => wall,
        () => steady,
      )
      let before = clock()
      for (const [elapsed, set] of steps) {
        steady += elapsed
        wall += elapsed + set
        const time = clock()
        expect(time).toBeGreaterThanOrEqual(Math.max(before + elapsed, wall))
        before = time
      }
    }),
  )
})
