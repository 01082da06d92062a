import { format, inspect } from 'node:util'
import { expect, it } from 'vitest'
import { Secret } from '../../src/core/secret.ts'

const VALUE = 'gdn_hunter2'
const secret = new Secret(VALUE)

it('only reveal() returns the value', () => {
  expect(secret.reveal()).toBe(VALUE)
})

it.each([
  ['a string', () => String(secret)],
  ['a template', () => `${secret}`],
  ['a concatenation', () => `key: ${[secret].join()}`],
  ['JSON', () => JSON.stringify({ key: secret, list: [secret] })],
  ['inspection', () => inspect({ key: secret }, { depth: 9, showHidden: true })],
  ['a format', () => format('%s %j %o %O', secret, secret, secret, secret)],
  ['its keys', () => JSON.stringify([Object.keys(secret), Object.getOwnPropertyNames(secret), { ...secret }])],
  ['an error about it', () => inspect(new Error(`bad key ${secret}`, { cause: secret }))],
])('%s does not reveal the value', (_what, print) => {
  expect(print()).not.toContain('hunter2')
})

it('prints a placeholder for the value', () => {
  expect([String(secret), JSON.stringify(secret), inspect(secret)]).toEqual([
    '[redacted]',
    '"[redacted]"',
    '[redacted]',
  ])
})
