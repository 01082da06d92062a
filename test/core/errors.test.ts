import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { formatPlace, formatProblem, GdnError, messageOf, systemCode } from '../../src/core/errors.ts'
import { EXIT } from '../../src/core/exit-codes.ts'

describe('GdnError', () => {
  it.each([
    ['unexpected', 1],
    ['native_missing', 1],
    ['usage', 2],
    ['invalid_input', 2],
    ['invalid_manifest', 2],
    ['invalid_config', 2],
    ['data_dir', 2],
    ['data_dir_busy', 2],
    ['port_in_use', 2],
    ['not_confirmed', 3],
    ['unauthorized', 4],
    ['forbidden', 4],
    ['refused', 5],
    ['nft_failed', 5],
    ['verify_failed', 5],
    ['unreachable', 6],
    ['rate_limited', 6],
    ['batch_failed_rows', 7],
    ['pending', 8],
    ['unknown_outcome', 9],
    ['interrupted', 130],
    ['terminated', 143],
  ] as const)('%s ends the command with exit code %i', (code, exitCode) => {
    expect(new GdnError(code, 'm').exitCode).toBe(exitCode)
  })

  it('exit codes never change, because scripts rely on them', () => {
    expect(Object.values(EXIT)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 130, 143])
  })

  it('carries message, hint, place, details and cause, and is an Error', () => {
    const cause = new Error('why')
    const error = new GdnError('usage', 'sentence', { hint: 'do this', place: { flag: '--x' }, details: [1], cause })
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ message: 'sentence', hint: 'do this', place: { flag: '--x' }, details: [1], cause })
    expect('cause' in new GdnError('usage', 'm')).toBe(false)
  })
})

describe('formatProblem', () => {
  it.each([
    [
      { file: 'd.csv', line: 2, column: 3, field: 'receiver' },
      'receiver is the zero address',
      'd.csv:2:3: receiver is the zero address',
    ],
    [{ field: 'nft_gdn_ids[0]' }, 'nft_gdn_ids[0] must not be empty', 'nft_gdn_ids[0] must not be empty'],
    [{ file: 'd.csv', line: 2, field: 'title' }, 'must not be empty', 'd.csv:2 (title): must not be empty'],
    [{ field: 'id' }, 'identical rows', 'id: identical rows'],
    [{ flag: '--name' }, 'must not be empty', '--name: must not be empty'],
    [undefined, 'is odd', 'is odd'],
  ])('formats %j and %j', (place, message, text) => expect(formatProblem({ place, message })).toBe(text))
})

describe('formatPlace', () => {
  it.each([
    [{ flag: '--blockchain' }, '--blockchain'],
    [{ field: 'metadata[0].title' }, 'metadata[0].title'],
    [{ file: 'drop.csv' }, 'drop.csv'],
    [{ file: 'drop.csv', line: 7 }, 'drop.csv:7'],
    [{ file: 'drop.csv', line: 7, column: 3 }, 'drop.csv:7:3'],
    [{ file: 'drop.csv', line: 7, column: 3, field: 'receiver' }, 'drop.csv:7:3 (receiver)'],
    [{}, ''],
  ])('formats %j as %j', (place, text) => expect(formatPlace(place)).toBe(text))
})

describe('any thrown value', () => {
  it('has a message', () => {
    expect([new Error('m'), 'text', undefined, null, { a: 1 }].map(messageOf)).toEqual([
      'm',
      'text',
      'undefined',
      'null',
      '[object Object]',
    ])
  })

  it('has a system code only if the system set one', () => {
    expect(systemCode(Object.assign(new Error('m'), { code: 'EADDRINUSE' }))).toBe('EADDRINUSE')
    expect(systemCode(Object.assign(new Error('m'), { code: 7 }))).toBeUndefined()
    expect(systemCode(new Error('m'))).toBeUndefined()
    expect(systemCode({ code: 'ENOENT' })).toBeUndefined()
    expect(systemCode(null)).toBeUndefined()
  })
})

it('an error with another message keeps everything else, and the first cause', () => {
  const cause = new Error('socket')
  const given = { hint: 'Wait.', place: { flag: '--rate' }, details: { status: 503 }, operationId: 'one', cause }
  const error = new GdnError('unreachable', 'no response', given)
  expect(error.with({ message: 'not saved: no response' })).toMatchObject({
    ...{ code: 'unreachable', message: 'not saved: no response' },
    ...given,
  })
  expect(error.with({ hint: undefined }).hint).toBeUndefined()
  const plain = new GdnError('usage', 'wrong')
  expect(inspect(plain.with({ hint: 'Fix it.' })).match(/GdnError: wrong/g)).toHaveLength(1)
  expect(plain.with({ message: 'not saved: wrong' }).stack?.split('\n    at ')[1]).toBe(
    plain.stack?.split('\n    at ')[1],
  )
})

it('a hint keeps everything else of an error', () => {
  const cause = new Error('of before')
  const options = { place: { flag: '--key' }, details: { status: 409 }, operationId: 'op-1', cause }
  const error = new GdnError('refused', 'no', options)
  const hinted = error.withHint('Try again.')
  expect(hinted).toMatchObject({ code: 'refused', message: 'no', hint: 'Try again.', ...options })
  expect(hinted.withHint('Another.').hint).toBe('Try again.')
})
